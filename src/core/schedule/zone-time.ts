import { memoized } from "../memoized.ts";

/**
 * What a clock on the wall shows, as the milliseconds since 1970 at which a clock in UTC shows the same. It is no moment: in
 * a time zone a wall time can be missing, or occur twice.
 */
export type WallTime = number;

/** Offsets are between UTC-12 and UTC+14, so a moment is less than a day away from its wall time. */
const DAY_MS = 24 * 60 * 60_000;

const formatOf = memoized(
  (timeZone) => new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" }),
);

/** True for a name of the IANA time zone database. A bare offset, such as "+02:00", is none. */
export function isTimeZone(name: string): boolean {
  if (/^[+-]/.test(name)) return false;
  try {
    return formatOf(name) !== undefined;
  } catch {
    return false;
  }
}

/** What a clock in the zone is ahead of UTC at this moment, in milliseconds. */
export function zoneOffset(timeZone: string, at: number): number {
  // "11/17/2026, GMT+01:00"; before 1972 some offsets have seconds.
  const text = formatOf(timeZone).format(at);
  const match = /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(text);
  if (match === null) throw new TypeError(`The offset of ${timeZone} cannot be read from ${text}.`);
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = match;
  const ahead = (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1_000;
  return sign === "-" ? -ahead : ahead;
}

export function wallTimeAt(timeZone: string, at: number): WallTime {
  return at + zoneOffset(timeZone, at);
}

/**
 * The moment at which clocks in the zone first show this time. For a time that they skip, that is the first moment after the
 * gap: the first one at which they show a later time.
 */
export function firstMomentOf(timeZone: string, wall: WallTime): number {
  const before = zoneOffset(timeZone, wall - DAY_MS);
  const after = zoneOffset(timeZone, wall + DAY_MS);
  const [early, late] = [wall - Math.max(before, after), wall - Math.min(before, after)];
  if (early === late || wallTimeAt(timeZone, early) === wall) return early;
  if (wallTimeAt(timeZone, late) === wall) return late;
  // The clocks skip it: they change between the two.
  return offsetChange(timeZone, early, late);
}

/** The first moment after `after`, up to and with `until`, at which the zone's offset changes; null if there is none. */
export function firstOffsetChange(timeZone: string, after: number, until: number): number | null {
  const offset = zoneOffset(timeZone, after);
  // Two changes within a day could be missed. Since 2000, no zone has changed twice in less than 6 days.
  for (let from = after; from < until; from += DAY_MS) {
    const to = Math.min(from + DAY_MS, until);
    if (zoneOffset(timeZone, to) !== offset) return offsetChange(timeZone, from, to);
  }
  return null;
}

/** The moment of the change between two moments with different offsets: the first that has the new one. */
function offsetChange(timeZone: string, from: number, to: number): number {
  const offset = zoneOffset(timeZone, from);
  let [old, changed] = [from, to];
  while (changed - old > 1) {
    const middle = Math.floor((old + changed) / 2);
    if (zoneOffset(timeZone, middle) === offset) old = middle;
    else changed = middle;
  }
  return changed;
}
