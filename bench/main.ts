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
import { type LongRun, longRun, manyRuns, median, opener } from "./measure.ts";
import { sessionCommitBytes } from "./session.ts";
import { aiSdkModel, instantModel } from "./workload.ts";

const TURNS = 1_000;
const ROUNDS = 5;
const RUNS = 100;
const TURNS_EACH = 20;

type Line = {
  readonly what: string;
  readonly measured: string;
  readonly target: string;
  readonly met: boolean | null;
};

const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "pawl-bench-"));
const file = (name: string) => join(folder, `${name}.db`);
try {
  const { lines, figures } = await measureAll();
  for (const { what, measured, target, met } of [
    { what: "", measured: "measured", target: "target", met: null },
    ...lines,
  ]) {
    console.log(
      `${what.padEnd(62)}${measured.padStart(14)}${target.padStart(12)}  ${met === null ? "" : met ? "✓" : "✗"}`,
    );
  }
  console.log(`\n${JSON.stringify(figures, null, 2)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measureAll(): Promise<{ lines: Line[]; figures: object }> {
  logProgress("warming up");
  const made = await longRun(file("made"), TURNS, instantModel(TURNS));
  const bare = bareFloor(["x".repeat(Math.round(made.messageBytes / TURNS) - 1_120), "x".repeat(1_120)]);
  const same = sameRowsFloor(file("made"));
  for (const floor of [bare, same]) floor.measure(file("floor"), 1, 200);

  const long: LongRun[] = [];
  const sdk: LongRun[] = [];
  const floors = new Map<Floor, number[]>([
    [bare, []],
    [same, []],
  ]);
  for (let round = 1; round <= ROUNDS; round++) {
    logProgress(`one run of ${TURNS} turns, round ${round} of ${ROUNDS}`);
    for (const [floor, times] of floors) times.push(floor.measure(file("floor"), 1, TURNS));
    long.push(await longRun(file("long"), TURNS, instantModel(TURNS)));
    sdk.push(await longRun(file("sdk"), TURNS, aiSdkModel(TURNS)));
  }
  const turn = median(long.map((run) => run.microsecondsPerTurn));
  const bareTurn = median(floors.get(bare) ?? []);
  const sameTurn = median(floors.get(same) ?? []);
  const growth = median(long.map((run) => run.lastHundred / run.firstHundred));
  const commits = (long[0]?.turnCommits ?? 0) / TURNS;
  const bytes = (long[0]?.databaseBytes ?? 0) / (long[0]?.messageBytes ?? 1);
  const adapter = median(sdk.map((run) => run.microsecondsPerTurn)) - turn;

  const guards = guardCosts(file("long"));

  logProgress("opening runs");
  const [empty, full] = [await opener(file("empty"), 0), await opener(file("full"), TURNS)];
  const opened: { empty: number[]; full: number[] } = { empty: [], full: [] };
  for (let i = 0; i < 40; i++) {
    opened.empty.push(await empty.open());
    opened.full.push(await full.open());
  }
  await Promise.all([empty.close(), full.close()]);

  logProgress("finding keys in the ledger");
  const [small, large] = [await ledger(file("small"), 1_000), await ledger(file("large"), 1_000_000)];
  const found: { small: number[]; large: number[] } = { small: [], large: [] };
  for (let round = 1; round <= 20; round++) {
    found.small.push(await small.lookUp());
    found.large.push(await large.lookUp());
  }
  await Promise.all([small.close(), large.close()]);
  const [findSmall, findLarge] = [median(found.small), median(found.large)];

  logProgress("sessions with one slice and with a hundred large ones beside it");
  const [oneSlice, manySlices] = [
    await sessionCommitBytes(file("one-slice"), 0),
    await sessionCommitBytes(file("many-slices"), 100),
  ];

  const many: number[] = [];
  const manyFloors = new Map<Floor, number[]>([
    [bare, []],
    [same, []],
  ]);
  await manyRuns(file("many"), RUNS, TURNS_EACH);
  for (let round = 1; round <= ROUNDS; round++) {
    logProgress(`${RUNS} runs of ${TURNS_EACH} turns at once, round ${round} of ${ROUNDS}`);
    for (const [floor, times] of manyFloors) times.push(floor.measure(file("floor"), RUNS, TURNS_EACH));
    many.push(await manyRuns(file("many"), RUNS, TURNS_EACH));
  }
  const manyTurn = median(many);
  const [manyBare, manySame] = [median(manyFloors.get(bare) ?? []), median(manyFloors.get(same) ?? [])];
  const [openEmpty, openFull] = [median(opened.empty), median(opened.full)];

  const lines: Line[] = [
    { what: "a turn", measured: us(turn), target: "", met: null },
    { what: `  floor: ${same.name}`, measured: us(sameTurn), target: "", met: null },
    atMost("  × that floor", turn / sameTurn, 1.6),
    { what: `  floor: ${bare.name}`, measured: us(bareTurn), target: "", met: null },
    atMost("  × that floor", turn / bareTurn, 1.6),
    {
      what: "durable commits a turn",
      measured: commits.toFixed(3),
      target: "2",
      met: Math.abs(commits - 2) < 0.002,
    },
    atMost("checking the files for changes, of a turn", (1_000 * guards.files) / turn, 0.02),
    { what: "checking the schema in a turn", measured: us(1_000 * guards.schema), target: "", met: null },
    { what: "the sent marks of a turn", measured: us(1_000 * guards.marks), target: "", met: null },
    atMost("last 100 turns ÷ first 100", growth, 1.15),
    atMost(`opening a run at turn ${TURNS} ÷ opening an empty one`, openFull / openEmpty, 3),
    atMost("bytes in the database ÷ bytes of the messages", bytes, 2.5),
    { what: "finding a call among a million by its key", measured: us(findLarge), target: "", met: null },
    atMost("  ÷ finding it among a thousand", findLarge / findSmall, 2),
    {
      what: "a commit that changes one small slice",
      measured: `${Math.round(oneSlice)} bytes`,
      target: "",
      met: null,
    },
    atMost("  with a hundred large ones beside it ÷ that", manySlices / oneSlice, 1.2),
    { what: `${RUNS} runs at once: a turn`, measured: us(manyTurn), target: "", met: null },
    atLeast("  throughput ÷ the same rows in group commits", manySame / manyTurn, 0.4),
    atLeast("  throughput ÷ the messages alone in group commits", manyBare / manyTurn, 0.4),
    { what: "what the AI SDK adds to a turn", measured: us(adapter), target: "", met: null },
  ];
  const figures = {
    microseconds: {
      turn,
      sameTurn,
      bareTurn,
      manyTurn,
      manySame,
      manyBare,
      openEmpty,
      openFull,
      findSmall,
      findLarge,
      adapter,
    },
    ratios: {
      slices: manySlices / oneSlice,
      same: turn / sameTurn,
      bare: turn / bareTurn,
      growth,
      open: openFull / openEmpty,
      bytes,
      find: findLarge / findSmall,
      manySame: manySame / manyTurn,
      manyBare: manyBare / manyTurn,
    },
    commitsPerTurn: commits,
    guards,
    rounds: {
      turn: long.map((run) => run.microsecondsPerTurn),
      same: floors.get(same),
      bare: floors.get(bare),
      many,
    },
    node: process.version,
    sqlite: process.versions.sqlite,
  };
  return { lines, figures };
}

function atMost(what: string, value: number, limit: number): Line {
  return { what, measured: value.toFixed(2), target: `≤ ${limit}`, met: value <= limit };
}

function atLeast(what: string, value: number, limit: number): Line {
  return { what, measured: value.toFixed(2), target: `≥ ${limit}`, met: value >= limit };
}

function us(value: number): string {
  return `${value.toFixed(0)} µs`;
}

function logProgress(what: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${what} …`);
  else process.stderr.write(`${what} …\n`);
}
