import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { WorldAddress, WorldDatabase } from "./databases/crash-database.ts";
import { worldDatabaseAt } from "./databases/index.ts";
import {
  type Evidence,
  type ProcessRecord,
  type RunAccount,
  readAccounts,
  readDeleted,
  readSchedules,
} from "./evidence.ts";
import { isSamePoint, type Point, parsePoint, pointText } from "./point.ts";
import type { ExplorerFolder } from "./run-schedule.ts";
import type { Scenario } from "./scenario.ts";
import type { Schedule } from "./schedule.ts";
import { seededRandom } from "./seeded-random.ts";
import type { Gate } from "./simulated-process.ts";
import { Witness } from "./witness.ts";
import { type ProcessOutcome, threwOutcome, World, witnessIn } from "./world.ts";

/** The order for a child process, as JSON. */
export type ChildOrder = {
  /** The folder of the world, made by the parent. */
  readonly folder: string;
  /** The database of the world. */
  readonly database: WorldAddress;
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
  { folder, database: address, life: number, at }: ChildOrder,
): Promise<ProcessOutcome> {
  const dyingAt = at === null ? null : parsePoint(at);
  try {
    const database = worldDatabaseAt(folder, address);
    const random = seededRandom(number);
    const world = await World.open(scenario, { folder, database, random, livesBefore: number - 1 });
    try {
      const { life, end } = await world.runProcess(killedAt(folder, number, dyingAt));
      await world.exit(life);
      return end.kind === "returned" ? { kind: "returned", value: asJson(end.value) } : end;
    } finally {
      await world.dispose();
      await database.remove();
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
  const database = await explorer.database.newWorld(folder);
  const runChild = (start: StartChild, at: Point | null, number: number) =>
    runOneChild({ folder, database: database.address, life: number, at: textOf(at) }, start);
  const witness = new Witness(witnessIn(folder));
  try {
    const lives: ProcessRecord[] = [];
    const moments: (readonly RunAccount[])[] = [];
    for (const { start, at } of children) {
      const life = await runChild(start, at, lives.length + 1);
      lives.push(life);
      if (lives.length === children.length || !continuesAfter(life.end)) break;
      moments.push((await readStored(database)).accounts);
    }
    const seen = witness.lines();
    const { accounts, schedules, webhooks, deleted } = await readStored(database);
    const last = await runChild(again, null, lives.length + 1);
    const end = await readStored(database);
    return {
      database: database.kind,
      scenario,
      schedule,
      lives,
      witness: seen,
      moments,
      accounts,
      schedules,
      webhooks,
      deleted,
      viewers: [],
      twins: [],
      claims: [],
      enqueued: [],
      workers: [],
      again: { end: last.end, accounts: end.accounts, witness: witness.lines().slice(seen.length) },
      writes: [],
      noted: null,
      endedAt: null,
      integrity: end.integrity,
      undisturbed,
    };
  } finally {
    await database.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runOneChild(order: ChildOrder, start: StartChild): Promise<ProcessRecord> {
  const end = await start(order);
  const file = pointsFile(order.folder, order.life);
  const points = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  return { number: order.life, reached: points.map(parsePoint), pausedAt: [], end };
}

function textOf(point: Point | null): string | null {
  return point === null ? null : pointText(point);
}

function readStored(
  database: WorldDatabase,
): Promise<Pick<Evidence, "accounts" | "schedules" | "webhooks" | "deleted" | "integrity">> {
  return database.read(async (store) => ({
    accounts: await readAccounts(store),
    schedules: await readSchedules(store),
    webhooks: await store.listWebhooks(),
    deleted: await readDeleted(store),
    integrity: await store.checkIntegrity(),
  }));
}
