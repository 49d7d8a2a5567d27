import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../store/open-store.ts";
import { type Evidence, type LifeRecord, type RunAccount, readAccounts } from "./evidence.ts";
import type { Gate } from "./life.ts";
import type { Laboratory } from "./perform.ts";
import { isSamePoint, type Point, parsePoint, pointText } from "./point.ts";
import type { Scenario } from "./scenario.ts";
import type { Schedule } from "./schedule.ts";
import { seededRandom } from "./seeded-random.ts";
import { Witness } from "./witness.ts";
import { databaseIn, type LifeEnd, threw, World, witnessIn } from "./world.ts";

/** What a child process is to do; it can be written as JSON. */
export type KilledOrder = {
  /** The world's, made by the parent. */
  readonly folder: string;
  /** Which process of that world it is, from 1. */
  readonly life: number;
  /** The point at which it kills itself, by its text; null for one that is left alone. */
  readonly at: string | null;
};

/** Starts a child that calls `liveHere` with the order, and waits for its end: `died` where a signal ended it. */
export type StartChild = (order: KilledOrder) => Promise<LifeEnd>;

/** In the child: lives one life in a world that others made. At its point the process is gone, with SIGKILL. */
export async function liveHere(
  scenario: Scenario,
  { folder, life: number, at }: KilledOrder,
): Promise<LifeEnd> {
  const dyingAt = at === null ? null : parsePoint(at);
  try {
    const place = { folder, random: seededRandom(number), livesBefore: number - 1, isReal: true };
    const world = await World.open(scenario, place);
    try {
      const { life, end } = await world.live(killedAt(folder, number, dyingAt));
      await world.leave(life);
      return end.kind === "returned" ? { kind: "returned", value: asJson(end.value) } : end;
    } finally {
      await world.dispose();
    }
  } catch (error) {
    // A disk that fails may keep it from opening anything.
    return threw(error);
  }
}

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null)) as unknown;
}

/** Its points are written down one by one: of a process that is killed, nothing but files is left. */
function killedAt(folder: string, life: number, at: Point | null): Gate {
  const file = pointsFile(folder, life);
  return (_, point) => {
    appendFileSync(file, `${pointText(point)}\n`);
    if (at === null || !isSamePoint(point, at)) return;
    process.kill(process.pid, "SIGKILL");
    // The signal may reach another thread first; this one must not go a step further.
    for (;;);
  };
}

function pointsFile(folder: string, life: number): string {
  return join(folder, `life-${life}.points`);
}

/** One child: how it is started, and where it dies. */
export type ChildLife = { readonly start: StartChild; readonly at: Point | null };

export type ChildCourse = {
  /** What the evidence says that was done. */
  readonly schedule: Schedule;
  readonly undisturbed: Evidence | null;
  /** One after the other. */
  readonly lives: readonly ChildLife[];
  /** Whether the next one is started after such an end. */
  readonly goesOn: (end: LifeEnd) => boolean;
  /** The one that does the same once more in the end. */
  readonly again: StartChild;
};

export type KilledPlan = {
  /** Each process kills itself at its point; the one after the last is left alone. */
  readonly at: readonly Point[];
  readonly start: StartChild;
  readonly undisturbed: Evidence | null;
};

/** Does a crash schedule with real processes and real kills, and gathers what there is to judge by. */
export function performKilled(
  laboratory: Laboratory,
  scenario: Scenario,
  { at, start, undisturbed }: KilledPlan,
): Promise<Evidence> {
  return performInChildren(laboratory, scenario, {
    schedule: { kind: "crash", at },
    undisturbed,
    lives: [...at, null].map((point) => ({ start, at: point })),
    goesOn: (end) => end.kind === "died",
    again: start,
  });
}

let worlds = 0;

/**
 * Makes a world's folder and has one child after the other work in it. Which writes were made under which epoch is known
 * to the children alone: the evidence has none.
 */
export async function performInChildren(
  laboratory: Laboratory,
  scenario: Scenario,
  { schedule, undisturbed, lives: planned, goesOn, again }: ChildCourse,
): Promise<Evidence> {
  const folder = join(laboratory.folder, `killed-${++worlds}`);
  mkdirSync(folder);
  copyFileSync(laboratory.template, databaseIn(folder));
  const witness = new Witness(witnessIn(folder));
  try {
    const lives: LifeRecord[] = [];
    const moments: (readonly RunAccount[])[] = [];
    for (const { start, at } of planned) {
      const life = await lived(folder, lives.length + 1, start, at);
      lives.push(life);
      if (lives.length === planned.length || !goesOn(life.end)) break;
      moments.push((await lookAt(folder)).accounts);
    }
    const seen = witness.lines();
    const { accounts } = await lookAt(folder);
    const last = await lived(folder, lives.length + 1, again, null);
    const end = await lookAt(folder);
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

async function lived(
  folder: string,
  number: number,
  start: StartChild,
  at: Point | null,
): Promise<LifeRecord> {
  const end = await start({ folder, life: number, at: at === null ? null : pointText(at) });
  const file = pointsFile(folder, number);
  const points = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  return { number, reached: points.map(parsePoint), pausedAt: [], end };
}

/**
 * What the database has. A copy is opened, since whoever opens the database itself sets about recovering what the dead
 * left: that is left to the next child.
 */
async function lookAt(
  folder: string,
): Promise<{ readonly accounts: readonly RunAccount[]; readonly integrity: readonly string[] }> {
  const looking = join(folder, "looked-at");
  mkdirSync(looking);
  const [database, copy] = [databaseIn(folder), databaseIn(looking)];
  for (const suffix of ["", "-wal"])
    if (existsSync(`${database}${suffix}`)) copyFileSync(`${database}${suffix}`, `${copy}${suffix}`);
  const store = await openStore(`file:${copy}`);
  try {
    return { accounts: await readAccounts(store), integrity: await store.checkIntegrity() };
  } finally {
    await store.close();
    rmSync(looking, { recursive: true, force: true });
  }
}
