import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../store/open-store.ts";
import { type Evidence, type ProcessRecord, type RunAccount, readAccounts } from "./evidence.ts";
import { isSamePoint, type Point, parsePoint, pointText } from "./point.ts";
import type { ExplorerFolder } from "./run-schedule.ts";
import type { Scenario } from "./scenario.ts";
import type { Schedule } from "./schedule.ts";
import { seededRandom } from "./seeded-random.ts";
import type { Gate } from "./simulated-process.ts";
import { Witness } from "./witness.ts";
import { databaseIn, type ProcessOutcome, threwOutcome, World, witnessIn } from "./world.ts";

/** The order for a child process, as JSON. */
export type ChildOrder = {
  /** The folder of the world, made by the parent. */
  readonly folder: string;
  /** The number of the process in that world, from 1. */
  readonly life: number;
  /** The text of the point at which it kills itself; null for a child that is left alone. */
  readonly at: string | null;
};

/** Starts a child that calls `runAsChild` with the order, and waits for its end: `died` if a signal ended it. */
export type StartChild = (order: ChildOrder) => Promise<ProcessOutcome>;

/** In the child: runs one process in a world that the parent made. At its point the child ends with SIGKILL. */
export async function runAsChild(
  scenario: Scenario,
  { folder, life: number, at }: ChildOrder,
): Promise<ProcessOutcome> {
  const dyingAt = at === null ? null : parsePoint(at);
  try {
    const options = { folder, random: seededRandom(number), livesBefore: number - 1, isReal: true };
    const world = await World.open(scenario, options);
    try {
      const { life, end } = await world.runProcess(killedAt(folder, number, dyingAt));
      await world.exit(life);
      return end.kind === "returned" ? { kind: "returned", value: asJson(end.value) } : end;
    } finally {
      await world.dispose();
    }
  } catch (error) {
    // A failing disk may keep it from opening the store.
    return threwOutcome(error);
  }
}

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null)) as unknown;
}

/** Its points are written to a file one by one: a killed process leaves nothing but files. */
function killedAt(folder: string, life: number, at: Point | null): Gate {
  const file = pointsFile(folder, life);
  return (_, point) => {
    appendFileSync(file, `${pointText(point)}\n`);
    if (at === null || !isSamePoint(point, at)) return;
    process.kill(process.pid, "SIGKILL");
    // The signal may reach another thread first; this thread must not continue.
    for (;;);
  };
}

function pointsFile(folder: string, life: number): string {
  return join(folder, `life-${life}.points`);
}

/** One child: how it is started, and where it kills itself. */
type PlannedChild = { readonly start: StartChild; readonly at: Point | null };

export type ChildPlan = {
  /** The schedule that the evidence names. */
  readonly schedule: Schedule;
  readonly undisturbed: Evidence | null;
  /** Run one after the other. */
  readonly children: readonly PlannedChild[];
  /** True if the next child is started after this end. */
  readonly continuesAfter: (end: ProcessOutcome) => boolean;
  /** The child that repeats the work at the end. */
  readonly again: StartChild;
};

export type KillSchedule = {
  /** Each process kills itself at its point; the one after the last is left alone. */
  readonly at: readonly Point[];
  readonly start: StartChild;
  readonly undisturbed: Evidence | null;
};

/** Runs a crash schedule with real processes and real kills, and collects the evidence. */
export function runWithKills(
  explorer: ExplorerFolder,
  scenario: Scenario,
  { at, start, undisturbed }: KillSchedule,
): Promise<Evidence> {
  return runInChildren(explorer, scenario, {
    schedule: { kind: "crash", at },
    undisturbed,
    children: [...at, null].map((point) => ({ start, at: point })),
    continuesAfter: (end) => end.kind === "died",
    again: start,
  });
}

let worlds = 0;

/**
 * Makes the folder of a world and lets one child after the other work in it. The evidence has no `writes`: only the
 * children know which writes were made under which epoch.
 */
export async function runInChildren(
  explorer: ExplorerFolder,
  scenario: Scenario,
  { schedule, undisturbed, children, continuesAfter, again }: ChildPlan,
): Promise<Evidence> {
  const folder = join(explorer.folder, `killed-${++worlds}`);
  mkdirSync(folder);
  copyFileSync(explorer.template, databaseIn(folder));
  const witness = new Witness(witnessIn(folder));
  try {
    const lives: ProcessRecord[] = [];
    const moments: (readonly RunAccount[])[] = [];
    for (const { start, at } of children) {
      const life = await runChild(folder, lives.length + 1, start, at);
      lives.push(life);
      if (lives.length === children.length || !continuesAfter(life.end)) break;
      moments.push((await readCopy(folder)).accounts);
    }
    const seen = witness.lines();
    const { accounts } = await readCopy(folder);
    const last = await runChild(folder, lives.length + 1, again, null);
    const end = await readCopy(folder);
    return {
      scenario,
      schedule,
      lives,
      witness: seen,
      moments,
      accounts,
      again: { end: last.end, accounts: end.accounts, witness: witness.lines().slice(seen.length) },
      writes: [],
      noted: null,
      integrity: end.integrity,
      undisturbed,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runChild(
  folder: string,
  number: number,
  start: StartChild,
  at: Point | null,
): Promise<ProcessRecord> {
  const end = await start({ folder, life: number, at: at === null ? null : pointText(at) });
  const file = pointsFile(folder, number);
  const points = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  return { number, reached: points.map(parsePoint), pausedAt: [], end };
}

/**
 * Reads what is stored, from a copy: opening the database itself would start the recovery of the dead process's runs,
 * which the next child must do.
 */
async function readCopy(
  folder: string,
): Promise<{ readonly accounts: readonly RunAccount[]; readonly integrity: readonly string[] }> {
  const copyFolder = join(folder, "copy");
  mkdirSync(copyFolder);
  const [database, copy] = [databaseIn(folder), databaseIn(copyFolder)];
  for (const suffix of ["", "-wal"])
    if (existsSync(`${database}${suffix}`)) copyFileSync(`${database}${suffix}`, `${copy}${suffix}`);
  const store = await openStore(`file:${copy}`);
  try {
    return { accounts: await readAccounts(store), integrity: await store.checkIntegrity() };
  } finally {
    await store.close();
    rmSync(copyFolder, { recursive: true, force: true });
  }
}
