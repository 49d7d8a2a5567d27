// Explores the scenarios of the tests further than the tests have time for:
//   node scripts/explore.ts                                       every mode, every scenario
//   node scripts/explore.ts --scenario parallel-mixed --modes twice --pairs all
//   node scripts/explore.ts --scenario keyed --schedule "crash before store.commitTurn 1"
//   node scripts/explore.ts --database postgres --workers 2       on a PostgreSQL server that it starts, in two processes
//   node scripts/explore.ts --crashes 9 --pauses 4 --ends 4 --courses 10      a sample of each scenario, not all of it
//   node scripts/explore.ts --table                               writes a table of docs/guarantees.md

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  type CrashExplorerOptions,
  crashExplorer,
  type ExplorerMode,
} from "../src/testing/crash/crash-explorer.ts";
import { EXPLORER_MODES } from "../src/testing/crash/explorer-options.ts";
import type { CrashReport } from "../src/testing/crash/report/crash-report.ts";
import type { Scenario } from "../src/testing/crash/scenario.ts";
import { parseSchedule } from "../src/testing/crash/schedule.ts";
import { EXPLORER_FOLDER, lineOf } from "../test/testing/crash/explored-scenario.ts";
import { explorerServer } from "../test/testing/crash/explorer-server.ts";
import { RANDOM_SCENARIOS } from "../test/testing/crash/random-schedule-log.ts";
import { SCENARIOS } from "../test/testing/crash/scenarios/index.ts";
import { exploreInWorkers, printDone, printFigures, type ScenarioFigures } from "./explore-workers.ts";

const MODES = EXPLORER_MODES;
const GUARANTEES = new URL("../docs/guarantees.md", import.meta.url);

const { values } = parseArgs({
  options: {
    scenario: { type: "string", multiple: true },
    modes: { type: "string" },
    crashes: { type: "string" },
    pairs: { type: "string" },
    pauses: { type: "string" },
    ends: { type: "string" },
    courses: { type: "string" },
    seed: { type: "string" },
    schedule: { type: "string" },
    database: { type: "string", default: "sqlite" },
    workers: { type: "string", default: "1" },
    figures: { type: "boolean", default: false },
    table: { type: "boolean", default: false },
  },
});

const TABLE =
  values.database === "sqlite"
    ? /(<!-- crash table -->\n)[^]*?(<!-- \/crash table -->)/
    : /(<!-- crash table of PostgreSQL -->\n)[^]*?(<!-- \/crash table of PostgreSQL -->)/;

process.exitCode = await main();

async function main(): Promise<number> {
  if (values.table) assertWhole();
  const names = values.scenario ?? Object.keys(SCENARIOS);
  const server = await explorerServer(values.database);
  try {
    const figures = await figuresOn(server?.database ?? null, names);
    if (values.table) writeTable(figures);
    return figures.some(({ figures: [, , , broken = 0] }) => broken > 0) ? 1 : 0;
  } finally {
    await server?.stop();
  }
}

/** Explores the scenarios on the server at this address, or on SQLite; here, or in several processes. */
function figuresOn(database: string | null, names: readonly string[]): Promise<readonly ScenarioFigures[]> {
  // A worker without a scenario would explore all of them.
  const workers = Math.min(numberOf("workers", values.workers), names.length);
  if (workers <= 1)
    return explore(names, { ...explorerOptions(), ...(database === null ? {} : { database }) });
  const shared = ["modes", "crashes", "pairs", "pauses", "ends", "courses", "seed"] as const;
  const given = shared.flatMap((option) => {
    const text = values[option];
    return text === undefined ? [] : [`--${option}`, text];
  });
  return exploreInWorkers(workers, names, [...given, "--database", database ?? "sqlite"]);
}

