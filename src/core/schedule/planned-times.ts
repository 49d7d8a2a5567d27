import { ConfigurationError } from "../errors.ts";
import type { CronLine } from "./cron-line.ts";
import { firstMomentOf, firstOffsetChange, type WallTime, wallTimeAt, zoneOffset } from "./zone-time.ts";

/**
 * The next planned time strictly after a time, in milliseconds since 1970. Where clocks change:
 *
 * - A wall time that they skip is planned for the first moment after the gap, and one that they show twice for the first of
 *   the two. Several that fall on the same moment are one planned time.
 * - A line that follows real time is planned for every moment at which clocks show a time that it names.
 */
export function nextPlannedAt(line: CronLine, after: number): number {
  return line.followsRealTime ? nextInRealTime(line, after) : nextOnTheClock(line, after);
}

/** The planned times after `after`, up to and with `until`: the first `limit` of them. */
export function plannedTimes(line: CronLine, after: number, until: number, limit: number): readonly number[] {
  const times: number[] = [];
  for (let last = after; times.length < limit; ) {
    last = nextPlannedAt(line, last);
    if (last > until) break;
    times.push(last);
  }
  return times;
}

/** A later wall time never has an earlier first moment, so the first one that is late enough is the next. */
function nextOnTheClock(line: CronLine, after: number): number {
  let wall = wallTimeAt(line.timeZone, after);
  for (;;) {
    wall = nextWallTime(line, wall);
    // Clocks that show a time for the second time: everything up to the end of the repeated hour is past.
    const at = firstMomentOf(line.timeZone, wall);
    if (at > after) return at;
  }
}

/** As long as the offset stays the same, real time is the wall time less the offset. */
function nextInRealTime(line: CronLine, after: number): number {
  let from = after;
  let wall = wallTimeAt(line.timeZone, from);
  for (;;) {
    const at = nextWallTime(line, wall) - zoneOffset(line.timeZone, from);
    const change = firstOffsetChange(line.timeZone, from, at);
    if (change === null) return at;
    // Nothing is planned before the change. What is planned for its very moment counts, so the search begins before it.
    from = change;
    wall = wallTimeAt(line.timeZone, change) - 1;
  }
}

function nextWallTime(line: CronLine, after: WallTime): WallTime {
  const wall = line.nextWallTime(after);
  if (wall !== null) return wall;
  throw new ConfigurationError(
    `${new Date(after).toISOString()} is too late to plan from: use a time before the year 3000.`,
  );
}
