import { z } from "zod";
import type { BudgetName } from "../../../core/job/budgets.ts";
import { amount, json, manyRunIds, optionalTime, time } from "./field-schemas.ts";
import { waitKind } from "./run.ts";

const life = z
  .object({
    number: z.int(),
    epoch: z.int(),
    owner: z.string(),
    startedAt: time,
    endedAt: time.meta({ description: "When it left the run, or its last sign of life." }),
    end: z.enum(["released", "left", "died", "open"]).meta({
      description: "`left`: it gave the run up in good order, for the next one to resume.",
    }),
    goneBy: optionalTime.meta({
      description: "Of one that died: when the next one found the run without an owner.",
    }),
    endStatus: z.string().nullable(),
    resumedFrom: z.string().nullable(),
    reason: z.string().nullable(),
  })
  .meta({ id: "Life", description: "One time that a worker held the run, from its claim to its end." });

const place = {
  step: z.string().nullable(),
  turn: z.int().nullable(),
  toolCallId: z.string().nullable(),
};
const category = z.enum(["step", "turn", "model", "tool"]);

const slice = z
  .object({
    id: z.string(),
    life: z.int(),
    lane: z.int(),
    depth: z.int(),
    category,
    name: z.string(),
    start: z.int(),
    end: z.int(),
    isCut: z.boolean().meta({ description: "Its worker died in it: how long it took is unknown." }),
    isOpen: z.boolean().meta({ description: "A worker is busy with it now." }),
    outcome: z.string().nullable(),
    ...place,
  })
  .meta({
    id: "TimelineSlice",
    description: "Something with a duration. Times are milliseconds since 1970.",
  });

const merged = z
  .object({
    life: z.int(),
    lastLife: z.int(),
    lane: z.int(),
    category,
    count: z.int(),
    cut: z.int(),
    start: z.int(),
    end: z.int(),
  })
  .meta({ id: "MergedSlices", description: "Slices that are too short to show one by one." });

const mark = z
  .object({
    life: z.int(),
    kind: z.enum(["commit", "checkpoint", "lineage", "compaction", "artifact", "crash"]),
    name: z.string(),
    at: z.int(),
    until: z.int(),
    count: z.int(),
    ...place,
  })
  .meta({ id: "TimelineMark", description: "Something that happened at one moment, or several of a kind." });

const timelineWait = z
  .object({
    waitId: z.string(),
    kind: waitKind,
    toolCallId: z.string().nullable(),
    status: z.enum(["open", "answered", "withdrawn"]),
    start: z.int(),
    end: z.int().nullable(),
    people: z.array(z.string()),
  })
  .meta({ id: "TimelineWait" });

export const timeline = z
  .object({
    from: z.int().meta({ description: "The beginning of the whole run, whatever the window is." }),
    to: z.int(),
    lives: z.array(life),
    livesLeftOut: z.int(),
    slices: z.array(slice),
    merged: z.array(merged),
    marks: z.array(mark),
    waits: z.array(timelineWait),
    waitsLeftOut: z.int(),
    minMs: z.int().meta({ description: "Shorter slices were merged." }),
    eventSeq: z.int(),
    isLive: z.boolean(),
  })
  .meta({ id: "Timeline", description: "A window of the run's story." });

const transcriptItem = z
  .object({
    id: z.string(),
    kind: z.enum([
      "user",
      "follow_up",
      "assistant",
      "dropped",
      "calls",
      "wait",
      "answer",
      "life",
      "fork",
      "step",
      "exchange_begun",
      "exchange_ended",
      "lineage",
      "compaction",
      "request",
      "artifact",
      "run",
    ]),
    at: time,
    seq: z.int().meta({ description: "The event of the log that it is from." }),
    step: z.string().nullable(),
    turn: z.int().nullable(),
    isAbandoned: z.boolean(),
    data: json.meta({ description: "What the item is about; its fields depend on `kind`." }),
  })
  .meta({ id: "TranscriptItem" });

export const transcript = z
  .object({
    items: z.array(transcriptItem),
    before: z
      .string()
      .nullable()
      .meta({ description: "The cursor of earlier items; null at the beginning." }),
    after: z.string().meta({ description: "The cursor of later items, now or when the run has grown." }),
    isNewest: z.boolean().meta({ description: "There were no later items." }),
  })
  .meta({ id: "Transcript", description: "A part of the conversation, in order." });

const comparedTurn = z
  .object({
    stepPath: z.string(),
    turnIndex: z.int(),
    isSame: z.boolean(),
    a: json,
    b: json,
    calls: z.array(
      z.object({
        match: z.enum(["same", "only_a", "only_b"]),
        tool: z.string(),
        a: z.string().nullable(),
        b: z.string().nullable(),
      }),
    ),
    spent: z.object({ a: amount.nullable(), b: amount.nullable() }),
  })
  .meta({ id: "ComparedTurn" });

const change = { path: z.string(), a: json, b: json };

export const comparison = z
  .object({
    a: z.string(),
    b: z.string(),
    hasSameInput: z.boolean(),
    samePrefix: z.int().meta({ description: "How many turns they begin with in common." }),
    differsAfter: z
      .string()
      .nullable()
      .meta({ description: "The cursor of the first turn that differs; null for the beginning." }),
    turns: z.array(comparedTurn),
    nextCursor: z.string().nullable(),
    setup: z.array(z.object({ step: z.string(), ...change })).meta({
      description: "What differs of the model, the prompt, the tools and the settings.",
    }),
    output: z.object({ isSame: z.boolean(), changes: z.array(z.object(change)) }),
    spent: z.object({ a: amount, b: amount }),
    tookMs: z.object({ a: z.int(), b: z.int() }),
  })
  .meta({ id: "Comparison", description: "Two runs side by side." });

