import { z } from "zod";
import { amount, json, optionalTime, pageOf, time } from "./field-schemas.ts";
import { waitKind } from "./run.ts";

// Spend, activity, workers, schedules, the server itself, access.

const spent = z.object({ charged: amount, requests: z.int() });

export const spend = z
  .object({
    since: time,
    until: time,
    bucketMs: z.int(),
    buckets: z.array(
      z.object({
        at: time,
        pipeline: z.string().nullable(),
        provider: spent,
        baseline: spent,
        none: spent,
      }),
    ),
    pipelines: z.array(spent.extend({ pipeline: z.string() })),
    costly: z.array(
      z.object({ runId: z.string(), pipeline: z.string(), status: z.string(), charged: amount }),
    ),
    nearLimit: z.array(
      z.object({
        runId: z.string(),
        pipeline: z.string(),
        charged: amount,
        reserved: amount,
        budget: z.string().meta({ description: "The budget of which the most is used." }),
        share: z.number(),
      }),
    ),
    lostWork: amount,
    total: amount,
  })
  .meta({ id: "Spend", description: "What requests to models have cost." });

const errorGroup = z
  .object({
    pipeline: z.string(),
    code: z.string().nullable(),
    step: z.string().nullable(),
    count: z.int(),
    firstAt: time,
    lastAt: time,
    newestRunId: z.string(),
    newestMessage: z.string().nullable(),
    buckets: z
      .array(z.object({ at: time, count: z.int() }))
      .meta({ description: "The parts of the time in which some of them failed, oldest first." }),
  })
  .meta({ id: "ErrorGroup", description: "Failed runs with the same error." });
export const errorList = z
  .object({
    since: time,
    bucketMs: z.int().meta({ description: "The length of a bucket. The first one begins at `since`." }),
    items: z.array(errorGroup),
    asOf: time,
  })
  .meta({ id: "ErrorList" });

const toolErrors = z
  .object({ tool: z.string(), runs: z.int() })
  .meta({ id: "ToolErrors", description: "How many runs have a call of a tool that failed." });
export const toolErrorList = z
  .object({ items: z.array(toolErrors), asOf: time })
  .meta({ id: "ToolErrorList" });

export const pipelineList = z
  .object({
    items: z.array(
      z.object({
        name: z.string(),
        isKnown: z
          .boolean()
          .meta({ description: "The server has its code: it can be started and forecast." }),
        isConversation: z.boolean(),
      }),
    ),
  })
  .meta({ id: "PipelineList" });

export const activity = z
  .object({
    asOf: time,
    ready: z.array(z.object({ queue: z.string(), pipeline: z.string(), ready: z.int(), oldestMs: z.int() })),
    sleeping: z.array(z.object({ queue: z.string(), sleeping: z.int(), nextInMs: z.int() })),
    running: z.array(z.object({ queue: z.string(), running: z.int() })),
    held: z.array(
      z.object({
        runId: z.string(),
        pipeline: z.string(),
        queue: z.string(),
        owner: z.string().nullable(),
        heldMs: z.int(),
        silentMs: z.int(),
        leaseMs: z.int(),
        isInterrupted: z.boolean(),
      }),
    ),
    waits: z.array(z.object({ kind: waitKind, open: z.int(), oldestMs: z.int() })),
  })
  .meta({ id: "Activity", description: "Who holds what, and what waits." });

const worker = z
  .object({
    workerId: z.string(),
    host: z.string(),
    pid: z.int(),
    version: z.string().nullable(),
    pipelines: z.array(z.string()),
    queues: z.array(z.string()),
    concurrency: z.int(),
    runIds: z.array(z.string()),
    counts: z.record(z.string(), z.int()),
    claimLatency: z.object({ p50Ms: z.number(), p95Ms: z.number() }).nullable(),
    startedAt: time,
    seenMs: z.int(),
    isSilent: z.boolean(),
    blockedAt: optionalTime,
  })
  .meta({ id: "Worker" });
export const workerList = z.object({ items: z.array(worker), asOf: time }).meta({ id: "WorkerList" });

const firing = z
  .object({
    plannedAt: time,
    decidedAt: time,
    outcome: z.enum(["started", "skipped", "missed"]),
    runId: z.string().nullable(),
    times: z.int(),
    why: z.string().nullable(),
  })
  .meta({ id: "Firing", description: "What became of a planned time." });