async function explore(
  names: readonly string[],
  how: ReturnType<typeof explorerOptions>,
): Promise<readonly ScenarioFigures[]> {
  const found: ScenarioFigures[] = [];
  for (const name of names) {
    const modes = modesFor(name, how.modes ?? MODES);
    if (modes.length === 0) continue;
    const report = await crashExplorer({ ...scenarioOf(name), ...EXPLORER_FOLDER, ...how, modes });
    const figures = { name, figures: figuresOf(report) };
    found.push(figures);
    console.log(lineOf(report));
    if (values.figures) printFigures(figures);
    if (report.violations.length > 0) console.log(report.toString());
  }
  if (values.figures) printDone();
  return found;
}

/** If an old program and a new one work at the same time, which of them ends the run is random. */
function modesFor(name: string, modes: readonly ExplorerMode[]): readonly ExplorerMode[] {
  const isForRandom = RANDOM_SCENARIOS.some(([each]) => each === name);
  return isForRandom ? modes : modes.filter((mode) => mode !== "random");
}

function scenarioOf(name: string) {
  const make = SCENARIOS[name];
  if (make !== undefined) return make();
  throw new Error(`There is no scenario ${name}: there are ${Object.keys(SCENARIOS).join(", ")}.`);
}

function explorerOptions(): Omit<CrashExplorerOptions, keyof Scenario> {
  const { modes, pairs, schedule } = values;
  const counts = (["crashes", "pauses", "ends", "courses", "seed"] as const).flatMap((option) => {
    const text = values[option];
    return text === undefined ? [] : [[option, numberOf(option, text)] as const];
  });
  return {
    modes: modes === undefined ? MODES : modes.split(",").map(modeOf),
    ...(pairs === undefined ? {} : { pairs: pairs === "all" ? "all" : numberOf("pairs", pairs) }),
    ...Object.fromEntries(counts),
    ...(schedule === undefined ? {} : { schedule: parseSchedule(schedule) }),
  };
}

function modeOf(text: string): ExplorerMode {
  const mode = MODES.find((each) => each === text);
  if (mode === undefined) throw new Error(`There is no mode ${text}: there are ${MODES.join(", ")}.`);
  return mode;
}

function numberOf(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0)
    throw new Error(`--${option} is ${text}: give a whole number.`);
  return number;
}

/** A table of only some scenarios, or of uncommitted sources, could not be reproduced. */
function assertWhole(): void {
  for (const option of ["scenario", "schedule", "crashes"] as const)
    if (values[option] !== undefined)
      throw new Error(`--table covers every scenario and point: leave out --${option}.`);
  const changed = execFileSync("git", ["status", "--porcelain", "src", "test/testing/crash"], {
    encoding: "utf8",
  });
  if (changed !== "") throw new Error("--table names a commit: commit your changes first.");
}

function writeTable(all: readonly ScenarioFigures[]): void {
  const text = readFileSync(GUARANTEES, "utf8");
  if (!TABLE.test(text)) throw new Error("docs/guarantees.md has no place for the table.");
  const table = tableOf(all);
  writeFileSync(
    GUARANTEES,
    text.replace(TABLE, (_, begin: string, end: string) => `${begin}${table}${end}`),
  );
  console.log(`\n${table}`);
}

function tableOf(all: readonly ScenarioFigures[]): string {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const rows = all.map(({ name, figures }) => [`\`${name}\``, ...figures] as const);
  const sums = all
    .map(({ figures }) => figures)
    .reduce<readonly number[]>(
      (sum, figures) => sum.map((figure, i) => figure + (figures[i] ?? 0)),
      [0, 0, 0, 0],
    );
  return [
    `At commit \`${commit}\`. A pause or a random schedule counts as one crash.`,
    "",
    "| scenario | points | schedules | crashes | violations |",
    "| --- | ---: | ---: | ---: | ---: |",
    ...[...rows, ["all", ...sums]].map((cells) => `| ${cells.join(" | ")} |`),
    "",
  ].join("\n");
}

function figuresOf({ points, counts, violations }: CrashReport): readonly number[] {
  const broken = violations.reduce((sum, { times }) => sum + times, 0);
  return [points.length, counts.schedules, counts.disturbances, broken];
}
