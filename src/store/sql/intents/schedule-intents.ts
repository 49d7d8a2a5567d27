import { canonicalHash } from "../../../core/canonical-json.ts";
import { StoreUnusableError } from "../../../core/errors.ts";
import { decisionOf, type Person } from "../../../core/person.ts";
import { dueFirings, type MissedFirings } from "../../../core/schedule/due-firings.ts";
import { firingRunId, MINUTE_MS } from "../../../core/schedule/firing-run-id.ts";
import { decideOverlap, type EarlierFiring } from "../../../core/schedule/overlap-decision.ts";
import { NO_LIMIT } from "../../../core/usage/quota.ts";
import type { FiredSchedule, FiringRecord, QueuedRun } from "../../store.ts";
import { unfinishedFirings } from "../queries/schedule-queries.ts";
import { all, exists, type SqlScript } from "../script.ts";
import { lockedRun } from "../tables/run-row.ts";
import {
  findSchedule,
  requireSchedule,
  type ScheduleRow,
  saveFiring,
  saveSchedule,
} from "../tables/schedule-row.ts";
import type { Transaction } from "../transaction.ts";
import { enqueueRun } from "./run-creation.ts";
import { requestCancel } from "./run-interruption.ts";

/** Everything that changes a schedule, or decides about its planned times, holds this until its transaction ends. */
export function lockSchedule(tx: Transaction, name: string): SqlScript<void> {
  return tx.lockName(`schedule ${name}`);
}

export function* fireSchedule(tx: Transaction, name: string): SqlScript<FiredSchedule> {
  yield* lockSchedule(tx, name);
  const row = yield* findSchedule(name);
  if (row === null || row.hash === null || row.pausedAt !== null) return { firings: [], nextAt: null };
  const { decisions, lastPlannedAt, nextAt } = dueFirings(row.schedule, row.plannedAt, tx.now);
  const firings: FiringRecord[] = [];
  const starter = new FiringStarter(tx, row, { by: `schedule ${name}` });
  for (const decision of decisions)
    firings.push(
      decision.kind === "fire"
        ? yield* starter.fire(decision.plannedAt, null)
        : recordMissed(tx, name, decision),
    );
  // Also if nothing fired: the rules of a time zone may have changed since it was planned.
  if (lastPlannedAt !== row.plannedAt || nextAt !== row.nextAt)
    saveSchedule(tx, { ...row, plannedAt: lastPlannedAt, nextAt });
  if (firings.length > 0) yield* forgetOldFirings(tx, name);
  return { firings, nextAt };
}

export function* fireNow(tx: Transaction, name: string, person: Person): SqlScript<FiringRecord> {
  const { name: by } = decisionOf(person, tx.now);
  yield* lockSchedule(tx, name);
  const row = yield* requireSchedule(name);
  const starter = new FiringStarter(tx, row, person);
  const minute = Math.floor(tx.now / MINUTE_MS) * MINUTE_MS;
  const firing = yield* starter.fire(minute, `Fired by ${by}, beside its planned times.`);
  yield* forgetOldFirings(tx, name);
  return firing;
}

export function recordMissed(
  tx: Transaction,
  name: string,
  { plannedAt, count, why }: MissedFirings,
): FiringRecord {
  const firing = {
    name,
    plannedAt,
    decidedAt: tx.now,
    outcome: "missed",
    runId: null,
    times: count,
    why,
  } as const;
  saveFiring(tx, firing);
  return firing;
}

/** Starts the runs of a schedule, or records why not. */
class FiringStarter {
  readonly #tx: Transaction;
  readonly #row: ScheduleRow;
  readonly #by: Person;
  /** Read when it is first needed; then with the runs that are started here. */
  #unfinished: EarlierFiring[] | null = null;

  constructor(tx: Transaction, row: ScheduleRow, by: Person) {
    this.#tx = tx;
    this.#row = row;
    this.#by = by;
  }

