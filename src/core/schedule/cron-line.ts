import { CronDate, CronPattern } from "croner";
import { ConfigurationError } from "../errors.ts";
import { kindOf } from "../naming/option-names.ts";
import { isTimeZone, type WallTime } from "./zone-time.ts";

/** A cron line that was read, in its time zone. */
export type CronLine = {
  readonly timeZone: string;
  /**
   * The hour field is `*` or a step of it: the line names a distance in time, and no times of the day. So the hour that
   * clocks repeat in autumn counts twice, and the one that they skip in spring does not exist.
   */
  readonly followsRealTime: boolean;
  /** The next wall time strictly after this one, to the second, that the line names; null after the year 3000. */
  readonly nextWallTime: (after: WallTime) => WallTime | null;
};

const FIELDS = [
  { name: "minute", values: "a number from 0 to 59" },
  { name: "hour", values: "a number from 0 to 23" },
  { name: "day of the month", values: "a number from 1 to 31, L for the last day" },
  { name: "month", values: "a number from 1 to 12, a name from JAN to DEC" },
  { name: "day of the week", values: "a number from 0 (Sunday) to 7, a name from SUN to SAT" },
] as const;

const FIELD_NAMES = FIELDS.map(({ name }) => name).join(", ");

const NICKNAMES: { readonly [name: string]: string } = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

/**
 * Reads a cron line of five fields, or a nickname such as `@daily`. The schedule's name is for the sentence about a line that
 * cannot be read.
 *
 * @example
 * readCronLine("nightly", "0 2 * * *", "Europe/Berlin");
 */
export function readCronLine(schedule: string, cron: unknown, timeZone: unknown): CronLine {
  const fields = fieldsOf(schedule, cron);
  const zone = assertTimeZone(schedule, timeZone);
  fields.forEach((field, index) => assertField(schedule, fields, field, index));
  const pattern = patternOf(fields);
  const nextWallTime = (after: WallTime) => nextMatch(pattern, after);
  if (nextWallTime(0) === null)
    throw new ConfigurationError(
      `Schedule ${schedule} has the cron line ${shown(fields)}, which never fires: give a day that one of its months has.`,
    );
  return { timeZone: zone, followsRealTime: /^\*(\/\d+)?$/.test(fields[1] ?? ""), nextWallTime };
}

function fieldsOf(schedule: string, cron: unknown): readonly string[] {
  if (typeof cron !== "string")
    throw new ConfigurationError(
      `The cron of schedule ${schedule} is ${kindOf(cron)}: give a cron line as text, such as "0 2 * * *".`,
    );
  const line = cron.trim();
  if (line === "")
    throw new ConfigurationError(
      `The cron line of schedule ${schedule} is blank: give five fields, such as "0 2 * * *" for every day at 2:00.`,
    );
  const nickname = line.toLowerCase();
  const fields = (Object.hasOwn(NICKNAMES, nickname) ? NICKNAMES[nickname] : undefined) ?? line;
  const list = fields.split(/\s+/);
  if (list.length === FIELDS.length) return list;
  if (line.startsWith("@"))
    throw new ConfigurationError(
      `Schedule ${schedule} has the cron line ${JSON.stringify(line)}: give one of ${Object.keys(NICKNAMES).join(", ")}, or five fields.`,
    );
  const more = list.length > FIELDS.length ? "; seconds and years are not supported" : "";
  throw new ConfigurationError(
    `Schedule ${schedule} has the cron line ${JSON.stringify(line)} with ${list.length} ${list.length === 1 ? "field" : "fields"}: give five (${FIELD_NAMES})${more}.`,
  );
}

function assertTimeZone(schedule: string, timeZone: unknown): string {
  const give = 'give a name of the IANA database, such as "Europe/Berlin" or "UTC"';
  if (typeof timeZone !== "string")
    throw new ConfigurationError(`The time zone of schedule ${schedule} is ${kindOf(timeZone)}: ${give}.`);
  if (isTimeZone(timeZone)) return timeZone;
  throw new ConfigurationError(
    `Schedule ${schedule} has the unknown time zone ${JSON.stringify(timeZone)}: ${give}.`,
  );
}

/** Each field is read on its own, so that the sentence names the one that is wrong. */
function assertField(schedule: string, fields: readonly string[], field: string, index: number): void {
  // The parser puts the present time in the place of a question mark.
  if (!field.includes("?") && isReadable(FIELDS.map((_, i) => (i === index ? field : "*")))) return;
  const { name, values } = FIELDS[index] ?? FIELDS[0];
  throw new ConfigurationError(
    `Schedule ${schedule} has the cron line ${shown(fields)}, whose ${name} ${JSON.stringify(field)} cannot be read: give ${values}, a range such as 1-5, a list such as 1,3, a step such as */2, or *.`,
  );
}

function isReadable(fields: readonly string[]): boolean {
  try {
    return patternOf(fields) !== undefined;
  } catch {
    return false;
  }
}

/** A question mark in the pattern would be replaced by the present time. Nothing else of it depends on the clock. */
function patternOf(fields: readonly string[]): CronPattern {
  return new CronPattern(fields.join(" "), "UTC", { mode: "5-part" });
}

/**
 * Wall times are searched with an offset of 0, as if clocks never changed. croner's own search in a time zone is not used: it
 * skips the missing hour for a line such as `0,30 2 * * *`, and runs it twice in the repeated one. Its class `Cron` reads the
 * clock even if a time is given.
 */
function nextMatch(pattern: CronPattern, after: WallTime): WallTime | null {
  return new CronDate(new Date(after), 0).increment(pattern, { domAndDow: false }, false)?.getTime() ?? null;
}

function shown(fields: readonly string[]): string {
  return JSON.stringify(fields.join(" "));
}
