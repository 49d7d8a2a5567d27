import { parseDuration } from "../../core/job/duration.ts";
import { WrongUseError } from "./wrong-use-error.ts";

/** The milliseconds of an option such as `30d`, `12h` or `45m`. */
export function durationOption(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw new WrongUseError(
    `${option} is ${JSON.stringify(text)}: give a whole number of days, hours or minutes, such as 30d, 12h or 45m.`,
  );
}

/** The same for ages, where a number alone is a number of days. */
export function ageOption(option: string, text: string): number {
  return durationOption(option, /^\d{1,6}$/.test(text) ? `${text}d` : text);
}