  *fire(plannedAt: number, note: string | null): SqlScript<FiringRecord> {
    const { name } = this.#row.schedule;
    const runId = firingRunId(name, plannedAt);
    const record = { name, plannedAt, decidedAt: this.#tx.now, times: 1 };
    // By hand in this very minute, or by a clock that has been set back since.
    if (yield* isUsed(runId)) {
      const why = "A run of this id was there already, or was deleted.";
      const firing = { ...record, outcome: "started", runId, why } as const;
      saveFiring(this.#tx, firing, "keep");
      return firing;
    }
    const decision = decideOverlap(this.#row.schedule, yield* this.#earlier());
    if (decision.kind === "skip") {
      const firing = { ...record, outcome: "skipped", runId: null, why: decision.why } as const;
      saveFiring(this.#tx, firing);
      return firing;
    }
    const left = decision.kind === "cancel" ? yield* this.#cancel(decision.runIds) : null;
    const concurrencyKey = decision.kind === "queue" ? decision.concurrencyKey : null;
    yield* enqueueRun(this.#tx, { ...this.#run(runId), concurrencyKey });
    this.#unfinished?.push({ runId, status: "queued", isHeld: false, wait: null });
    const why = [note, left].filter((each) => each !== null).join(" ") || null;
    const firing = { ...record, outcome: "started", runId, why } as const;
    saveFiring(this.#tx, firing);
    return firing;
  }

  /** Two of the policies do not ask, and under "queue" there may be many. */
  *#earlier(): SqlScript<readonly EarlierFiring[]> {
    const { name, overlap } = this.#row.schedule;
    if (overlap === "allow" || overlap === "queue") return [];
    this.#unfinished ??= yield* unfinishedFirings(this.#tx.leases, this.#tx.now, name);
    return this.#unfinished;
  }

  /**
   * In the transaction that starts the next run: a process that dies here has neither cancelled nor started anything. Returns
   * what could not be cancelled, in words.
   */
  *#cancel(runIds: readonly string[]): SqlScript<string | null> {
    const broken: string[] = [];
    for (const runId of runIds) {
      try {
        yield* lockedRun(this.#tx, runId);
        yield* requestCancel(this.#tx, runId, { by: `schedule ${this.#row.schedule.name}` });
      } catch (error) {
        // Rows that another program has changed are left as they are, and must not stop the schedule for ever.
        if (!StoreUnusableError.isInstance(error)) throw error;
        broken.push(runId);
      }
    }
    this.#unfinished = [];
    if (broken.length === 0) return null;
    return `Could not cancel ${broken.join(", ")}, whose rows another program has changed: see \`pawl verify\`.`;
  }

  #run(runId: string): QueuedRun {
    const { schedule, start } = this.#row;
    const { name, pipeline, input = null, queue, priority, metadata } = schedule;
    return {
      runId,
      pipeline,
      entrypoint: start.entrypoint,
      input,
      inputHash: canonicalHash(input),
      shape: start.shape,
      limit: NO_LIMIT,
      spec: start.spec ?? null,
      metadata: { ...metadata, [SCHEDULE_LABEL]: name },
      startedBy: this.#by,
      ...(queue === undefined ? {} : { queue }),
      ...(priority === undefined ? {} : { priority }),
    };
  }
}

/** Under this name the metadata of a run has the schedule that has started it. */
const SCHEDULE_LABEL = "pawl.schedule";

/** True if there is such a run, or was one that was deleted. */
function* isUsed(runId: string): SqlScript<boolean> {
  return (
    (yield* exists("SELECT 1 AS found FROM runs WHERE run_id = ?", runId)) ||
    (yield* exists("SELECT 1 AS found FROM tombstones WHERE run_id = ?", runId))
  );
}

/** The records of a schedule that are kept. Nothing is decided by them. */
const MOST_KEPT = 1_000;

const OLD_FIRINGS = `SELECT planned_at FROM firings WHERE name = ? ORDER BY planned_at DESC LIMIT 1000 OFFSET ${MOST_KEPT}`;

function* forgetOldFirings(tx: Transaction, name: string): SqlScript<void> {
  for (const row of yield* all(OLD_FIRINGS, name))
    tx.write({ kind: "remove", table: "firings", key: { name, planned_at: row.int("planned_at") } });
}
