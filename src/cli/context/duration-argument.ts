import { WrongUseError } from "./wrong-use-error.ts";

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The milliseconds of a duration: `30d`, `12h`, `45m`; a number alone is a number of days. */
export function parseDuration(option: string, text: string): number {
  const [, digits, unit = "d"] = /^(\d{1,6})([dhm])?$/.exec(text) ?? [];
  if (digits !== undefined) return Number(digits) * UNITS[unit as keyof typeof UNITS];
  throw new WrongUseError(
    `${option} is ${JSON.stringify(text)}: give a whole number of days, hours or minutes, such as 30d, 12h or 45m.`,
  );
}
