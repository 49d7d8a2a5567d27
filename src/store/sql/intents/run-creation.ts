import { assertPayload, canonicalJson } from "../../../core/canonical-json.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { contractSummary } from "../../../core/job/contract-summary.ts";
import { isJsonObject, type Json } from "../../../core/json.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import { earlier } from "../../../core/usage/allowance.ts";
import { limitOfBudgets, NO_BUDGETS, wallclockOf } from "../../../core/usage/budget.ts";
import { stricter } from "../../../core/usage/quota.ts";
import type { AttemptReason, Claim, NewRun, QueuedRun, RunMetadata, RunRecord } from "../../store.ts";
import { exists, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { addressInUse, takeAddress } from "../tables/address-rows.ts";
import { assertNotDeleted } from "../tables/missing-run.ts";
import { type PartsOfRecord, requireRecord, savedRecord, starterOf } from "../tables/run-record.ts";
import {
  type FirstRow,
  insertRun,
  parseJson,
  type RunOrigin,
  type RunRow,
  saveRun,
} from "../tables/run-row.ts";
import { insertRow, type Transaction } from "../transaction.ts";

const DEFAULT_QUEUE = "default";

export function* createRun(
  tx: Transaction,
  run: NewRun,
): SqlScript<{ kind: "created"; claim: Claim } | { kind: "exists" }> {
  assertNames(run);
  if (yield* isTaken(run.runId)) return { kind: "exists" };
  const starter = starterOf(tx, run.startedBy);
  const origin = originOf(tx, run, starter.text);
  const row = insertRun(tx, claimedRow(tx, yield* tx.newRunKey(run.runId), run, origin));
  const parts = yield* insertParts(tx, row, run);
  insertAttempt(tx, row, null);
  saveRun(tx, row, "run.created", {
    pipeline: run.pipeline,
    owner: tx.leases.owner,
    epoch: row.epoch,
    ...marksFacts(row),
    ...starter.facts,
  });
  return { kind: "created", claim: { epoch: row.epoch, run: savedRecord(tx, row, parts) } };
}

export function* enqueueRun(
  tx: Transaction,
  run: QueuedRun,
): SqlScript<{ kind: "created" | "exists"; run: RunRecord }> {
  assertNames(run);
  if (yield* isTaken(run.runId)) return { kind: "exists", run: yield* requireRecord(run.runId) };
  const starter = starterOf(tx, run.startedBy);
  const row = insertRun(
    tx,
    queuedRow(tx, yield* tx.newRunKey(run.runId), run, originOf(tx, run, starter.text)),
  );
  const parts = yield* insertParts(tx, row, run);
  saveRun(tx, row, "run.enqueued", {
    pipeline: run.pipeline,
    ...(row.wakeAt === null ? {} : { notBefore: row.wakeAt }),
    ...starter.facts,
  });
  return { kind: "created", run: savedRecord(tx, row, parts) };
}

/** True if there is such a run. The id of a deleted one is not used again. */
function* isTaken(runId: string): SqlScript<boolean> {
  if (yield* exists("SELECT 1 AS found FROM runs WHERE run_id = ?", runId)) return true;
  yield* assertNotDeleted(runId);
  return false;
}

function assertNames({ runId, pipeline, queue, concurrencyKey, priority, address }: QueuedRun): void {
  assertNameSize("run id", runId);
  assertNameSize("pipeline's name", pipeline);
  for (const [what, name] of Object.entries({ queue, concurrencyKey, address })) {
    if (name === undefined || name === null) continue;
    if (typeof name !== "string" || name.trim() === "")
      throw new ConfigurationError(`The ${what} of run ${runId} is ${JSON.stringify(name)}: give a name.`);
    assertNameSize(what, name);
  }
  if (priority !== undefined && !Number.isSafeInteger(priority))
    throw new ConfigurationError(`The priority of run ${runId} is ${priority}: give a whole number.`);
}

function originOf(tx: Transaction, run: QueuedRun, startedBy: string | null): RunOrigin {
  const { pipeline, entrypoint, inputHash, metadata } = run;
  return {
    createdAt: tx.now,
    pipeline,
    entrypoint,
    inputHash,
    forkedFrom: null,
    startedBy,
    queue: run.queue ?? DEFAULT_QUEUE,
    concurrencyKey: run.concurrencyKey ?? null,
    priority: run.priority ?? 0,
    metadata: metadata === undefined || metadata === null ? null : canonicalJson(metadata),
  };
}

/** True if one of the steps is a conversation: then the run takes texts. */
export function takesText(shape: Json): boolean {
  return Array.isArray(shape) && shape.some((step) => isJsonObject(step) && step.kind === "conversation");
}

/** The columns of a new run that do not depend on whether it is claimed. */
function newRow(tx: Transaction, key: RunKey, run: QueuedRun, origin: RunOrigin) {
  const budgets = run.spec?.budgets ?? NO_BUDGETS;
  const wallclock = wallclockOf(budgets);
  return {
    key,
    runId: run.runId,
    isUnstarted: false,
    currentStepNo: null,
    limit: stricter(run.limit, limitOfBudgets(budgets)),
    deadline: earlier(run.deadline ?? null, wallclock === null ? null : tx.now + wallclock),
    budgets: (run.spec ?? null) === null ? null : canonicalJson(budgets),
    cancelRequestedAt: null,
    cancelRequestedBy: null,
    moved: null,
    output: null,
    context: null,
    error: null,
    finalArtifact: null,
    takesText: takesText(run.shape),
    origin,
  };
}

/** The row of a new run, claimed by this owner under the first epoch. */
function claimedRow(tx: Transaction, key: RunKey, run: NewRun, origin: RunOrigin): FirstRow {
  return {
    ...newRow(tx, key, run, origin),
    status: "running",
    owner: tx.leases.owner,
    epoch: 1,
    leaseUntil: tx.now + run.leaseMs,
    leaseMs: run.leaseMs,
    marks: run.marksEffects === true ? tx.leases.marks : null,
    waitingSince: null,
    wakeAt: null,
  };
}

/** The row of a run that waits for its first worker. That time does not count for its budget of time. */
function queuedRow(tx: Transaction, key: RunKey, run: QueuedRun, origin: RunOrigin): FirstRow {
  const { notBefore = null } = run;
  if (notBefore !== null && !Number.isSafeInteger(notBefore))
    throw new ConfigurationError(
      `Run ${run.runId} is not to begin before ${notBefore}: give a time in milliseconds since 1970.`,
    );
  const hasBudget = wallclockOf(run.spec?.budgets ?? NO_BUDGETS) !== null;
  return {
    ...newRow(tx, key, run, origin),
    status: "queued",
    owner: null,
    epoch: 0,
    leaseUntil: 0,
    leaseMs: 0,
    marks: null,
    waitingSince: hasBudget ? tx.now : null,
    wakeAt: notBefore !== null && notBefore > tx.now ? notBefore : null,
  };
}

/** Writes the rows that belong to a new run beside its own. */
function* insertParts(tx: Transaction, row: RunRow, run: QueuedRun): SqlScript<PartsOfRecord> {
  const { spec: given = null, callContext = null, metadata, address } = run;
  const spec = given === null ? null : canonicalJson(given);
  assertPayload(callContext, "The context of the run");
  insertRow(tx, row, "run_inputs", {
    input: canonicalJson(run.input),
    spec,
    contract: given === null ? null : canonicalJson(contractSummary(given)),
    call_context: callContext === null ? null : canonicalJson(callContext),
    shape: canonicalJson(run.shape),
  });
  for (const [name, value] of labelsOf(run.runId, metadata ?? {}))
    insertRow(tx, row, "run_labels", { name, value, created_at: row.origin.createdAt });
  if (address !== undefined && address !== null) {
    const owner = yield* takeAddress(tx, row, address);
    if (owner !== null) throw new ConfigurationError(addressInUse(row.runId, address, owner));
  }
  return { currentStep: null, spec: parseJson(spec), callContext };
}

/** One label for each value. */
function labelsOf(runId: string, metadata: RunMetadata): readonly (readonly [string, string])[] {
  const labels = new Map<string, readonly [string, string]>();
  for (const [name, given] of Object.entries(metadata)) {
    assertNameSize("name in the metadata", name);
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    for (const value of values) {
      if (typeof value !== "string")
        throw new ConfigurationError(
          `The metadata ${JSON.stringify(name)} of run ${runId} is ${JSON.stringify(value)}: give a text, or a list of texts.`,
        );
      assertNameSize(`metadata ${JSON.stringify(name)}`, value);
      labels.set(`${name}\n${value}`, [name, value]);
    }
  }
  return [...labels.values()];
}

/** The identity of the owner's marks file, for the event of its claim. */
export function marksFacts({ marks }: RunRow): { marks?: string } {
  return marks === null ? {} : { marks };
}

export function insertAttempt(tx: Transaction, row: RunRow, why: AttemptReason | null): void {
  insertRow(tx, row, "attempts", {
    epoch: row.epoch,
    owner: tx.leases.owner,
    started_at: tx.now,
    resumed_from: why?.resumedFrom ?? null,
    reason: why?.reason ?? null,
    ended_at: null,
    end_status: null,
    trace_parent: null,
  });
}
