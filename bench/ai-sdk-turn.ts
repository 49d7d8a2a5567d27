/**
 * `node bench/ai-sdk-turn.ts`: what a turn through the AI SDK costs beside one through the model port, and beside the
 * rows alone in SQLite, in the same run on the same disk. Figures are medians over rounds that alternate between them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sameRowsFloor } from "./floor.ts";
import { type LongRun, longRun, manyRuns, median } from "./measure.ts";
import { atLeast, atMost, figure, printReport, us } from "./report.ts";
import { aiSdkModel, instantModel, streamingModel } from "./workload.ts";

const TURNS = 1_000;
const ROUNDS = 5;
const [RUNS, TURNS_EACH] = [100, 20];
const [SHORT, LONG] = [2_000, 32_000];

const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "pawl-bench-"));
const file = (name: string) => join(folder, `${name}.db`);
try {
  const measured = {
    port: () => longRun(file("port"), TURNS, instantModel(TURNS)),
    sdk: () => longRun(file("sdk"), TURNS, aiSdkModel(TURNS)),
    streamed: () => longRun(file("sdk"), TURNS, streamingModel(TURNS)),
    sdkAgain: () => longRun(file("sdk"), TURNS, aiSdkModel(TURNS)),
    portShort: () => longRun(file("port"), TURNS, instantModel(TURNS), SHORT),
    sdkShort: () => longRun(file("sdk"), TURNS, aiSdkModel(TURNS), SHORT),
    portLong: () => longRun(file("port"), TURNS, instantModel(TURNS), LONG),
    sdkLong: () => longRun(file("sdk"), TURNS, aiSdkModel(TURNS), LONG),
  };
  for (const run of Object.values(measured)) await run();
  await measured.port();
  const floor = sameRowsFloor(file("port"));
  const rounds: (Record<keyof typeof measured, LongRun> & {
    floor: number;
    many: number;
    manyPort: number;
  })[] = [];
  for (let round = 1; round <= ROUNDS; round++)
    rounds.push({
      floor: floor.measure(file("floor"), 1, TURNS),
      port: await measured.port(),
      sdk: await measured.sdk(),
      streamed: await measured.streamed(),
      sdkAgain: await measured.sdkAgain(),
      portShort: await measured.portShort(),
      sdkShort: await measured.sdkShort(),
      portLong: await measured.portLong(),
      sdkLong: await measured.sdkLong(),
      many: await manyRuns(file("many"), RUNS, TURNS_EACH, aiSdkModel),
      manyPort: await manyRuns(file("many"), RUNS, TURNS_EACH),
    });
  const over = (each: (round: (typeof rounds)[number]) => number) => median(rounds.map(each));
  const cpu = (name: keyof typeof measured) => over((round) => round[name].cpuMicrosecondsPerTurn);
  const ratio = (name: keyof typeof measured) =>
    over((round) => round[name].microsecondsPerTurn / round.floor);
  const perSecond = (each: (round: (typeof rounds)[number]) => number) => 1_000_000 / over(each);
  const streamedShare = ({ sdk, streamed, sdkAgain }: (typeof rounds)[number]) =>
    (2 * streamed.cpuMicrosecondsPerTurn) / (sdk.cpuMicrosecondsPerTurn + sdkAgain.cpuMicrosecondsPerTurn);
  const lines = [
    figure("floor: the rows of a turn alone", us(over((round) => round.floor))),
    figure("a turn through the model port, × floor", ratio("port").toFixed(2)),
    atMost("a turn through the AI SDK, × floor", ratio("sdk"), 2.8),
    figure("work of the processor in a turn, model port", us(cpu("port"))),
    figure("  through the AI SDK", us(cpu("sdk"))),
    figure(`  what the AI SDK adds with ${SHORT} tokens of history`, us(cpu("sdkShort") - cpu("portShort"))),
    figure(`  what it adds with ${LONG} tokens of history`, us(cpu("sdkLong") - cpu("portLong"))),
    // Beside those right before and after it, since the disk and the machine are faster at some times than at others.
    atMost("  streamed ÷ not", over(streamedShare), 1.1),
    figure(
      `${RUNS} runs × ${TURNS_EACH} turns, model port`,
      `${perSecond((round) => round.manyPort).toFixed(0)}/s`,
    ),
    atLeast(
      `${RUNS} runs × ${TURNS_EACH} turns, AI SDK`,
      perSecond((round) => round.many),
      1_800,
      "/s",
    ),
  ];
  printReport([{ lines, figures: {} }]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
