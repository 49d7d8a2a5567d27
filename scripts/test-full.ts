// `npm run test:full`: everything that `npm test` samples, in full. It takes more than an hour on two cores.
// Each part prints as it goes; the last line is "N passed, N failed", counted in parts.

import { spawnSync } from "node:child_process";

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

const PARTS: readonly Part[] = [
  { what: "the tests", command: ["npm", "run", "--silent", "test:all"] },
  {
    what: "a crash at every point, and 16 pairs of them in each scenario",
    command: explore("crash,twice", "--pairs", "16"),
  },
  { what: "a pause at every point", command: explore("pause") },
  { what: "a close and a full disk at every point", command: explore("close,disk") },
  { what: "random courses", command: explore("random") },
  {
    what: "on PostgreSQL, a crash at every point, and 16 pairs of them in each scenario",
    command: explore("crash,twice", "--pairs", "16", ...ON_POSTGRES, ...SIDE_BY_SIDE),
  },
  {
    what: "on PostgreSQL, pauses, closes, lost connections and random courses",
    command: explore("pause,close,disk,random", ...FEW, ...ON_POSTGRES, ...SIDE_BY_SIDE),
  },
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
];

process.exitCode = main();

function main(): number {
  const failed = PARTS.filter((part) => !passes(part));
  for (const { what } of failed) console.log(`✗ ${what}`);
  console.log(`\n${PARTS.length - failed.length} passed, ${failed.length} failed`);
  return failed.length === 0 ? 0 : 1;
}

function passes({ what, command: [program, ...args] }: Part): boolean {
  console.log(`\n━━ ${what}`);
  const started = performance.now();
  const env = { ...process.env, PAWL_TESTS: "whole" };
  const { status } = spawnSync(program, args, { stdio: "inherit", env });
  const minutes = ((performance.now() - started) / 60_000).toFixed(1);
  console.log(`${status === 0 ? "✓" : "✗"} ${what} (${minutes} min)`);
  return status === 0;
}
