import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { assertJson } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { nearestName } from "../../core/naming/nearest-name.ts";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import { isPostgres } from "../../store/postgres-address.ts";
import type { OwnInvariant } from "./invariant.ts";
import { INVARIANTS } from "./invariants/index.ts";
import { assertPerson } from "./person-answers.ts";
import type { Scenario } from "./scenario.ts";
import type { Schedule } from "./schedule.ts";

/**
 * How processes are disturbed: a `crash` at every point, `twice` with a second one in the recovery, a `pause` past the
 * lease, a graceful `close`, a full `disk` that has space again later, or everything at `random`.
 */
export type ExplorerMode = (typeof EXPLORER_MODES)[number];

export const EXPLORER_MODES = ["crash", "twice", "pause", "close", "disk", "random"] as const;

/** Options of `crashExplorer`. */
export type CrashExplorerOptions = Scenario & {
  /** Your own invariants, besides Pawl's; `false` under the name of one of Pawl's leaves it out. */
  readonly invariants?: { readonly [name: string]: OwnInvariant | false };
  /** By default `["crash", "pause"]`. */
  readonly modes?: readonly ExplorerMode[];
  /** The number of points, picked at random, at which a process crashes; by default all. */
  readonly crashes?: number;
  /** The number of pairs of crashes, picked at random; by default 100. */
  readonly pairs?: number | "all";
  /** The number of points, picked at random, at which a process is paused; by default all. */
  readonly pauses?: number;
  /** The number of points, picked at random, at which a process is closed or its disk is full; by default all. */
  readonly ends?: number;
  /** The number of points at which each paused process is woken, besides at the end; by default 1. */
  readonly wakes?: number;
  /** The number of random schedules; by default 50. */
  readonly courses?: number;
  /** The seed of everything random: the same seed, the same schedules. By default 1. */
  readonly seed?: number;
  /**
   * Where the databases are made, and removed again; by default in memory
   * (`/dev/shm`) if there is room, or else in the system's folder for temporary files.
   */
  readonly folder?: string;
  /**
   * A PostgreSQL database, `postgres://user@host/database`: the processes work on it, in schemas of their own
   * (`pawl_explorer_…`) that are made there and dropped again. Nothing else in it is touched. By default SQLite files.
   */
  readonly database?: string;
  /** Runs only this schedule, as a report printed it. */
  readonly schedule?: Schedule | string;
  /** Called after each schedule. */
  readonly onProgress?: (progress: ExplorerProgress) => void;
};

/** How far an exploration is. */
export type ExplorerProgress = {
  readonly mode: ExplorerMode;
  readonly schedules: number;
  /** The schedules of this mode that remain, as far as known. */
  readonly left: number;
  readonly violations: number;
};

const MODES: readonly string[] = EXPLORER_MODES;
const COUNTS = ["viewers", "crashes", "pairs", "pauses", "ends", "wakes", "courses", "seed"] as const;
const NAMES: readonly string[] = INVARIANTS.map(({ name }) => name);

const EXPLORER_NAMES = {
  name: true,
  pipeline: true,
  input: true,
  model: true,
  tools: true,
  person: true,
  viewers: true,
  mayFail: true,
  runner: true,
  run: true,
  act: true,
  invariants: true,
  modes: true,
  crashes: true,
  pairs: true,
  pauses: true,
  ends: true,
  wakes: true,
  courses: true,
  seed: true,
  folder: true,
  database: true,
  schedule: true,
  onProgress: true,
} satisfies OptionNames<CrashExplorerOptions>;
const EXPLORER_OTHER_NAMES = {
  agent: "pipeline",
  target: "pipeline",
  mode: "modes",
  store: "database",
  db: "database",
  url: "database",
};

/** With wrong options the explorer would test nothing, or something else, without notice. */
export function assertExplorable(options: CrashExplorerOptions): void {
  assertOptions("The argument of crashExplorer", options, EXPLORER_NAMES, EXPLORER_OTHER_NAMES);
  const given: Partial<CrashExplorerOptions> = options;
  if (typeof given.pipeline !== "object")
    throw new ConfigurationError("There is no pipeline to explore: give an agent, a step or a pipeline.");
  assertJson(given.input, "The input");
  assertModes(options.modes);
  for (const name of COUNTS) assertCount(name, options[name]);
  if (options.folder !== undefined && !existsSync(options.folder))
    throw new ConfigurationError(
      `The folder ${options.folder} does not exist: create it, or leave \`folder\` out.`,
    );
  assertDatabase(options.database);
  assertInvariants(options.invariants ?? {});
  for (const [name, standIn] of Object.entries(options.tools ?? {})) assertStandIn(name, standIn);
  if (options.person !== undefined) assertPerson(options.person);
}

/** In memory where there is room: thousands of commits need not wait for a disk, and no crash here is a power cut. */
export function explorerFolder(memory = "/dev/shm"): string {
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= ROOM_IN_MEMORY ? memory : tmpdir();
}

/** A container often has 64 MB there, which a run with large files can fill. */
const ROOM_IN_MEMORY = 256 * 2 ** 20;

function assertModes(modes: readonly string[] | undefined): void {
  const unknown = modes?.find((mode) => !MODES.includes(mode));
  if (modes === undefined || (modes.length > 0 && unknown === undefined)) return;
  const what = unknown === undefined ? "is empty" : `has ${JSON.stringify(unknown)}`;
  throw new ConfigurationError(`\`modes\` ${what}: give some of ${MODES.join(", ")}.`);
}

/** Without the address: it may hold a password. */
function assertDatabase(database: unknown): void {
  if (database === undefined || isPostgres(database)) return;
  throw new ConfigurationError(
    "`database` is not the address of a PostgreSQL database: give postgres://user@host/database, or leave it out for SQLite.",
  );
}

function assertCount(name: (typeof COUNTS)[number], value: unknown): void {
  if (value === undefined || (name === "pairs" && value === "all")) return;
  if (Number.isSafeInteger(value) && Number(value) >= 0) return;
  throw new ConfigurationError(`\`${name}\` is ${JSON.stringify(value)}: give a whole number, 0 or more.`);
}

function assertInvariants(invariants: NonNullable<CrashExplorerOptions["invariants"]>): void {
  for (const [name, own] of Object.entries(invariants)) {
    const isKnown = NAMES.includes(name);
    if (own === false && !isKnown)
      throw new ConfigurationError(`There is no invariant ${name} to leave out: ${suggest(name, NAMES)}`);
    if (own !== false && isKnown)
      throw new ConfigurationError(`Pawl already has an invariant ${name}: give yours another name.`);
    if (own !== false && typeof own !== "function")
      throw new ConfigurationError(`The invariant ${name} must be a function of the evidence.`);
  }
}

function assertStandIn(name: string, standIn: unknown): void {
  const parts = typeof standIn === "object" && standIn !== null ? Object.entries(standIn) : [];
  const fits = parts.every(
    ([key, part]) => ["execute", "reconcile"].includes(key) && typeof part === "function",
  );
  if (typeof standIn === "function" || (parts.length > 0 && fits)) return;
  throw new ConfigurationError(
    `tools.${name} is not a stand-in: give a function, or { execute, reconcile }.`,
  );
}

function suggest(name: string, names: readonly string[]): string {
  const near = nearestName(name, names);
  return near === null ? `the invariants are ${names.join(", ")}.` : `did you mean ${near}?`;
}
