/**
 * `node bench/live.ts`: how long the first piece of an answer takes from the provider to a viewer in another process, and
 * what streaming costs the process that works: CPU time and durable commits. Streaming costs the provider's package more than
 * Pawl, so that is measured alone in the same process, and what remains is Pawl's. A profile shows its functions alone: without collecting garbage,
 * and without waking up.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openStore, watchRun } from "../src/index.ts";
import { atMost, figure, logProgress, printReport, type Section, us } from "./report.ts";

const TURNS = 60;
const ROUNDS = 4;

const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "pawl-bench-live-"));
const fileOf = (name: string) => new URL(`./${name}.ts`, import.meta.url).pathname;
const run = promisify(execFile);

/** From the provider's first piece in one process to the viewer in this one. */
async function firstPiece(): Promise<Section> {
  logProgress("the first piece");
  const file = join(folder, "first.db");
  // The database is there before the viewer opens it.
  await (await openStore(`file:${file}`)).close();
  const store = await openStore(`file:${file}`, { readOnly: true });
  const written = run(process.execPath, [fileOf("live-writer"), file, ...[TURNS, 3, 40].map(String)]);
  while ((await store.getRun("run-0")) === null) await new Promise((resolve) => setTimeout(resolve, 50));
  const times: number[] = [];
  for await (const event of watchRun(store, "run-0")) {
    const now = performance.timeOrigin + performance.now();
    const said = event.type === "part" ? Number.parseFloat(event.delta) : Number.NaN;
    if (!Number.isNaN(said)) times.push(now - said);
  }
  await written;
  await store.close();
  if (times.length === 0) throw new Error("No piece came to the viewer.");
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

type Cost = {
  /** Of a turn, in microseconds of the processor. */
  readonly cpu: Readonly<Record<"whole" | "streamed" | "providerWhole" | "providerStreamed", number>>;
  readonly commits: { readonly whole: number; readonly streamed: number };
  /** Pawl's part of the work of a streamed turn. */
  readonly own: number;
};

/** Turns with whole answers and with streamed ones, beside the provider's package alone. */
async function cost(name: string, { runs, turns, pieces, everyMs }: Answers): Promise<Section> {
  logProgress(name);
  const provider = spawn(process.execPath, [
    fileOf("live-provider"),
    ...[turns, pieces, everyMs].map(String),
  ]);
  try {
    const [address] = (await once(provider.stdout, "data")) as [Buffer];
    const database = `file:${join(folder, `${name}.db`)}`;
    const args = [database, address.toString().trim(), runs, turns, ROUNDS].map(String);
    const { stdout } = await run(process.execPath, [fileOf("live-cost"), ...args]);
    return costSection(name, runs * turns, JSON.parse(stdout) as Cost);
  } finally {
    provider.kill();
  }
}

type Answers = {
  readonly runs: number;
  readonly turns: number;
  readonly pieces: number;
  readonly everyMs: number;
};

function costSection(name: string, turns: number, { cpu, commits, own }: Cost): Section {
  const byPackage = cpu.providerStreamed - cpu.providerWhole;
  const beyond = cpu.streamed - cpu.whole - byPackage;
  const profiled = own * cpu.streamed;
  const percent = (part: number, whole: number) => (part / whole) * 100;
  return {
    lines: [
      figure(`${name}: a turn with a whole answer`, us(cpu.whole)),
      figure("  with a streamed one", us(cpu.streamed)),
      figure("  what streaming adds to the provider's package alone", us(byPackage)),
      figure("  what it adds beyond that, by the difference", us(beyond)),
      atMost("  the same, % of a turn with a whole answer", percent(beyond, cpu.whole), 10),
      figure(
        "  the same, % of the rest of a streamed turn",
        percent(beyond, cpu.streamed - beyond).toFixed(0),
      ),
      figure("  Pawl's functions for the pieces in a profile", us(profiled)),
      figure("  the same, % of a turn with a whole answer", percent(profiled, cpu.whole).toFixed(0)),
      // Runs share their commits by chance.
      atMost("  durable commits that it adds", commits.streamed - commits.whole > turns / 10 ? 1 : 0, 0),
    ],
    figures: { [name]: { ...cpu, beyond, profiled } },
  };
}

try {
  printReport([
    await firstPiece(),
    await cost("fast answers", { runs: 1, turns: 100, pieces: 40, everyMs: 0 }),
    await cost("20 runs, 40 pieces in a second", { runs: 20, turns: 2, pieces: 40, everyMs: 25 }),
  ]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
