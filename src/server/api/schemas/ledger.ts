import { z } from "zod";
import { amount, json, optionalTime, pageOf, time, usage } from "./field-schemas.ts";

const receipt = z
  .object({
    status: z.string(),
    output: json,
    blob: z.object({ blobId: z.string(), size: z.int() }).nullable(),
    errorCode: z.string().nullable(),
    uncertain: z.boolean(),
    source: z.enum(["tool", "reconciled", "person", "late", "pawl"]),
    correlationId: z.string().nullable(),
    duplicateOf: z.string().nullable(),
    at: time,
  })
  .meta({ id: "Receipt", description: "The stored outcome of a tool call." });

export const call = z
  .object({
    toolCallId: z.string(),
    stepPath: z.string(),
    turnIndex: z.int(),
    callIndex: z.int(),
    tool: z.string(),
    effect: z.string(),
    recovery: z.string(),
    status: z.string(),
    attempt: z.int(),
    occurrence: z.int(),
    idempotencyKey: z.string(),
    identityHash: z.string(),
    request: json,
    receipt: receipt.nullable(),
    createdAt: time,
    startedAt: optionalTime,
    endsBy: optionalTime,
  })
  .meta({ id: "Call", description: "A row of the ledger: a tool call." });

const callAttempt = z
  .object({
    attempt: z.int(),
    startedAt: time,
    endedAt: time,
    outcome: z.string(),
    errorCode: z.string().nullable(),
    errorDetail: z.string().nullable(),
    correlationId: z.string().nullable(),
    late: z.object({ at: time, status: z.string(), output: json }).nullable(),
  })
  .meta({ id: "CallAttempt", description: "An attempt of a call that brought no receipt." });

export const callDetail = call
  .extend({
    attempts: z.array(callAttempt),
    story: z.string().meta({ description: "Why it did or did not happen again, in words." }),
    waitId: z.string().nullable().meta({ description: "The open wait that asks about it." }),
  })
  .meta({ id: "CallDetail" });

export const callPage = pageOf(call, "CallPage");

const modelCall = z
  .object({
    stepPath: z.string(),
    turnIndex: z.int(),
    attempt: z.int(),
    reserved: amount,
    charge: z
      .object({ basis: z.enum(["provider", "baseline", "none"]), amount, usage })
      .nullable()
      .meta({ description: "Null while the request is open." }),
    openedAt: time,
    settledAt: optionalTime,
  })
  .meta({ id: "ModelCall", description: "A request to a model, and what it cost." });

export const modelCallPage = pageOf(modelCall, "ModelCallPage");

const turn = z
  .object({
    stepPath: z.string(),
    turnIndex: z.int(),
    committed: z.boolean(),
    at: time,
    tokens: z.int(),
    content: z.array(json),
    finishReason: z.string(),
    calls: z.array(z.string()),
  })
  .meta({ id: "Turn", description: "One answer of a model, and the tool calls that it asked for." });

export const turnPage = pageOf(turn, "TurnPage");

const step = z
  .object({
    path: z.string(),
    name: z.string(),
    kind: z.string(),
    phase: z.string(),
    status: z.string(),
    stepIndex: z.int(),
    input: json,
    output: json,
    errorCode: z.string().nullable(),
    errorDetail: z.string().nullable(),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: "Step", description: "An instance of a step." });

export const stepPage = pageOf(step, "StepPage");

export const event = z
  .object({ seq: z.int(), at: time, type: z.string(), facts: json, hash: z.string() })
  .meta({ id: "Event", description: "A row of the run's log." });

export const eventPage = pageOf(event, "EventPage");

const message = z
  .object({
    messageNo: z.int(),
    id: z.string(),
    event: z.string().nullable(),
    body: json,
    sentAt: time,
    sentBy: z.string(),
    status: z.enum(["waiting", "taken", "withdrawn", "returned"]),
    settledAt: optionalTime,
    reason: z.string().nullable(),
    mode: z.enum(["queue", "steer", "interrupt"]).nullable(),
  })
  .meta({ id: "Message", description: "A message to a run." });

export const messagePage = pageOf(message, "MessagePage");

const checkpoint = z
  .object({
    checkpoint: z.int(),
    type: z.string(),
    stepPath: z.string(),
    turnIndex: z.int(),
    cursor: json,
    isSuperseded: z.boolean().meta({ description: "The session was rolled back to an earlier one since." }),
    at: time,
  })
  .meta({ id: "Checkpoint" });
export const checkpointPage = pageOf(checkpoint, "CheckpointPage");

const attempt = z
  .object({
    epoch: z.int(),
    owner: z.string(),
    startedAt: time,
    endedAt: optionalTime,
    endStatus: z.string().nullable(),
    resumedFrom: z.enum(["turn", "milestone"]).nullable(),
    reason: z.string().nullable(),
    traceParent: z.string().nullable(),
  })
  .meta({ id: "Attempt", description: "One time that a worker claimed the run." });
export const attemptList = z.object({ items: z.array(attempt) }).meta({ id: "AttemptList" });

const artifact = z
  .object({ name: z.string(), size: z.int(), hash: z.string(), stepPath: z.string(), at: time })
  .meta({ id: "Artifact", description: "Something that a run has made." });
export const artifactList = z.object({ items: z.array(artifact) }).meta({ id: "ArtifactList" });

export const sessionDocument = z
  .object({ slices: z.array(z.object({ name: z.string(), kind: z.string(), values: z.array(json) })) })
  .meta({ id: "SessionState", description: "The run's session: its slices by name." });
