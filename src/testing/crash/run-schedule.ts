import { mkdirSync, rmSync } from "node:fs";
import type { CrashDatabase } from "./databases/crash-database.ts";
import {
  type Evidence,
  type LiveTwin,
  type ProcessRecord,
  processRecord,
  type RunAccount,
  readAccounts,
  readDeleted,
  readSchedules,
  type ScheduleOutcome,
} from "./evidence.ts";
import { isSamePoint, type Point } from "./point.ts";
import { runAtRandom } from "./random-schedule.ts";
import type { Scenario } from "./scenario.ts";
import { type Schedule, scheduleText, UNDISTURBED } from "./schedule.ts";
import { seededRandom } from "./seeded-random.ts";
import { type Gate, NO_GATE } from "./simulated-process.ts";
import { viewerConducts } from "./viewers/viewer-conduct.ts";
import { World, type WorldOptions } from "./world.ts";

/** Where worlds are made: a folder of the explorer, and its databases. */
export type ExplorerFolder = { readonly folder: string; readonly database: CrashDatabase };

let worlds = 0;

/** Makes a world, runs the schedule in it, and collects the evidence. */
export async function runSchedule(
  explorer: ExplorerFolder,
  scenario: Scenario,
  schedule: Schedule,
  undisturbed: Evidence | null,
): Promise<Evidence> {
  const viewers = viewerConducts(scheduleText(schedule), scenario.viewers ?? 0, seededRandom);
  const evidence = await inWorld(explorer, scenario, schedule, { viewers }, async (world, outcome) => {
    await world.viewers?.finish();
    return collect(world, scenario, schedule, outcome);
  });
  const twins: LiveTwin[] = [];
  for (const live of viewers.length === 0 ? [] : twinsOf(schedule))
    twins.push({ live, accounts: await accountsWith(explorer, scenario, schedule, live) });
  return { database: explorer.database.kind, ...evidence, twins, undisturbed };
}

/** What is stored after the same schedule, without viewers. */
function accountsWith(
  explorer: ExplorerFolder,
  scenario: Scenario,
  schedule: Schedule,
  live: LiveTwin["live"],
): Promise<readonly RunAccount[]> {
  return inWorld(explorer, scenario, schedule, { live }, (world) => readAccounts(world.observer));
}

/** Both for the undisturbed schedule, and one of them for any other: it takes as long as the schedule itself. */
function twinsOf(schedule: Schedule): readonly LiveTwin["live"][] {
  const text = scheduleText(schedule);
  if (text === scheduleText(UNDISTURBED)) return ["off", "fails"];
  return text.length % 2 === 0 ? ["off"] : ["fails"];
}