export const firingList = z.object({ items: z.array(firing) }).meta({ id: "FiringList" });
const schedule = z
  .object({
    name: z.string(),
    pipeline: z.string(),
    cron: z.string().nullable(),
    timeZone: z.string().nullable(),
    overlap: z.string(),
    isRemoved: z.boolean(),
    nextAt: optionalTime,
    pausedAt: optionalTime,
    pausedBy: z.string().nullable(),
    lastFiring: firing.nullable(),
    spec: json,
  })
  .meta({ id: "Schedule" });
export const scheduleList = z.object({ items: z.array(schedule), asOf: time }).meta({ id: "ScheduleList" });
export const scheduleOutcome = z
  .object({ name: z.string(), outcome: z.string(), runId: z.string().nullable() })
  .meta({ id: "ScheduleOutcome" });

export const serverInfo = z
  .object({
    version: z.string(),
    instance: z.string(),
    startedAt: time,
    now: time,
    store: z.object({
      name: z.string(),
      database: z.enum(["sqlite", "postgres"]),
      schemaVersion: z.int(),
      sizeBytes: z.int().nullable(),
      logBytes: z.int().nullable(),
    }),
    streams: z.int(),
    hasWorker: z.boolean().meta({ description: "A worker runs inside this server." }),
    isReadOnly: z.boolean(),
  })
  .meta({ id: "ServerInfo" });

const check = z
  .object({
    name: z.string(),
    status: z.enum(["ok", "warn", "fail"]),
    what: z.string(),
    remedy: z
      .string()
      .nullable()
      .meta({ description: "What to do about it; null if nothing has to be done." }),
  })
  .meta({ id: "Check", description: "The result of one check." });

export const doctor = z.object({ checks: z.array(check), checkedAt: time }).meta({ id: "Doctor" });

export const integrity = z
  .object({ problems: z.array(z.string()), checkedAt: time })
  .meta({ id: "Integrity" });

const role = z.enum(["viewer", "operator", "admin"]).meta({ id: "Role" });
export const scope = z
  .object({
    pipelines: z.array(z.string().min(1).max(200)).min(1).max(100).nullable(),
    labels: z.record(z.string().min(1).max(200), z.string().max(1_000)).nullable(),
  })
  .meta({
    id: "Scope",
    description: "Which runs are seen: of these pipelines, with these labels; null for all.",
  });

export const me = z
  .object({
    name: z.string(),
    role,
    scope,
    source: z.enum(["session", "token", "host"]),
    storeName: z.string().meta({ description: "What people call the store." }),
    hidesContent: z.boolean(),
    expiresAt: optionalTime,
  })
  .meta({ id: "Me", description: "Who makes the request." });

export const login = z
  .union([
    z.strictObject({ code: z.string().min(1).max(500) }),
    z.strictObject({ token: z.string().min(1).max(500) }),
  ])
  .meta({ id: "Login", description: "A code of one use, or a token." });

const token = z
  .object({
    id: z.string(),
    kind: z.enum(["token", "code"]),
    name: z.string(),
    role,
    scope,
    createdAt: time,
    createdBy: z.string().nullable(),
    expiresAt: optionalTime,
    lastUsedAt: optionalTime,
    revokedAt: optionalTime,
  })
  .meta({ id: "Token", description: "A token, without its secret." });
export const tokenList = z.object({ items: z.array(token) }).meta({ id: "TokenList" });
export const newToken = z
  .strictObject({
    name: z.string().min(1).max(200),
    role,
    scope: scope.optional(),
    expiresInMs: z
      .int()
      .min(1_000)
      .max(10 * 365 * 86_400_000)
      .optional(),
  })
  .meta({ id: "NewToken" });
export const createdToken = z
  .object({ token, secret: z.string().meta({ description: "Shown once: only its hash is stored." }) })
  .meta({ id: "CreatedToken" });

const auditEntry = z
  .object({
    no: z.int(),
    at: time,
    who: z.object({ name: z.string(), id: z.string().nullable(), role: z.string() }),
    act: z.string(),
    target: z.string().nullable(),
    outcome: z.string(),
    requestId: z.string(),
  })
  .meta({ id: "AuditEntry", description: "An act or a read of a person." });
export const auditPage = pageOf(auditEntry, "AuditPage");

export const health = z.object({ status: z.literal("ok") }).meta({ id: "Health" });
