const UNITS = [
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
] as const;

/** How long something takes, in its largest unit: `40 s`, `3 h`; below a second in milliseconds. */
export function durationWords(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const [name, size] = UNITS.findLast(([, unit]) => ms >= unit) ?? UNITS[0];
  return `${Math.floor(ms / size)} ${name}`;
}

/** In two units, where the second matters: `3 h 20 m`. */
export function longDurationWords(ms: number): string {
  const at = UNITS.findLastIndex(([, unit]) => ms >= unit);
  const smaller = UNITS[at - 1];
  if (at < 1 || smaller === undefined) return durationWords(ms);
  const rest = ms % (UNITS[at]?.[1] ?? 1);
  return rest < smaller[1]
    ? durationWords(ms)
    : `${durationWords(ms)} ${Math.floor(rest / smaller[1])} ${smaller[0]}`;
}

/** How far a time is from now: `40 s ago`, `in 3 h`. */
export function relativeWords(at: number, now: number): string {
  const ms = now - at;
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `${durationWords(ms)} ago` : `in ${durationWords(-ms)}`;
}

/** The time of day here, as the live line has it: `12:03`. */
export function clockWords(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** A time in full, with its zone. */
export function exactWords(at: number): string {
  return new Date(at).toLocaleString("en-GB", {
    year: "numeric",
    month: "short",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  });
}

/** The time of day here, to the second: `12:03:09`. */
export function clockWithSeconds(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB");
}