async function inWorld<T>(
  explorer: ExplorerFolder,
  scenario: Scenario,
  schedule: Schedule,
  options: Pick<WorldOptions, "viewers" | "live">,
  work: (world: World, outcome: ScheduleOutcome) => Promise<T>,
): Promise<T> {
  const random = seededRandom(schedule.kind === "random" ? schedule.seed : 1);
  const folder = `${explorer.folder}/world-${++worlds}`;
  mkdirSync(folder);
  const database = await explorer.database.newWorld(folder);
  const world = await World.open(scenario, { folder, database, random, ...options });
  try {
    return await work(world, await disturb(world, schedule, random));
  } finally {
    await world.dispose();
    await database.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function collect(
  world: World,
  scenario: Scenario,
  schedule: Schedule,
  { lives, moments }: ScheduleOutcome,
): Promise<Omit<Evidence, "database" | "undisturbed" | "twins">> {
  const witness = world.witness.lines();
  const accounts = await readAccounts(world.observer);
  const endedAt = world.time.now();
  const schedules = await readSchedules(world.observer);
  const webhooks = await world.observer.listWebhooks();
  const deleted = await readDeleted(world.observer);
  const last = await world.runProcess(NO_GATE);
  return {
    scenario,
    schedule,
    lives,
    witness,
    moments,
    accounts,
    schedules,
    webhooks,
    deleted,
    viewers: world.viewers?.records ?? [],
    claims: world.ownership.claims,
    enqueued: world.ownership.enqueued,
    workers: world.ownership.workers,
    again: {
      end: last.end,
      accounts: await readAccounts(world.observer),
      witness: world.witness.lines().slice(witness.length),
    },
    writes: world.writes,
    noted: world.noted,
    endedAt,
    integrity: await world.observer.checkIntegrity(),
  };
}

function disturb(world: World, schedule: Schedule, random: () => number): Promise<ScheduleOutcome> {
  switch (schedule.kind) {
    case "crash":
      return runWithCrashes(world, schedule.at);
    case "pause":
      return runWithPause(world, schedule.at, schedule.wake);
    case "close":
      return runWithClose(world, schedule.at);
    case "disk":
      return runWithFullDisk(world, schedule.at);
    case "random":
      return runAtRandom(world, random);
  }
}

/** One process after the other, each until its point; the last one until it ends. */
async function runWithCrashes(world: World, points: readonly Point[]): Promise<ScheduleOutcome> {
  const lives: ProcessRecord[] = [];
  const moments: (readonly RunAccount[])[] = [];
  for (const point of [...points, null]) {
    const { life, end } = await world.runProcess(point === null ? NO_GATE : dieAt(point));
    lives.push(processRecord(life, end));
    if (end.kind !== "died") {
      await world.exit(life);
      break;
    }
    await world.crash(life);
    moments.push(await readAccounts(world.observer));
  }
  return { lives, moments };
}

/**
 * The first process is stopped, and its lease expires; a second one takes the run. When the second has reached `wake`, or
 * has ended, the first wakes and continues without having noticed.
 */
async function runWithPause(world: World, at: Point, wake: Point | null): Promise<ScheduleOutcome> {
  const stopped = Promise.withResolvers<void>();
  const first = await world.start((life, point) => {
    if (!isSamePoint(point, at)) return;
    life.pause();
    stopped.resolve();
  });
  const endedBefore = await world.until(Promise.race([stopped.promise, first.end]));
  if (endedBefore !== undefined) {
    await world.exit(first.life);
    return { lives: [processRecord(first.life, endedBefore)], moments: [] };
  }
  // Its other calls are served to their end: what is read meanwhile would be of two moments.
  await world.untilQuiet();
  const moment = await readAccounts(world.observer);
  world.time.advance(world.leaseMs + 1);
  const second = await world.runProcess((_, point) => {
    if (wake !== null && isSamePoint(point, wake)) first.life.wake();
  });
  first.life.wake();
  const end = await world.until(first.end);
  for (const { life } of [first, second]) await world.exit(life);
  return {
    lives: [processRecord(first.life, end), processRecord(second.life, second.end)],
    moments: [moment],
  };
}

/** The first process closes its store at its point, and then ends; a second one continues. */
async function runWithClose(world: World, at: Point): Promise<ScheduleOutcome> {
  const closed = Promise.withResolvers<void>();
  const first = await world.start((life, point) => {
    if (isSamePoint(point, at)) void world.close(life).finally(closed.resolve);
  });
  const isReached = () => first.life.reached.some((point) => isSamePoint(point, at));
  const end = await world.until(first.end);
  if (!isReached()) {
    await world.exit(first.life);
    return { lives: [processRecord(first.life, end)], moments: [] };
  }
  await world.until(closed.promise);
  await world.crash(first.life);
  const moment = await readAccounts(world.observer);
  const second = await world.runProcess(NO_GATE);
  await world.exit(second.life);
  return {
    lives: [processRecord(first.life, { kind: "died" }), processRecord(second.life, second.end)],
    moments: [moment],
  };
}

/** The database fails from its point on, and works again when the same process works again, with the same store. */
async function runWithFullDisk(world: World, at: Point): Promise<ScheduleOutcome> {
  let isReached = false;
  const { life, end } = await world.runProcess((failed, point) => {
    if (!isSamePoint(point, at)) return;
    isReached = true;
    world.fail(failed, point);
  });
  world.recover(life);
  const moments = isReached ? [await readAccounts(world.observer)] : [];
  const last = isReached ? await world.until(world.workAgain(life)) : end;
  await world.exit(life);
  return { lives: [processRecord(life, last)], moments };
}

function dieAt(at: Point): Gate {
  return (life, point) => {
    if (isSamePoint(point, at)) life.die();
  };
}
