import { assertPayload, canonicalHash } from "../canonical-json.ts";
import { ConfigurationError } from "../errors.ts";
import type { Json } from "../json.ts";
import { assertOptions, givenOptions, kindOf, type OptionNames } from "../naming/option-names.ts";
import { readCronLine } from "./cron-line.ts";

/** What happens at a planned time while a run of an earlier one is unfinished. */
export type OverlapPolicy = "skip" | "queue" | "cancel" | "allow";

/** Which planned times fire that passed while nothing looked. */
export type CatchUpPolicy = "none" | "last" | "all";

/**
 * A pipeline that is started at planned times.
 *
 * @example
 * const nightly: ScheduleSpec = { pipeline: "report", cron: "0 2 * * *", timeZone: "Europe/Berlin" };
 */
export type ScheduleSpec = {
  /** The name of the pipeline that is started. */
  readonly pipeline: string;
  /** Five fields (minute, hour, day of the month, month, day of the week), or a nickname such as `@daily`. */
  readonly cron: string;
  /** The IANA name of the zone whose clocks the cron line is about. "UTC" by default. */
  readonly timeZone?: string;
  /** The input of each run. None by default. */
  readonly input?: Json;
  /**
   * What happens while a run of an earlier planned time is unfinished: the new one is skipped, waits for it, or cancels it;
   * or both run. "skip" by default.
   */
  readonly overlap?: OverlapPolicy;
  /** Which planned times fire that passed while no worker ran: none, the last one, or all. "last" by default. */
  readonly catchUp?: CatchUpPolicy;
  /** The queue of the runs. That of `enqueue` by default. */
  readonly queue?: string;
  /** The priority of the runs, an integer. That of `enqueue` by default. */
  readonly priority?: number;
  /** Names and texts that each run carries. None by default. */
  readonly metadata?: { readonly [name: string]: string };
};

/** A schedule that was checked, with its name and its defaults. */
export type CheckedSchedule = ScheduleSpec &
  Required<Pick<ScheduleSpec, "timeZone" | "overlap" | "catchUp">> & { readonly name: string };

const NAMES = {
  pipeline: true,
  cron: true,
  timeZone: true,
  input: true,
  overlap: true,
  catchUp: true,
  queue: true,
  priority: true,
  metadata: true,
} satisfies OptionNames<ScheduleSpec>;

const OTHER_NAMES = {
  timezone: "timeZone",
  tz: "timeZone",
  schedule: "cron",
  expression: "cron",
  every: 'give a cron line instead, such as { cron: "*/10 * * * *" }.',
  concurrency: "overlap",
  concurrencyPolicy: "overlap",
  backfill: "catchUp",
  seconds: "a schedule fires at whole minutes.",
  jitter: "a schedule fires at whole minutes.",
};

const OVERLAPS = ["skip", "queue", "cancel", "allow"] as const satisfies readonly OverlapPolicy[];
const CATCH_UPS = ["none", "last", "all"] as const satisfies readonly CatchUpPolicy[];

/** A part of run ids: see `firingRunId`. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export function assertScheduleName(name: unknown): asserts name is string {
  if (typeof name === "string" && NAME.test(name) && !name.includes("..")) return;
  throw new ConfigurationError(
    `${JSON.stringify(name) ?? String(name)} cannot name a schedule: use 1 to 100 letters, digits, "-", "_" or ".", beginning with a letter or digit, without "..".`,
  );
}

/** Refuses a schedule that is not one, and fills in the defaults of one that is. */
export function assertScheduleSpec(name: unknown, value: unknown): CheckedSchedule {
  assertScheduleName(name);
  assertOptions(`Schedule ${name}`, value, NAMES, OTHER_NAMES);
  // The cast is safe: every option is checked below, whatever its type says.
  const given = givenOptions(value as ScheduleSpec, NAMES);
  const spec = { timeZone: "UTC", overlap: "skip", catchUp: "last", ...given } as const;
  assertText(name, "pipeline", spec.pipeline, "give the name of the pipeline that it starts");
  readCronLine(name, spec.cron, spec.timeZone);
  assertOneOf(name, "overlap", spec.overlap, OVERLAPS);
  assertOneOf(name, "catchUp", spec.catchUp, CATCH_UPS);
  if (spec.input !== undefined) assertPayload(spec.input, `The input of schedule ${name}`);
  if (spec.queue !== undefined)
    assertText(name, "queue", spec.queue, "give the name of a queue, or leave it out");
  if (spec.priority !== undefined && !Number.isSafeInteger(spec.priority))
    throw new ConfigurationError(
      `The priority of schedule ${name} is ${shown(spec.priority)}: give an integer, or leave it out.`,
    );
  if (spec.metadata !== undefined) assertMetadata(name, spec.metadata);
  return { ...spec, name };
}

/**
 * The hash by which an edit of a schedule is noticed, in hex. A default that is written out is no edit, and neither is another
 * spelling of the same input.
 */
export function scheduleHash({ name: _, ...spec }: CheckedSchedule): string {
  return canonicalHash(spec).toString("hex");
}

const LONGEST_TEXT = 200;

function assertText(name: string, option: string, value: unknown, give: string): void {
  const isText = typeof value === "string" && value.isWellFormed();
  if (isText && value.trim() !== "" && value.length <= LONGEST_TEXT) return;
  throw new ConfigurationError(
    `The ${option} of schedule ${name} is ${shown(value)}: ${give}, in at most ${LONGEST_TEXT} characters.`,
  );
}

function assertOneOf(name: string, option: string, value: unknown, choices: readonly string[]): void {
  if (typeof value === "string" && choices.includes(value)) return;
  const listed = choices.map((choice) => JSON.stringify(choice)).join(", ");
  throw new ConfigurationError(
    `The ${option} of schedule ${name} is ${shown(value)}: give one of ${listed}.`,
  );
}

function assertMetadata(name: string, metadata: unknown): void {
  assertPayload(metadata, `The metadata of schedule ${name}`);
  const isObject = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
  const wrong = isObject
    ? Object.entries(metadata).find(([, value]) => typeof value !== "string")
    : undefined;
  if (isObject && wrong === undefined) return;
  const what =
    wrong === undefined ? `is ${kindOf(metadata)}` : `has ${kindOf(wrong[1])} as ${JSON.stringify(wrong[0])}`;
  throw new ConfigurationError(
    `The metadata of schedule ${name} ${what}: give an object of texts, such as { team: "billing" }.`,
  );
}

/** A wrong value for a sentence: its text if it is short, else its kind. */
function shown(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value.length <= LONGEST_TEXT ? JSON.stringify(value) : kindOf(value);
}
