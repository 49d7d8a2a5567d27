// Does with real processes what the crash explorer simulates, over all of its scenarios. Kills them with SIGKILL and resumes
// in new ones; or makes the writes of their database fail (if strace is installed):
//   node scripts/killed.ts --kills 1000 --seed 7
//   node scripts/killed.ts --kills 1000 --database postgres       on a PostgreSQL server that it starts
//   node scripts/killed.ts --faults 200 --seed 7
// and replays a printed schedule or fault:
//   node scripts/killed.ts --scenario keyed --schedule "crash before store.commitTurn 1"
//   node scripts/killed.ts --scenario keyed --fault "EIO in fsync 3+"

import { parseArgs } from "node:util";
import { parseSchedule } from "../src/testing/crash/schedule.ts";
import { explorerServer } from "../test/testing/crash/explorer-server.ts";
import {
  FAULT_SCENARIOS,
  IoFaults,
  parseFault,
  whyFaultsUnavailable,
} from "../test/testing/crash/io-faults.ts";
import { KilledChildren, makeExplorerFolder } from "../test/testing/crash/killed-children.ts";
import {
  KilledSample,
  type KilledTrial,
  runConcurrently,
  violationLines,
} from "../test/testing/crash/killed-sample.ts";
import { SCENARIOS } from "../test/testing/crash/scenarios/index.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    faults: { type: "string" },
    seed: { type: "string", default: "1" },
    workers: { type: "string", default: "2" },
    scenario: { type: "string", multiple: true },
    schedule: { type: "string" },
    fault: { type: "string" },
    database: { type: "string", default: "sqlite" },
  },
});
const SEED = Number(values.seed);
const WORKERS = Number(values.workers);

/** Counts of kills or faults, and of their outcomes. */
class Tally {
  readonly #began = performance.now();
  readonly #what: string;
  #printedAt = 0;
  done = 0;
  tries = 0;
  missed = 0;
  violations = 0;

  constructor(what: string) {
    this.#what = what;
  }

  add(done: number, missed: boolean, problems: readonly string[]): void {
    this.tries += 1;
    this.done += done;
    if (missed) this.missed += 1;
    for (const problem of problems) console.log(`VIOLATION ${problem}`);
    this.violations += problems.length;
    if (this.done < this.#printedAt + 50) return;
    this.#printedAt = this.done;
    this.print();
  }

  print(): void {
    const seconds = Math.round((performance.now() - this.#began) / 1000);
    console.log(
      `seed ${SEED}: ${this.done} ${this.#what} in ${this.tries} schedules, ${this.missed} missed, ${this.violations} violations, ${seconds} s`,
    );
  }
}

async function killMany(sample: KilledSample, tally: Tally): Promise<void> {
  const { scenario: names = Object.keys(SCENARIOS), kills, schedule } = values;
  const add = (trial: KilledTrial) => tally.add(trial.kills, trial.isMissed, violationLines(trial));
  if (schedule !== undefined) {
    const parsed = parseSchedule(schedule);
    if (parsed.kind !== "crash") throw new Error("Only crashes are possible with real processes.");
    for (const name of names) add(await sample.trial(name, parsed.at));
    return;
  }
  const tasks = sample.tasks(names, SEED);
  await runConcurrently(
    WORKERS,
    async () => (tally.done < Number(kills) ? (await tasks.next()).value : null),
    async (task) => {
      for await (const trial of sample.trials(task)) add(trial);
    },
  );
}

async function failMany(faults: IoFaults, tally: Tally): Promise<void> {
  const why = whyFaultsUnavailable();
  if (why !== null) throw new Error(`Faults cannot be injected here: ${why}.`);
  const { scenario: names = FAULT_SCENARIOS, faults: count, fault } = values;
  const tasks = faults.tasks(names, SEED);
  const chosen =
    fault === undefined ? null : names.map((scenario) => ({ scenario, fault: parseFault(fault) }));
  let begun = 0;
  const next = async () => (begun++ < Number(count) ? (await tasks.next()).value : null);
  await runConcurrently(WORKERS, chosen === null ? next : async () => chosen.pop() ?? null, async (task) => {
    const { wasMade, problems } = await faults.trial(task);
    tally.add(wasMade ? 1 : 0, !wasMade, problems);
  });
}

const isAboutFaults = values.faults !== undefined || values.fault !== undefined;
if (isAboutFaults && values.database !== "sqlite")
  throw new Error("--faults fails the disk of a SQLite file: leave out --database.");
const server = await explorerServer(values.database);
const explorerFolder = await makeExplorerFolder(server?.database);
const children = await KilledChildren.make();
const tally = new Tally(isAboutFaults ? "faults" : "kills");
try {
  if (isAboutFaults) await failMany(new IoFaults(explorerFolder, children), tally);
  else await killMany(new KilledSample(explorerFolder, children), tally);
} finally {
  children.remove();
  await explorerFolder.remove();
  await server?.stop();
}
tally.print();
process.exitCode = tally.violations === 0 ? 0 : 1;
