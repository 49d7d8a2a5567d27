// Durations as people write them: `45s`, `30m`, `3h`, `2d`, and in words.

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const;
const WORDS = { d: "day", h: "hour", m: "minute", s: "second" } as const;
const LETTERS = ["d", "h", "m", "s"] as const;

/** The longest wait: ten years of 365 days. A longer one is a mistake. */
export const MAX_WAIT_MS = 3_650 * UNITS.d;

/** `45s`, `30m`, `3h`, `2d` in milliseconds; null if it is none of these, or longer than ten years. */
export function parseDuration(text: string): number | null {
  const [, digits, letter] = /^(\d{1,9})([dhms])$/.exec(text) ?? [];
  const unit = LETTERS.find((each) => each === letter);
  if (digits === undefined || unit === undefined) return null;
  const ms = Number(digits) * UNITS[unit];
  return ms <= MAX_WAIT_MS ? ms : null;
}

/** The duration in the largest unit that fits without a rest: `3 days`, `90 minutes`, `1500 ms`. */
export function durationInWords(ms: number): string {
  const unit = LETTERS.find((each) => ms >= UNITS[each] && ms % UNITS[each] === 0);
  if (unit === undefined) return `${ms} ms`;
  const count = ms / UNITS[unit];
  return `${count} ${WORDS[unit]}${count === 1 ? "" : "s"}`;
}

/** True for whole milliseconds from 0 to ten years. */
export function isWaitMs(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= MAX_WAIT_MS;
}

/** A date-time with an offset from UTC: without one, it depends on where it is read. */
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** The milliseconds since 1970 of a Date, or of a text such as `2026-11-18T08:00:00+01:00`; null if it is neither. */
export function parseInstant(given: unknown): number | null {
  const at =
    given instanceof Date
      ? given.getTime()
      : typeof given === "string" && DATE_TIME.test(given)
        ? Date.parse(given)
        : Number.NaN;
  return Number.isFinite(at) ? at : null;
}