export const forecast = z
  .object({
    runId: z.string(),
    status: z.string(),
    eventSeq: z.int().meta({ description: "Give it as `ifSeq` to resume exactly what was shown." }),
    refusal: z
      .object({ code: z.string(), message: z.string(), details: json, isQuestion: z.boolean() })
      .nullable(),
    skipped: z.array(z.string()),
    next: z.object({ step: z.string(), phase: z.string(), isBegun: z.boolean() }).nullable(),
    accepts: z
      .object({
        changes: z.array(z.object({ what: z.string(), was: json, is: json })),
        changesHash: z.string(),
      })
      .nullable()
      .meta({ description: "The changes of the code that `acceptDivergence` accepts." }),
    turn: z
      .object({
        index: z.int(),
        response: z.enum(["asked", "replayed", "none", "summary"]),
        mayCost: amount.nullable(),
      })
      .nullable(),
    calls: z.array(json),
    waits: z.array(z.string()),
    later: z.array(z.string()),
  })
  .meta({ id: "Forecast", description: "What a resume would do now." });

export const verification = z
  .object({
    runId: z.string(),
    events: z.int(),
    receipts: z.int(),
    blobs: z.int(),
    problems: z.array(z.object({ row: z.string(), what: z.string() })),
    verifiedAt: time,
  })
  .meta({
    id: "Verification",
    description: "Whether everything that is stored of a run is what was written.",
  });

const budgets = z.partialRecord(
  z.enum([
    "maxWallclockMinutes",
    "maxSteps",
    "maxToolCalls",
    "maxRetriesPerToolCall",
    "maxSameErrorRepeats",
    "maxTokens",
    "maxCostUsd",
  ] satisfies BudgetName[]),
  z.number().nonnegative(),
);
const resumeFields = {
  from: z.enum(["turn", "milestone", "beginning"]).optional(),
  redoTurn: z.boolean().optional(),
  acceptDivergence: z.string().min(1).max(10_000).optional(),
  changesHash: z.string().min(1).max(200).optional().meta({
    description:
      "The only changes that `acceptDivergence` accepts: `accepts.changesHash` of the forecast. By default those that the run failed with, or else the first ones that a worker finds.",
  }),
  budgets: budgets.optional(),
};
export const forecastRequest = z.strictObject(resumeFields).meta({ id: "ForecastRequest" });
export const resumeRequest = z
  .strictObject({
    ...resumeFields,
    reason: z.string().max(10_000).optional(),
    ifSeq: z.int().min(0).optional().meta({
      description:
        "The `eventSeq` of the forecast: if the run has changed since, nothing is done, and the answer is 409.",
    }),
  })
  .meta({ id: "ResumeRequest" });
export const resumeOutcome = z
  .object({ runId: z.string(), outcome: z.enum(["requested"]), hasWorker: z.boolean() })
  .meta({ id: "ResumeOutcome" });
export const cancelOutcome = z
  .object({ runId: z.string(), outcome: z.enum(["cancelled", "requested", "over"]) })
  .meta({ id: "CancelOutcome" });
export const forkRequest = z
  .strictObject({
    atTurn: z.int().min(1),
    step: z.string().max(2_000).optional(),
    runId: z.string().min(1).max(200).optional(),
  })
  .meta({ id: "ForkRequest" });
export const forkOutcome = z
  .object({
    runId: z.string(),
    laterEffects: z.array(
      z.object({ toolCallId: z.string(), tool: z.string(), request: json, status: z.string() }),
    ),
  })
  .meta({ id: "ForkOutcome", description: "The fork is queued, and not started: `resumeRun` starts it." });
export const messageRequest = z
  .strictObject({
    id: z.string().min(1).max(200).optional(),
    text: z.string().min(1).max(1_000_000).optional(),
    event: z.string().min(1).max(200).optional(),
    data: json.optional(),
    mode: z.enum(["queue", "steer", "interrupt"]).optional(),
  })
  .meta({ id: "MessageRequest", description: "A `text` for a conversation, or an `event` with its `data`." });
export const messageOutcome = z
  .object({
    messageId: z.string(),
    runId: z.string(),
    duplicate: z.boolean(),
    status: z.string(),
    reason: z.string().nullable(),
  })
  .meta({ id: "MessageOutcome" });
export const bulkRequest = z
  .strictObject({
    action: z.enum(["cancel", "resume"]),
    runIds: manyRunIds,
    isDryRun: z.boolean().optional().meta({ description: "Only says what would become of each." }),
  })
  .meta({ id: "BulkRequest" });
export const bulkOutcome = z
  .object({
    results: z.array(
      z.object({
        runId: z.string(),
        outcome: z.string().nullable(),
        callsRunning: z.int().optional(),
        problem: z.object({ code: z.string(), detail: z.string() }).nullable(),
      }),
    ),
  })
  .meta({
    id: "BulkOutcome",
    description: "What became of each run; one that fails stops none of the others.",
  });
