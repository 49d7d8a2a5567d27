/**
 * `node bench/live.ts`: how long the first piece of an answer takes from the provider to a viewer in another process, and
 * what showing answers costs the process that works: CPU time and durable commits.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openStore, watchRun } from "../src/index.ts";
import { median } from "./measure.ts";
import { atMost, figure, logProgress, printReport, type Section } from "./report.ts";

const TURNS = 60;
const ROUNDS = 3;

const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "pawl-bench-live-"));
const writer = new URL("./live-writer.ts", import.meta.url).pathname;
const run = promisify(execFile);

type Written = { readonly cpuMs: number; readonly commits: number };

async function write(file: string, ...how: readonly (string | number)[]): Promise<Written> {
  const { stdout } = await run(process.execPath, [writer, file, ...how.map(String)]);
  return JSON.parse(stdout) as Written;
}

/** From the provider's first piece in one process to the viewer in this one. */
async function firstPiece(): Promise<Section> {
  logProgress("the first piece");
  const file = join(folder, "first.db");
  // The database is there before the viewer opens it.
  await (await openStore(`file:${file}`)).close();
  const store = await openStore(`file:${file}`, { readOnly: true });
  const written = write(file, 1, TURNS, 3, 40, "on");
  while ((await store.getRun("run-0")) === null) await new Promise((resolve) => setTimeout(resolve, 50));
  const times: number[] = [];
  for await (const event of watchRun(store, "run-0")) {
    const now = performance.timeOrigin + performance.now();
    const said = event.type === "part" ? Number.parseFloat(event.delta) : Number.NaN;
    if (!Number.isNaN(said)) times.push(now - said);
  }
  await written;
  await store.close();
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p95] = [
    sorted[Math.floor(sorted.length / 2)] ?? 0,
    sorted[Math.floor(sorted.length * 0.95)] ?? 0,
  ];
  return {
    lines: [
      atMost("first piece to a viewer in another process, p50 (ms)", p50, 80),
      figure("the same, p95 (ms)", p95.toFixed(1)),
      figure("turns measured", String(times.length)),
    ],
    figures: { firstPieceP50Ms: p50, firstPieceP95Ms: p95, turns: times.length },
  };
}

/** The same runs with and without, in turns, and what they differ by. */
async function cost(
  name: string,
  how: readonly number[],
  turns: number,
  hasTarget: boolean,
): Promise<Section> {
  const cpu = { on: [] as number[], off: [] as number[], none: [] as number[] };
  let commits = { on: 0, off: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    logProgress(`${name}, round ${round + 1} of ${ROUNDS}`);
    const [on, off, none] = [
      await write(join(folder, `on-${name}-${round}.db`), ...how, "on"),
      await write(join(folder, `off-${name}-${round}.db`), ...how, "off"),
      // The start of the process and of the first run.
      await write(join(folder, `none-${name}-${round}.db`), 1, 1, 1, 0, "off"),
    ];
    cpu.on.push(on.cpuMs);
    cpu.off.push(off.cpuMs);
    cpu.none.push(none.cpuMs);
    commits = { on: on.commits, off: off.commits };
  }
  const off = (median(cpu.off) - median(cpu.none)) / turns;
  const added = (median(cpu.on) - median(cpu.off)) / turns;
  return {
    lines: [
      figure(`${name}: CPU of a turn without live parts (ms)`, off.toFixed(2)),
      figure(`${name}: CPU that they add (ms)`, added.toFixed(2)),
      hasTarget
        ? atMost(`${name}: CPU that they add (% of a turn)`, (added / off) * 100, 10)
        : figure(`${name}: CPU that they add (% of a turn)`, ((added / off) * 100).toFixed(0)),
      atMost(
        `${name}: durable commits that they add`,
        Math.abs(commits.on - commits.off) > turns / 10 ? 1 : 0,
        0,
      ),
    ],
    figures: { [`${name} cpu of a turn, ms`]: off, [`${name} added, ms`]: added, ...commits },
  };
}

try {
  printReport([
    await firstPiece(),
    await cost("fast answers", [1, 300, 40, 0], 300, true),
    // By time and not by turns: about 20 rows for each second of an answer, whatever a turn costs beside it.
    await cost("20 runs, 40 pieces in a second", [20, 5, 40, 25], 100, false),
  ]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
