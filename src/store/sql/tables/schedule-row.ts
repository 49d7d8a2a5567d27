import { canonicalJson } from "../../../core/canonical-json.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { assertScheduleSpec, type CheckedSchedule } from "../../../core/schedule/schedule-spec.ts";
import type { ConfiguredStart, FiringRecord } from "../../store.ts";
import type { Row } from "../row.ts";
import { get, type SqlScript } from "../script.ts";
import { FIRING_OUTCOMES } from "../stored-words.ts";
import type { Transaction } from "../transaction.ts";
import { parseJson } from "./run-row.ts";

/** The row of a schedule. */
export type ScheduleRow = {
  readonly schedule: CheckedSchedule;
  /** What its runs need beside it. */
  readonly start: Omit<ConfiguredStart, "schedule">;
  /** Null if it was removed. */
  readonly hash: string | null;
  readonly revision: number;
  readonly configuredAt: number;
  /** The last planned time that was decided about, or when it was last planned again. */
  readonly plannedAt: number;
  readonly nextAt: number | null;
  readonly pausedAt: number | null;
  readonly pausedBy: string | null;
};

export function* findSchedule(name: string): SqlScript<ScheduleRow | null> {
  const row = yield* get("SELECT * FROM schedules WHERE name = ?", name);
  return row === null ? null : scheduleRow(row);
}

/** The schedule of this name, if a configuration has it. */
export function* requireSchedule(name: string): SqlScript<ScheduleRow> {
  const row = yield* findSchedule(name);
  if (row !== null && row.hash !== null) return row;
  const problem = row === null ? "There is no schedule" : "The configuration no longer has the schedule";
  throw new ConfigurationError(
    `${problem} ${JSON.stringify(name)}: give the name of one that \`pawl schedules\` lists, or start a worker whose configuration has it.`,
  );
}

export function scheduleRow(row: Row): ScheduleRow {
  return {
    // A newer version may have stored an option that this one does not know: it must not ignore that.
    schedule: assertScheduleSpec(row.text("name"), parseJson(row.text("spec"))),
    start: parseJson(row.text("start")) as ScheduleRow["start"],
    hash: row.optionalText("spec_hash"),
    revision: row.int("revision"),
    configuredAt: row.int("configured_at"),
    plannedAt: row.int("planned_at"),
    nextAt: row.optionalInt("next_at"),
    pausedAt: row.optionalInt("paused_at"),
    pausedBy: row.optionalText("paused_by"),
  };
}

export function saveSchedule(tx: Transaction, row: ScheduleRow): void {
  const { name, ...spec } = row.schedule;
  tx.write({
    kind: "upsert",
    table: "schedules",
    row: {
      name,
      spec: canonicalJson(spec),
      start: canonicalJson(row.start),
      spec_hash: row.hash,
      revision: row.revision,
      configured_at: row.configuredAt,
      planned_at: row.plannedAt,
      next_at: row.nextAt,
      paused_at: row.pausedAt,
      paused_by: row.pausedBy,
    },
  });
}

export function firingRecord(row: Row): FiringRecord {
  return {
    name: row.text("name"),
    plannedAt: row.int("planned_at"),
    decidedAt: row.int("decided_at"),
    outcome: row.oneOf("outcome", FIRING_OUTCOMES),
    runId: row.optionalText("run_id"),
    times: row.int("times"),
    why: row.optionalText("why"),
  };
}

/** Records what became of a planned time. With `keep`, an earlier record of the same time stays. */
export function saveFiring(tx: Transaction, firing: FiringRecord, kind: "upsert" | "keep" = "upsert"): void {
  const { name, plannedAt, decidedAt, outcome, runId, times, why } = firing;
  tx.write({
    kind,
    table: "firings",
    row: { name, planned_at: plannedAt, decided_at: decidedAt, outcome, run_id: runId, times, why },
  });
}
