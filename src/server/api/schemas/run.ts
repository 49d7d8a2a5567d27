import { z } from "zod";
import {
  amount,
  decision,
  json,
  limit,
  manyRunIds,
  metadata,
  optionalTime,
  pageOf,
  time,
  usage,
} from "./field-schemas.ts";

export const shownStatus = z
  .enum(["queued", "running", "interrupted", "waiting", "succeeded", "failed", "cancelled", "moved"])
  .meta({
    id: "RunStatus",
    description: "`interrupted`: its worker died or stopped, and no other has taken it.",
  });

export const waitKind = z
  .enum(["approval", "possible_duplicate", "in_doubt", "escalation", "question", "budget", "time", "message"])
  .meta({ id: "WaitKind" });

export const runHead = z
  .object({
    runId: z.string(),
    pipeline: z.string(),
    queue: z.string(),
    status: shownStatus,
    createdAt: time,
    updatedAt: time,
    eventSeq: z
      .int()
      .meta({ description: "The number of its last event: a head with a lower one is older." }),
    life: z.int().meta({ description: "How often a worker has claimed it." }),
    owner: z.string().nullable(),
    leaseUntil: optionalTime,
    readyAt: optionalTime,
    wakeAt: optionalTime,
    stalls: z.int(),
    currentStep: z.string().nullable(),
    objective: z.string().nullable(),
    metadata: metadata.nullable(),
    charged: amount,
    reserved: amount,
    limit,
    toolCalls: z.int(),
    failedCalls: z.int().meta({ description: "Tool calls whose receipt has the status `failed`." }),
    callsInDoubt: z.int(),
    openWaits: z.int().meta({ description: "Those that ask people." }),
    firstWait: z.object({ waitId: z.string(), kind: waitKind, question: z.string() }).nullable(),
    errorCode: z.string().nullable(),
    errorMessage: z.string().nullable(),
    startedBy: z.string().nullable(),
    forkedFrom: z.string().nullable(),
  })
  .meta({ id: "RunHead", description: "A run in a list: what is small of it." });

export const runPage = pageOf(runHead, "RunPage");

export const runCounts = z
  .object({
    counts: z.record(shownStatus, z.int()),
    total: z.int(),
    needsPerson: z
      .int()
      .meta({ description: "Runs that wait for people, are interrupted or have a call in doubt." }),
    isCapped: z.boolean().meta({ description: "True if there are more: counting stops at 10,000." }),
  })
  .meta({ id: "RunCounts" });

const act = z
  .discriminatedUnion("act", [
    z.object({ act: z.literal("approve"), waitId: z.string(), argumentsHash: z.string().nullable() }),
    z.object({ act: z.literal("deny"), waitId: z.string() }),
    z.object({ act: z.literal("answer"), waitId: z.string(), suggested: z.string().nullable() }),
    z.object({ act: z.literal("settle"), callId: z.string(), as: z.enum(["succeeded", "failed", "retry"]) }),
    z.object({ act: z.literal("send"), runId: z.string(), event: z.string().nullable() }),
    z.object({ act: z.literal("resume"), runId: z.string(), notBefore: optionalTime }),
    z.object({ act: z.enum(["cancel", "follow", "chat", "list_waits"]), runId: z.string() }),
    z.object({ act: z.literal("export_bundle"), runId: z.string(), to: z.string() }),
  ])
  .meta({ id: "Act", description: "Something that a person can do about a run." });

const nextStep = z
  .object({ what: z.string(), acts: z.array(act) })
  .meta({ id: "NextStep", description: "A possible next step, and the acts, any one of which will do." });

const usageOfRun = usage
  .extend({
    charged: amount,
    modelCalls: z.int(),
    baseline: z.object({ charged: amount, modelCalls: z.int() }),
  })
  .meta({ id: "RunUsage" });

const outage = z
  .object({ since: time, retryAt: optionalTime, status: z.int().nullable(), isAsking: z.boolean() })
  .meta({ id: "Outage", description: "The outage of the model's provider that the run waits out." });

const lostWork = z
  .object({ charged: amount, requests: z.int() })
  .meta({ id: "LostWork", description: "What was paid for answers that count for nothing." });

const budgetUse = z
  .object({ name: z.string(), limit: z.number(), used: z.number(), reserved: z.number() })
  .meta({
    id: "BudgetUse",
    description: "A budget of the run: its limit, and what is used and reserved of it.",
  });

export const run = z
  .object({
    head: runHead,
    entrypoint: z.string(),
    inputHash: z.string(),
    input: json,
    output: json,
    error: z.object({ code: z.string(), message: z.string(), details: json }).nullable(),
    spec: json,
    deadline: optionalTime,
    cancelRequestedAt: optionalTime,
    forkedFrom: z.object({ runId: z.string(), stepPath: z.string(), turnIndex: z.int() }).nullable(),
    startedBy: decision.nullable(),
    moved: z.object({ from: z.string(), to: z.string() }).nullable(),
    finalArtifact: z.object({ name: z.string(), hash: z.string() }).nullable(),
    workerVersion: z.string().nullable(),
    concurrencyKey: z.string().nullable(),
    priority: z.int(),
    usage: usageOfRun,
    budgets: z.array(budgetUse),
    lostWork,
    outage: outage.nullable(),
    steps: z.int(),
    turns: z.int(),
    isConversation: z.boolean(),
    milestone: z
      .object({ checkpoint: z.int(), type: z.string(), stepPath: z.string(), turnIndex: z.int(), at: time })
      .nullable()
      .meta({ description: "Where a resume from its last milestone begins; null if it has none." }),
    resumeRequested: z.object({ at: time, by: z.string(), from: z.string() }).nullable(),
    next: z.array(nextStep),
  })
  .meta({ id: "Run", description: "A run, and what can be done about it." });

export const newRun = z
  .strictObject({
    pipeline: z.string().min(1).max(200),
    input: json.optional(),
    spec: json.optional(),
    queue: z.string().max(200).optional(),
    concurrencyKey: z.string().max(500).optional(),
    priority: z.int().min(-1_000_000).max(1_000_000).optional(),
    metadata: metadata.optional(),
    context: json.optional(),
    notBefore: time.optional(),
  })
  .meta({ id: "NewRun", description: "A run to start: a worker takes it from the queue." });

export const startedRun = z.object({ runId: z.string(), existed: z.boolean() }).meta({ id: "StartedRun" });

export const exportRequest = z.strictObject({ runIds: manyRunIds }).meta({ id: "ExportRequest" });
