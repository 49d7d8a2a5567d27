import { firingRunIds, isFiringOf } from "../../../core/schedule/firing-run-id.ts";
import type { EarlierFiring } from "../../../core/schedule/overlap-decision.ts";
import { asksPeople, waitId } from "../../../core/wait.ts";
import type { DueSchedule, FiringRecord, ScheduleRecord } from "../../store.ts";
import type { Leases } from "../leases.ts";
import type { Row } from "../row.ts";
import { all, get, type SqlScript } from "../script.ts";
import { WAIT_KINDS } from "../stored-words.ts";
import { firingRecord, type ScheduleRow, scheduleRow } from "../tables/schedule-row.ts";

export function* listSchedules(): SqlScript<ScheduleRecord[]> {
  const records: ScheduleRecord[] = [];
  for (const row of yield* all("SELECT * FROM schedules ORDER BY name"))
    records.push(yield* scheduleRecord(scheduleRow(row)));
  return records;
}

export function* scheduleRecord(row: ScheduleRow): SqlScript<ScheduleRecord> {
  const { schedule, hash, revision, configuredAt, nextAt, pausedAt, pausedBy } = row;
  const [lastFiring = null] = yield* listFirings(schedule.name, { limit: 1 });
  return {
    name: schedule.name,
    schedule,
    isRemoved: hash === null,
    revision,
    configuredAt,
    nextAt,
    pausedAt,
    pausedBy,
    lastFiring,
  };
}

const FIRINGS = "SELECT * FROM firings WHERE name = ? ORDER BY planned_at DESC LIMIT ?";

export function* listFirings(
  name: string,
  { limit = 1_000 }: { readonly limit?: number } = {},
): SqlScript<FiringRecord[]> {
  const rows = yield* all(FIRINGS, name, limit);
  return rows.map(firingRecord);
}

const DUE = `SELECT name, next_at FROM schedules
   WHERE paused_at IS NULL AND next_at IS NOT NULL ORDER BY next_at LIMIT ?`;

export function* listDueSchedules(now: number, limit: number): SqlScript<DueSchedule[]> {
  const rows = yield* all(DUE, limit);
  return rows.map((row) => ({ name: row.text("name"), inMs: Math.max(0, row.int("next_at") - now) }));
}

/** As it is in the index of unfinished runs. With IN, SQLite would search all runs of these states instead. */
const IS_UNFINISHED = "status NOT IN ('succeeded', 'failed', 'cancelled', 'moved')";

const UNFINISHED = `SELECT run_key, run_id, status, owner, epoch, lease_until, lease_ms FROM runs
   WHERE ${IS_UNFINISHED} AND run_id >= ? AND run_id < ? ORDER BY run_id`;

/** The unfinished runs that the schedule has started. */
export function* unfinishedFirings(leases: Leases, now: number, name: string): SqlScript<EarlierFiring[]> {
  const firings: EarlierFiring[] = [];
  for (const row of yield* unfinishedRows(name)) {
    const runId = row.text("run_id");
    const status = row.oneOf("status", ["queued", "running", "waiting"] as const);
    const lease = {
      runId,
      owner: row.optionalText("owner"),
      epoch: row.int("epoch"),
      leaseUntil: row.int("lease_until"),
      leaseMs: row.int("lease_ms"),
    };
    const isHeld = status === "running" && leases.isHeld(lease, now);
    firings.push({ runId, status, isHeld, wait: yield* personWait(row) });
  }
  return firings;
}

function* unfinishedRows(name: string): SqlScript<Row[]> {
  const { from, before } = firingRunIds(name);
  const rows = yield* all(UNFINISHED, from, before);
  return rows.filter((row) => isFiringOf(name, row.text("run_id")));
}

const OPEN_WAITS =
  "SELECT wait_index, kind, question FROM waits WHERE run_key = ? AND status = 'open' ORDER BY wait_index";

/** The first open wait of the run that a person must answer. */
function* personWait(run: Row): SqlScript<EarlierFiring["wait"]> {
  if (run.text("status") !== "waiting") return null;
  for (const row of yield* all(OPEN_WAITS, run.value("run_key"))) {
    const kind = row.oneOf("kind", WAIT_KINDS);
    if (asksPeople(kind))
      return { id: waitId(run.text("run_id"), row.int("wait_index")), kind, question: row.text("question") };
  }
  return null;
}

/** The owners of the schedule's unfinished runs, to check whether they live. */
export function* leasesOfFirings(name: string): SqlScript<{ owner: string; renewedAt: number }[]> {
  const rows = yield* unfinishedRows(name);
  return rows.flatMap((row) => {
    const owner = row.optionalText("owner");
    return owner === null ? [] : [{ owner, renewedAt: row.int("lease_until") - row.int("lease_ms") }];
  });
}

const IN_ITS_WAY = `SELECT 1 AS found FROM runs
   WHERE ${IS_UNFINISHED} AND run_id >= ? AND run_id < ? AND run_id <> ?
     AND (status <> 'queued' OR run_id < ?) LIMIT 1`;

/** True if a run of this schedule has to wait for another one, which has begun or is before it. */
export function* hasRunBefore(name: string, runId: string): SqlScript<boolean> {
  const { from, before } = firingRunIds(name);
  return (yield* get(IN_ITS_WAY, from, before, runId, runId)) !== null;
}
