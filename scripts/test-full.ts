// `npm run test:full`: what `npm test` samples, in full or in much larger samples. It takes about an hour on two cores.
// The tests of scenarios take samples here too, since the explorer itself explores them beside the tests.
// Two lanes run side by side, since much of the work waits for a server or a disk. Each line says which lane it is of; the
// last line is "N passed, N failed", counted in parts.

import { execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

type Part = { readonly what: string; readonly command: readonly [string, ...string[]] };

/**
 * What is sampled is sampled by the commit: each commit takes other ones, and the same commit the same ones. A crash at
 * every point, and `npm run explore` without these options, take all.
 */
const SEED = String(
  Number.parseInt(execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).slice(0, 7), 16),
);

/** In two processes: on PostgreSQL, a schedule waits for the server most of the time. */
const explore = (modes: string, ...more: readonly string[]): Part["command"] => [
  process.execPath,
  "scripts/explore.ts",
  "--modes",
  modes,
  "--workers",
  "2",
  "--seed",
  SEED,
  ...more,
];

const ON_POSTGRES = ["--database", "postgres"] as const;
/** A schedule on PostgreSQL takes four times as long as in a file. */
const FEW = ["--pauses", "2", "--ends", "2", "--courses", "4"] as const;

const SOAKS = ["explorer", "jobs", "random-kill"].map((name) => `test/soak/${name}.test.ts`);

const LANES: { readonly [lane: string]: readonly Part[] } = {
  tests: [
    { what: "the tests", command: ["npm", "run", "--silent", "test:all"] },
    {
      what: "real processes on PostgreSQL, killed 60 times",
      command: [process.execPath, "scripts/killed.ts", "--kills", "60", "--seed", SEED, ...ON_POSTGRES],
    },
    {
      what: "real processes, killed 200 times",
      command: [process.execPath, "scripts/killed.ts", "--kills", "200", "--seed", SEED],
    },
    {
      what: "a disk that fails 40 times",
      command: [process.execPath, "scripts/killed.ts", "--faults", "40", "--seed", SEED],
    },
    {
      // Without the 250,000 hostile inputs for each parser, which take another half hour.
      what: "soaks of a minute each",
      command: [process.execPath, "scripts/soak.ts", "--minutes", "1", "--seed", SEED, ...SOAKS],
    },
  ],
  explorer: [
    {
      what: "a crash at every point, and 16 pairs of them in each scenario",
      command: explore("crash,twice", "--pairs", "16"),
    },
    {
      what: "on PostgreSQL, a crash at 30 points, and 4 pairs of them in each scenario",
      command: explore("crash,twice", "--crashes", "30", "--pairs", "4", ...ON_POSTGRES),
    },
    { what: "a pause at 30 points in each scenario", command: explore("pause", "--pauses", "30") },
    {
      what: "a close and a full disk at 20 points in each scenario",
      command: explore("close,disk", "--ends", "20"),
    },
    { what: "40 random courses of each scenario", command: explore("random", "--courses", "40") },
    {
      what: "on PostgreSQL, some pauses, closes, lost connections and random courses of each scenario",
      command: explore("pause,close,disk,random", ...FEW, ...ON_POSTGRES),
    },
  ],
};

process.exitCode = await main();

async function main(): Promise<number> {
  console.log(`Samples are taken with seed ${SEED}, by the commit.`);
  const lanes = await Promise.all(Object.entries(LANES).map(([lane, parts]) => failuresIn(lane, parts)));
  const failed = lanes.flat();
  const all = Object.values(LANES).flat();
  for (const { what } of failed) console.log(`✗ ${what}`);
  console.log(`\n${all.length - failed.length} passed, ${failed.length} failed`);
  return failed.length === 0 ? 0 : 1;
}

/** The parts of a lane that fail, one after the other. */
async function failuresIn(lane: string, parts: readonly Part[]): Promise<readonly Part[]> {
  const failed: Part[] = [];
  for (const part of parts) if (!(await passes(lane, part))) failed.push(part);
  return failed;
}

async function passes(lane: string, { what, command: [program, ...args] }: Part): Promise<boolean> {
  console.log(`[${lane}] ━━ ${what}`);
  const started = performance.now();
  const env = { ...process.env, PAWL_TESTS: "whole" };
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env });
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once("close", resolve);
  child.once("error", (error) => {
    console.log(`[${lane}] ${error.message}`);
    resolve(null);
  });
  await Promise.all([printed(lane, child.stdout), printed(lane, child.stderr)]);
  const status = await promise;
  const minutes = ((performance.now() - started) / 60_000).toFixed(1);
  console.log(`[${lane}] ${status === 0 ? "✓" : "✗"} ${what} (${minutes} min)`);
  return status === 0;
}

async function printed(lane: string, output: Readable): Promise<void> {
  for await (const line of createInterface({ input: output })) console.log(`[${lane}] ${line}`);
}
