import { existsSync } from "node:fs";
import { assertJson } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { nearestName } from "../../core/job/run-spec-spelling.ts";
import { toolsOf } from "../../engine/definition/known-tools.ts";
import type { Evidence } from "./evidence.ts";
import type { OwnInvariant } from "./invariant.ts";
import { INVARIANTS } from "./invariants/index.ts";
import type { Scenario } from "./scenario.ts";
import type { Schedule } from "./schedule.ts";

/**
 * How processes are disturbed: `crash` at every point, `twice` also in the recovery, `pause`d past their lease, `close`d in
 * good order, failed by a full `disk` that heals, or everything at `random`.
 */
export type ExplorerMode = (typeof EXPLORER_MODES)[number];

export const EXPLORER_MODES = ["crash", "twice", "pause", "close", "disk", "random"] as const;

export type CrashExplorerOptions = Scenario & {
  /** Promises of your own, beside those of Pawl; `false` for one of Pawl's leaves it out. */
  readonly invariants?: { readonly [name: string]: OwnInvariant | false };
  /** `["crash", "pause"]` unless said. */
  readonly modes?: readonly ExplorerMode[];
  /** At how many of the points a process crashes, by chance; at all of them unless said. */
  readonly crashes?: number;
  /** How many pairs of crashes are tried, by chance; 100 unless said. */
  readonly pairs?: number | "all";
  /** At how many of the points a process is paused, by chance; at all of them unless said. */
  readonly pauses?: number;
  /** At how many of the points a process is closed or its disk fails, by chance; at all of them unless said. */
  readonly ends?: number;
  /** How many places to wake at are tried for each process that was paused, beside the end; 1 unless said. */
  readonly wakes?: number;
  /** How many random courses are tried; 50 unless said. */
  readonly courses?: number;
  /** What chance is made from; the same number, the same course. 1 unless said. */
  readonly seed?: number;
  /** Where the databases are made, and removed again; the system's folder for temporary files unless said. */
  readonly folder?: string;
  /** Only this one, as a report named it. */
  readonly schedule?: Schedule | string;
  /** Told after each schedule. */
  readonly onProgress?: (progress: ExplorerProgress) => void;
};

export type ExplorerProgress = {
  readonly mode: ExplorerMode;
  readonly schedules: number;
  /** Of this mode, as far as it is known. */
  readonly left: number;
  readonly violations: number;
};

const MODES: readonly string[] = EXPLORER_MODES;
const COUNTS = ["crashes", "pairs", "pauses", "ends", "wakes", "courses", "seed"] as const;
const NAMES: readonly string[] = INVARIANTS.map(({ name }) => name);

/** What is set up wrongly would explore nothing, or something else, and nobody would notice. */
export function assertExplorable(options: CrashExplorerOptions): void {
  const given: Partial<CrashExplorerOptions> = options;
  if (typeof given.pipeline !== "object")
    throw new ConfigurationError("There is no pipeline to explore: give an agent, a step or a pipeline.");
  assertJson(given.input, "The input");
  assertModes(options.modes);
  for (const name of COUNTS) assertCount(name, options[name]);
  if (options.folder !== undefined && !existsSync(options.folder))
    throw new ConfigurationError(
      `The folder ${options.folder} is not there: make it, or leave \`folder\` out.`,
    );
  assertInvariants(options.invariants ?? {});
  for (const [name, standIn] of Object.entries(options.tools ?? {})) assertStandIn(name, standIn);
}

function assertModes(modes: readonly string[] | undefined): void {
  const unknown = modes?.find((mode) => !MODES.includes(mode));
  if (modes === undefined || (modes.length > 0 && unknown === undefined)) return;
  const what = unknown === undefined ? "is empty" : `has ${JSON.stringify(unknown)}`;
  throw new ConfigurationError(`\`modes\` ${what}: give some of ${MODES.join(", ")}.`);
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
      throw new ConfigurationError(`There is no invariant ${name} to leave out: ${meant(name, NAMES)}`);
    if (own !== false && isKnown)
      throw new ConfigurationError(`Pawl has an invariant ${name} itself: give yours another name.`);
    if (own !== false && typeof own !== "function")
      throw new ConfigurationError(`The invariant ${name} is no function of the evidence.`);
  }
}

function assertStandIn(name: string, standIn: unknown): void {
  const parts = typeof standIn === "object" && standIn !== null ? Object.entries(standIn) : [];
  const fits = parts.every(
    ([key, part]) => ["execute", "reconcile"].includes(key) && typeof part === "function",
  );
  if (typeof standIn === "function" || (parts.length > 0 && fits)) return;
  throw new ConfigurationError(
    `tools.${name} stands in for nothing: give a function, or { execute, reconcile }.`,
  );
}

/** A stand-in under a misspelt name stands in for nobody, and the real tool runs. */
export function assertNamesFit({ pipeline, tools = {}, runner }: CrashExplorerOptions, seen: Evidence): void {
  const called = seen.witness.flatMap((line) => ("tool" in line ? [line.tool] : []));
  const known = new Set([...toolsOf(pipeline, runner?.policy ?? {}).map(({ name }) => name), ...called]);
  const unstood = [...known].filter((name) => !Object.hasOwn(tools, name));
  for (const name of Object.keys(tools)) {
    const near = known.has(name) ? null : nearestName(name, unstood);
    if (near !== null)
      throw new ConfigurationError(
        `There is no tool ${name} to stand in for: did you mean ${near}? It ran as it is.`,
      );
  }
}

function meant(name: string, names: readonly string[]): string {
  const near = nearestName(name, names);
  return near === null ? `there are ${names.join(", ")}.` : `did you mean ${near}?`;
}
