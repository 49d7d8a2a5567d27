import { isProgress, stallsAfter } from "../../../core/run/stall-decision.ts";
import { scheduleOfKey } from "../../../core/schedule/firing-run-id.ts";
import type { ClaimLimits } from "../../store.ts";
import { hasRunBefore } from "../queries/schedule-queries.ts";
import { all, get, type SqlScript } from "../script.ts";
import { leftOpen } from "../tables/fence.ts";
import { type RunRow, saveRun } from "../tables/run-row.ts";
import type { Transaction } from "../transaction.ts";
import { leaveRunningCalls } from "./in-doubt.ts";
import { markRunningSteps, settleOpenCalls } from "./left-open.ts";
import { keepRequestLeft } from "./resume-intents.ts";
import { freeLease } from "./run-interruption.ts";
import { insertWait } from "./wait-intents.ts";

const RUNNING = "SELECT count(*) AS n FROM runs WHERE status = 'running' AND run_key <> ?";
const RUNNING_IN_QUEUE = `${RUNNING} AND queue = ?`;
const RUNNING_OF_KEY = `${RUNNING_IN_QUEUE} AND concurrency_key = ?`;

/**
 * The limit that keeps the run from being claimed; null if there is none. Others that claim under the same limit wait until
 * this transaction ends, so that they count its claim. A run that a dead worker has left counts already: to take it over adds
 * none, and after a limit was lowered nothing else would ever end those runs.
 */
export function* limitReached(
  tx: Transaction,
  row: RunRow,
  limits: ClaimLimits,
): SqlScript<keyof ClaimLimits | null> {
  const {
    key,
    status,
    origin: { queue, concurrencyKey },
  } = row;
  if (status === "running") return null;
  if (limits.total !== undefined) {
    yield* tx.lockName("claims");
    if ((yield* count(RUNNING, key)) >= limits.total) return "total";
  }
  if (limits.queue !== undefined) {
    yield* tx.lockName(`claims ${JSON.stringify(queue)}`);
    if ((yield* count(RUNNING_IN_QUEUE, key, queue)) >= limits.queue) return "queue";
  }
  if (limits.key !== undefined && concurrencyKey !== null) {
    yield* tx.lockName(`claims ${JSON.stringify(queue)} ${JSON.stringify(concurrencyKey)}`);
    if ((yield* count(RUNNING_OF_KEY, key, queue, concurrencyKey)) >= limits.key) return "key";
  }
  return (yield* waitsForEarlier(tx, row)) ? "key" : null;
}

/**
 * Runs of a schedule whose overlap is "queue" begin one after the other: one that waits for a person is not finished. A run
 * that has begun may continue, since two that a person has started side by side would otherwise wait for each other.
 */
function* waitsForEarlier(tx: Transaction, { runId, status, origin }: RunRow): SqlScript<boolean> {
  const schedule = scheduleOfKey(origin.concurrencyKey);
  if (schedule === null || status !== "queued") return false;
  yield* tx.lockName(`claims of ${origin.concurrencyKey}`);
  return yield* hasRunBefore(schedule, runId);
}

function* count(query: string, ...values: Parameters<typeof get> extends [string, ...infer V] ? V : never) {
  return (yield* get(query, ...values))?.int("n") ?? 0;
}

const RECENT_EVENTS =
  "SELECT seq, type FROM events WHERE run_key = ? AND seq <= ? ORDER BY seq DESC LIMIT 100";

/** How many workers in a row have died in the run without a commit, the last one included. */
export function* stallsAtClaim(row: RunRow): SqlScript<number> {
  // A worker that gave the run back has freed the lease.
  const hasDied = row.status === "running" && row.owner !== null;
  return stallsAfter(row.stalls, { hasDied, hasProgressed: yield* hasProgressed(row) });
}

/** True if the last worker has committed anything. */
function* hasProgressed(row: RunRow): SqlScript<boolean> {
  if (row.stalls === 0 && row.owner === null) return false;
  for (let seq = row.eventSeq; seq > 0; ) {
    const events = yield* all(RECENT_EVENTS, row.key, seq);
    for (const event of events) {
      const type = event.text("type");
      if (isProgress(type)) return true;
      if (type === "run.claimed" || type === "run.created") return false;
      seq = event.int("seq") - 1;
    }
    if (events.length === 0) return false;
  }
  return false;
}

/** Leaves the run to a person: whatever worker takes it next would die in it, too. */
export function* stall(tx: Transaction, row: RunRow): SqlScript<void> {
  const { stalls, runId } = row;
  const left = yield* leftOpen(tx.leases, row);
  yield* settleOpenCalls(tx, row, left);
  const { facts } = yield* leaveRunningCalls(tx, row, left);
  yield* markRunningSteps(tx, row, "blocked", null);
  // The last worker, if it lives after all, no longer has the run.
  row.epoch += 1;
  freeLease(row);
  yield* keepRequestLeft(row, "waiting");
  row.status = "waiting";
  row.waitingSince = tx.now;
  const wait = yield* insertWait(tx, row, null, {
    kind: "escalation",
    question: `${stalls} workers in a row stopped in the middle of run ${runId}, and none of them had committed anything. Find out why, then answer "retry" to let another one try, or cancel the run.`,
    subject: { stalls },
    argumentsHash: null,
  });
  saveRun(tx, row, "run.stalled", { stalls, waits: [wait], ...facts });
}
