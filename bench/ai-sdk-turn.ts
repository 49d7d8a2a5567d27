/**
 * `node bench/ai-sdk-turn.ts`: what a turn through the AI SDK costs beside one through the model port, and beside the
 * rows alone in SQLite, in the same run on the same disk. Figures are medians over rounds that alternate between them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sameRowsFloor } from "./floor.ts";
import { type LongRun, longRun, median } from "./measure.ts";
import { aiSdkModel, instantModel } from "./workload.ts";

const TURNS = 1_000;
const ROUNDS = 5;

const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "pawl-bench-"));
const file = (name: string) => join(folder, `${name}.db`);
try {
  const viaPort = () => longRun(file("port"), TURNS, instantModel(TURNS));
  const viaSdk = () => longRun(file("sdk"), TURNS, aiSdkModel(TURNS));
  await viaSdk();
  await viaPort();
  const floor = sameRowsFloor(file("port"));
  const [floors, port, sdk]: [number[], LongRun[], LongRun[]] = [[], [], []];
  for (let round = 1; round <= ROUNDS; round++) {
    floors.push(floor.measure(file("floor"), 1, TURNS));
    port.push(await viaPort());
    sdk.push(await viaSdk());
  }
  const rows = median(floors);
  console.log(`${"a turn".padEnd(24)}${"time".padStart(10)}${"× floor".padStart(10)}${"CPU".padStart(10)}`);
  printLine(`floor: the rows alone`, rows, null);
  printLine("model port", ...figures(port));
  printLine("AI SDK", ...figures(sdk));

  function figures(runs: readonly LongRun[]): [number, number] {
    return [
      median(runs.map((run) => run.microsecondsPerTurn)),
      median(runs.map((run) => run.cpuMicrosecondsPerTurn)),
    ];
  }

  function printLine(what: string, time: number, cpu: number | null): void {
    const shown = [
      `${time.toFixed(0)} µs`,
      (time / rows).toFixed(2),
      cpu === null ? "" : `${cpu.toFixed(0)} µs`,
    ];
    console.log(what.padEnd(24) + shown.map((each) => each.padStart(10)).join(""));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
