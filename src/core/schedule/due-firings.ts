import { readCronLine } from "./cron-line.ts";
import { nextPlannedAt, plannedTimes } from "./planned-times.ts";
import type { CheckedSchedule } from "./schedule-spec.ts";

/** What happens with planned times that are due. */
export type FiringDecision =
  /** A run is started for it, unless the schedule's overlap policy says otherwise. */
  { readonly kind: "fire"; readonly plannedAt: number } | MissedFirings;

/** No run is started for these: `count` planned times, the first at `plannedAt` and the last at `until`. */
export type MissedFirings = {
  readonly kind: "missed";
  readonly plannedAt: number;
  readonly until: number;
  readonly count: number;
  readonly why: string;
};

export type DueFirings = {
  /** In the order of their planned times. */
  readonly decisions: readonly FiringDecision[];
  /** The last planned time that is decided now: where the next look begins. */
  readonly lastPlannedAt: number;
  /** When to look again: the next planned time. It has passed if more are due than one look decides. */
  readonly nextAt: number;
};

/** A worker that looks this much later than a planned time is still on time. */
export const GRACE_MS = 60_000;

/** A look decides at most this many planned times, so that a look after a long outage ends soon. The next one continues. */
export const MOST_PER_LOOK = 1_000;

/** The same for "all", where each one may be a run. */
export const MOST_RUNS_PER_LOOK = 100;

/**
 * Decides which planned times fire now, by the schedule's `catchUp`: "none" fires those that are at most a minute late, "last"
 * the last one that is due, and "all" every one.
 *
 * `lastPlannedAt` is the last planned time that was decided before, or when the schedule was first seen or last changed:
 * a new cron line does not fire for the time before it. A clock that runs backwards fires nothing twice.
 */
export function dueFirings(schedule: CheckedSchedule, lastPlannedAt: number, now: number): DueFirings {
  const line = readCronLine(schedule.name, schedule.cron, schedule.timeZone);
  const most = schedule.catchUp === "all" ? MOST_RUNS_PER_LOOK : MOST_PER_LOOK;
  const due = plannedTimes(line, lastPlannedAt, now, most);
  const last = due.at(-1) ?? lastPlannedAt;
  const nextAt = nextPlannedAt(line, last);
  return { decisions: decisionsFor(schedule, due, now, nextAt <= now), lastPlannedAt: last, nextAt };
}

/** Planned times that are due and that nothing will fire, for this reason; at most `MOST_PER_LOOK` of them are counted. */
export function missedFirings(
  schedule: CheckedSchedule,
  lastPlannedAt: number,
  now: number,
  why: string,
): readonly MissedFirings[] {
  const line = readCronLine(schedule.name, schedule.cron, schedule.timeZone);
  return missed(plannedTimes(line, lastPlannedAt, now, MOST_PER_LOOK), why);
}

function decisionsFor(
  { name, catchUp }: CheckedSchedule,
  due: readonly number[],
  now: number,
  hasMore: boolean,
): readonly FiringDecision[] {
  switch (catchUp) {
    case "all":
      return due.map(fired);
    case "none": {
      const onTime = due.filter((plannedAt) => now - plannedAt <= GRACE_MS);
      const late = due.slice(0, due.length - onTime.length);
      const why = `No worker looked at schedule ${name} within a minute, and its catchUp is "none".`;
      return [...missed(late, why), ...onTime.map(fired)];
    }
    case "last": {
      const passed = hasMore ? due : due.slice(0, -1);
      const why = `A later planned time of schedule ${name} was due as well, and its catchUp is "last".`;
      return [...missed(passed, why), ...due.slice(passed.length).map(fired)];
    }
  }
}

function fired(plannedAt: number): FiringDecision {
  return { kind: "fire", plannedAt };
}

function missed(times: readonly number[], why: string): readonly MissedFirings[] {
  const [plannedAt, until] = [times[0], times.at(-1)];
  if (plannedAt === undefined || until === undefined) return [];
  return [{ kind: "missed", plannedAt, until, count: times.length, why }];
}
