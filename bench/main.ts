/**
 * `npm run bench`: the cost of a turn beside that of SQLite itself, in the same run on the same disk. Figures are medians
 * over rounds that alternate between the two, since machines are noisy and the noise varies over time.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bareFloor, type Floor, sameRowsFloor } from "./floor.ts";
import { guardCosts } from "./guards.ts";
import { ledger } from "./ledger.ts";
import { type LongRun, longRun, loopLag, manyRuns, median, opener } from "./measure.ts";
import { resumeInNewProcess, workTogether } from "./processes.ts";
import { atLeast, atMost, figure, logProgress, printReport, type Section, us } from "./report.ts";
import { sessionCommitBytes } from "./session.ts";
import { aiSdkModel, instantModel } from "./workload.ts";

const TURNS = 1_000;
const ROUNDS = 5;
const RUNS = 100;
const TURNS_EACH = 20;
/** How many runs are at once where the event loop is watched. */
const WATCHED_RUNS = 200;

type Floors = { readonly same: Floor; readonly bare: Floor };

const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "pawl-bench-"));
const file = (name: string) => join(folder, `${name}.db`);
try {
  const floors = await warmUp();
  printReport([
    await oneRun(floors),
    await openedRuns(),
    await foundCalls(),
    await sessionCommits(),
    await runsAtOnce(floors),
    await twoProcesses(),
    await watchedLoop(),
    { lines: [], figures: { node: process.version, sqlite: process.versions.sqlite } },
  ]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function warmUp(): Promise<Floors> {
  logProgress("warming up");
  const made = await longRun(file("made"), TURNS, instantModel(TURNS));
  const bare = bareFloor(["x".repeat(Math.round(made.messageBytes / TURNS) - 1_120), "x".repeat(1_120)]);
  const same = sameRowsFloor(file("made"));
  for (const floor of [bare, same]) floor.measure(file("floor"), 1, 200);
  return { same, bare };
}

async function oneRun({ same, bare }: Floors): Promise<Section> {
  const rounds: { long: LongRun; sdk: LongRun; same: number; bare: number }[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    logProgress(`one run of ${TURNS} turns, round ${round} of ${ROUNDS}`);
    rounds.push({
      same: same.measure(file("floor"), 1, TURNS),
      bare: bare.measure(file("floor"), 1, TURNS),
      long: await longRun(file("long"), TURNS, instantModel(TURNS)),
      sdk: await longRun(file("sdk"), TURNS, aiSdkModel(TURNS)),
    });
  }
  const over = (each: (round: (typeof rounds)[number]) => number) => median(rounds.map(each));
  const turn = over(({ long }) => long.microsecondsPerTurn);
  const ratios = {
    same: over(({ long, same }) => long.microsecondsPerTurn / same),
    bare: over(({ long, bare }) => long.microsecondsPerTurn / bare),
    growth: over(({ long }) => long.lastHundred / long.firstHundred),
    bytes: over(({ long }) => long.databaseBytes / long.messageBytes),
  };
  const adapter = over(({ long, sdk }) => sdk.microsecondsPerTurn - long.microsecondsPerTurn);
  const cpu = over(({ long }) => long.cpuMicrosecondsPerTurn);
  const commits = over(({ long }) => long.turnCommits / TURNS);
  const kilobytes = over(({ long }) => long.deviceKilobytesPerTurn ?? Number.NaN);
  const guards = guardCosts(file("long"));
  return {
    lines: [
      figure("a turn with an effect", us(turn)),
      figure("  of it, work of the processor", us(cpu)),
      figure(`  floor: ${same.name}`, us(over((round) => round.same))),
      atMost("  × that floor", ratios.same, 2),
      figure(`  floor: ${bare.name}`, us(over((round) => round.bare))),
      atMost("  × that floor", ratios.bare, 2),
      {
        ...figure("durable commits a turn", commits.toFixed(3)),
        target: "2",
        met: Math.abs(commits - 2) < 0.002,
      },
      ...(Number.isNaN(kilobytes) ? [] : [atMost("written to the device in a turn", kilobytes, 40, " KB")]),
      atMost("checking the files for changes, of a turn", (1_000 * guards.files) / turn, 0.02),
      figure("checking the schema in a turn", us(1_000 * guards.schema)),
      figure("the sent marks of a turn", us(1_000 * guards.marks)),
      atMost("last 100 turns ÷ first 100", ratios.growth, 1.15),
      atMost("bytes in the database ÷ bytes of the messages", ratios.bytes, 2.5),
      figure("what the AI SDK adds to a turn", us(adapter)),
    ],
    figures: { turn, cpu, ratios, commits, kilobytes, adapter, guards, rounds },
  };
}

async function openedRuns(): Promise<Section> {
  logProgress("opening runs");
  const [empty, full] = [await opener(file("empty"), 0), await opener(file("full"), TURNS)];
  const opened: { empty: number[]; full: number[] } = { empty: [], full: [] };
  for (let i = 0; i < 40; i++) {
    opened.empty.push(await empty.open());
    opened.full.push(await full.open());
  }
  await Promise.all([empty.close(), full.close()]);
  const resumed: number[] = [];
  for (let i = 0; i < ROUNDS; i++) resumed.push(await resumeInNewProcess(file("full")));
  const [openEmpty, openFull] = [median(opened.empty), median(opened.full)];
  return {
    lines: [
      atMost(`opening a run at turn ${TURNS} ÷ opening an empty one`, openFull / openEmpty, 3),
      atMost(`resuming at turn ${TURNS} in a new process`, median(resumed), 30, " ms"),
    ],
    figures: { openEmpty, openFull, resumed },
  };
}

async function foundCalls(): Promise<Section> {
  logProgress("finding keys in the ledger");
  const [small, large] = [await ledger(file("small"), 1_000), await ledger(file("large"), 1_000_000)];
  const found: { small: number[]; large: number[] } = { small: [], large: [] };
  for (let round = 1; round <= 20; round++) {
    found.small.push(await small.lookUp());
    found.large.push(await large.lookUp());
  }
  await Promise.all([small.close(), large.close()]);
  const [findSmall, findLarge] = [median(found.small), median(found.large)];
  return {
    lines: [
      figure("finding a call among a million by its key", us(findLarge)),
      atMost("  ÷ finding it among a thousand", findLarge / findSmall, 2),
    ],
    figures: { findSmall, findLarge },
  };
}

async function sessionCommits(): Promise<Section> {
  logProgress("sessions with one slice and with a hundred large ones beside it");
  const oneSlice = await sessionCommitBytes(file("one-slice"), 0);
  const manySlices = await sessionCommitBytes(file("many-slices"), 100);
  return {
    lines: [
      figure("a commit that changes one small slice", `${Math.round(oneSlice)} bytes`),
      atMost("  with a hundred large ones beside it ÷ that", manySlices / oneSlice, 1.2),
    ],
    figures: { oneSlice, manySlices },
  };
}

async function runsAtOnce({ same, bare }: Floors): Promise<Section> {
  await manyRuns(file("many"), RUNS, TURNS_EACH);
  const rounds: { many: number; same: number; bare: number }[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    logProgress(`${RUNS} runs of ${TURNS_EACH} turns at once, round ${round} of ${ROUNDS}`);
    rounds.push({
      same: same.measure(file("floor"), RUNS, TURNS_EACH),
      bare: bare.measure(file("floor"), RUNS, TURNS_EACH),
      many: await manyRuns(file("many"), RUNS, TURNS_EACH),
    });
  }
  const turn = median(rounds.map(({ many }) => many));
  return {
    lines: [
      figure(`${RUNS} runs at once: a turn`, us(turn)),
      atLeast("  turns a second", 1_000_000 / turn, 3_000, " /s"),
      atLeast(
        "  throughput ÷ the same rows in group commits",
        median(rounds.map(({ many, same }) => same / many)),
        0.4,
      ),
      atLeast(
        "  throughput ÷ the messages alone in group commits",
        median(rounds.map(({ many, bare }) => bare / many)),
        0.4,
      ),
    ],
    figures: { runsAtOnce: rounds },
  };
}

async function twoProcesses(): Promise<Section> {
  const rounds: { one: number; two: number }[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    logProgress(`one and two processes of ${RUNS} runs each, round ${round} of ${ROUNDS}`);
    rounds.push({
      one: await workTogether(file("work"), 1, RUNS, TURNS_EACH),
      two: await workTogether(file("work"), 2, RUNS, TURNS_EACH),
    });
  }
  return {
    lines: [
      figure(
        "two processes on one database: turns a second",
        `${median(rounds.map(({ two }) => two)).toFixed(0)} /s`,
      ),
      atLeast("  ÷ those of one new process", median(rounds.map(({ one, two }) => two / one)), 1.7),
    ],
    figures: { processes: rounds },
  };
}

async function watchedLoop(): Promise<Section> {
  logProgress(`the event loop at ${WATCHED_RUNS} runs at once`);
  const rounds: Awaited<ReturnType<typeof loopLag>>[] = [];
  for (let round = 1; round <= ROUNDS; round++)
    rounds.push(await loopLag(file("lag"), WATCHED_RUNS, TURNS_EACH));
  return {
    lines: [
      atMost(
        `${WATCHED_RUNS} runs at once: the event loop lags, in the middle`,
        median(rounds.map(({ p50 }) => p50)),
        10,
        " ms",
      ),
      atMost("  at the most", median(rounds.map(({ max }) => max)), 50, " ms"),
    ],
    figures: { lag: rounds },
  };
}
