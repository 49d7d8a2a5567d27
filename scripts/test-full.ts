// `npm run test:full`: everything that `npm test` samples, in full. It takes about an hour on two cores.
// Two lanes run side by side, since much of the work waits for a server or a disk. Each line says which lane it is of; the
// last line is "N passed, N failed", counted in parts.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

type Part = { readonly what: string; readonly command: readonly [string, ...string[]] };

const explore = (modes: string, ...more: readonly string[]): Part["command"] => [
  process.execPath,
  "scripts/explore.ts",
  "--modes",
  modes,
  ...more,
];

const ON_POSTGRES = ["--database", "postgres"] as const;
/** Two processes: a schedule waits for the server most of the time. */
const SIDE_BY_SIDE = ["--workers", "2"] as const;
/** A schedule on PostgreSQL takes several times as long as in a file. */
const FEW = ["--pauses", "3", "--ends", "3", "--courses", "5"] as const;

const SOAKS = ["explorer", "jobs", "random-kill"].map((name) => `test/soak/${name}.test.ts`);

const LANES: { readonly [lane: string]: readonly Part[] } = {
  tests: [
    { what: "the tests", command: ["npm", "run", "--silent", "test:all"] },
    {
      what: "real processes on PostgreSQL, killed 100 times",
      command: [process.execPath, "scripts/killed.ts", "--kills", "100", "--seed", "7", ...ON_POSTGRES],
    },
    {
      what: "real processes, killed 300 times",
      command: [process.execPath, "scripts/killed.ts", "--kills", "300", "--seed", "7"],
    },
    {
      what: "a disk that fails 60 times",
      command: [process.execPath, "scripts/killed.ts", "--faults", "60", "--seed", "7"],
    },
    {
      // Without the 250,000 hostile inputs for each parser, which take another half hour.
      what: "a soak of two minutes",
      command: [process.execPath, "scripts/soak.ts", "--minutes", "2", "--seed", "7", ...SOAKS],
    },
  ],
  explorer: [
    {
      what: "a crash at every point, and 16 pairs of them in each scenario",
      command: explore("crash,twice", "--pairs", "16"),
    },
    {
      what: "on PostgreSQL, a crash at every point, and 16 pairs of them in each scenario",
      command: explore("crash,twice", "--pairs", "16", ...ON_POSTGRES, ...SIDE_BY_SIDE),
    },
    { what: "a pause at every point", command: explore("pause") },
    { what: "a close and a full disk at every point", command: explore("close,disk") },
    { what: "random courses", command: explore("random") },
    {
      what: "on PostgreSQL, pauses, closes, lost connections and random courses",
      command: explore("pause,close,disk,random", ...FEW, ...ON_POSTGRES, ...SIDE_BY_SIDE),
    },
  ],
};

process.exitCode = await main();

async function main(): Promise<number> {
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
