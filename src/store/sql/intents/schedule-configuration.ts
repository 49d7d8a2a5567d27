import { ConfigurationError } from "../../../core/errors.ts";
import { decisionOf, type Person } from "../../../core/person.ts";
import { readCronLine } from "../../../core/schedule/cron-line.ts";
import { missedFirings } from "../../../core/schedule/due-firings.ts";
import { nextPlannedAt } from "../../../core/schedule/planned-times.ts";
import { decideSchedule } from "../../../core/schedule/schedule-decision.ts";
import {
  assertScheduleSpec,
  type CheckedSchedule,
  scheduleHash,
} from "../../../core/schedule/schedule-spec.ts";
import type { ConfiguredStart, ScheduleConfiguration, ScheduleRecord, ScheduleReport } from "../../store.ts";
import { scheduleRecord } from "../queries/schedule-queries.ts";
import { all, type SqlScript } from "../script.ts";
import { findSchedule, requireSchedule, type ScheduleRow, saveSchedule } from "../tables/schedule-row.ts";
import type { Transaction } from "../transaction.ts";
import { lockSchedule, recordMissed } from "./schedule-intents.ts";

export function* configureSchedules(
  tx: Transaction,
  { revision, schedules }: ScheduleConfiguration,
): SqlScript<readonly ScheduleReport[]> {
  if (!Number.isSafeInteger(revision) || revision < 0)
    throw new ConfigurationError(
      `The revision of the schedules is ${revision}: give a whole number that grows with each version.`,
    );
  const given = new Map(schedules.map((each) => [each.schedule.name, checked(each)]));
  // Of two workers that configure at once, the second one sees what the first has stored.
  yield* tx.lockName("schedules");
  const stored = yield* all("SELECT name FROM schedules");
  const reports: ScheduleReport[] = [];
  for (const name of new Set([...given.keys(), ...stored.map((row) => row.text("name"))].sort())) {
    yield* lockSchedule(tx, name);
    const report = yield* configure(tx, name, revision, given.get(name) ?? null);
    if (report !== null) reports.push(report);
  }
  return reports;
}

function checked(start: ConfiguredStart): ConfiguredStart {
  const { name, ...spec } = start.schedule;
  return { ...start, schedule: assertScheduleSpec(name, spec) };
}

/** Null if nothing changes that anybody would notice. */
function* configure(
  tx: Transaction,
  name: string,
  revision: number,
  given: ConfiguredStart | null,
): SqlScript<ScheduleReport | null> {
  const row = yield* findSchedule(name);
  const hash = given === null ? null : scheduleHash(given.schedule);
  const decision = decideSchedule(name, row, { hash, revision });
  switch (decision.kind) {
    case "keep":
      return null;
    case "ignore":
      return { name, kind: "ignored", why: decision.why };
    case "confirm":
      // The same schedule, of a pipeline that may have other steps by now.
      if (row !== null)
        saveSchedule(tx, { ...row, revision, start: given === null ? row.start : startOf(given) });
      return null;
    case "adopt":
      if (given !== null) adopt(tx, row, given, revision);
      else if (row !== null) remove(tx, row, revision);
      return { name, kind: decision.change };
  }
}

function startOf({ schedule: _, ...start }: ConfiguredStart): ScheduleRow["start"] {
  return start;
}

/** With the same line in the same zone, its planned times stay what they were: one that is due still fires. */
function adopt(tx: Transaction, row: ScheduleRow | null, given: ConfiguredStart, revision: number): void {
  const { schedule } = given;
  const isPlanned = row !== null && row.hash !== null && isSameLine(row.schedule, schedule);
  if (row !== null && !isPlanned) recordLost(tx, row, `${WHY} had another cron line from then on.`);
  const plannedAt = isPlanned ? row.plannedAt : Math.max(row?.plannedAt ?? 0, tx.now);
  saveSchedule(tx, {
    schedule,
    start: startOf(given),
    hash: scheduleHash(schedule),
    revision,
    configuredAt: tx.now,
    plannedAt,
    nextAt: nextOf(schedule, plannedAt),
    pausedAt: row?.pausedAt ?? null,
    pausedBy: row?.pausedBy ?? null,
  });
}

/** The row stays, so that a worker with an older configuration does not add the schedule again. */
function remove(tx: Transaction, row: ScheduleRow, revision: number): void {
  recordLost(tx, row, `${WHY} was removed.`);
  const plannedAt = Math.max(row.plannedAt, tx.now);
  saveSchedule(tx, { ...row, hash: null, revision, configuredAt: tx.now, plannedAt, nextAt: null });
}

const WHY = "No worker looked before the schedule";

/** What was due until now, and will not fire any more. */
function recordLost(tx: Transaction, row: ScheduleRow, why: string): void {
  if (row.hash === null || row.pausedAt !== null) return;
  for (const missed of missedFirings(row.schedule, row.plannedAt, tx.now, why))
    recordMissed(tx, row.schedule.name, missed);
}

function isSameLine(one: CheckedSchedule, other: CheckedSchedule): boolean {
  return one.cron.trim() === other.cron.trim() && one.timeZone === other.timeZone;
}

function nextOf({ name, cron, timeZone }: CheckedSchedule, plannedAt: number): number {
  return nextPlannedAt(readCronLine(name, cron, timeZone), plannedAt);
}

export function* pauseSchedule(tx: Transaction, name: string, person: Person): SqlScript<ScheduleRecord> {
  const { name: by } = decisionOf(person, tx.now);
  yield* lockSchedule(tx, name);
  const row = yield* requireSchedule(name);
  if (row.pausedAt !== null) return yield* scheduleRecord(row);
  const paused = { ...row, pausedAt: tx.now, pausedBy: by };
  saveSchedule(tx, paused);
  return yield* scheduleRecord(paused);
}

export function* resumeSchedule(tx: Transaction, name: string, person: Person): SqlScript<ScheduleRecord> {
  const { name: by } = decisionOf(person, tx.now);
  yield* lockSchedule(tx, name);
  const row = yield* requireSchedule(name);
  if (row.pausedAt === null) return yield* scheduleRecord(row);
  const since = new Date(row.pausedAt).toISOString();
  const why = `The schedule was paused by ${row.pausedBy} from ${since} until ${by} resumed it.`;
  for (const missed of missedFirings(row.schedule, row.plannedAt, tx.now, why))
    recordMissed(tx, name, missed);
  const plannedAt = Math.max(row.plannedAt, tx.now);
  const nextAt = nextOf(row.schedule, plannedAt);
  const resumed = { ...row, pausedAt: null, pausedBy: null, plannedAt, nextAt };
  saveSchedule(tx, resumed);
  return yield* scheduleRecord(resumed);
}
