import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import {
  type Course,
  type Evidence,
  type LifeRecord,
  lifeRecord,
  type RunAccount,
  readAccounts,
} from "./evidence.ts";
import { type Gate, NO_GATE } from "./life.ts";
import { isSamePoint, type Point } from "./point.ts";
import { performRandomly } from "./random-course.ts";
import type { Scenario } from "./scenario.ts";
import type { Schedule } from "./schedule.ts";
import { seededRandom } from "./seeded-random.ts";
import { databaseIn, World } from "./world.ts";

/** Where worlds are made: a folder of the explorer's own, and an empty database to copy. */
export type Laboratory = { readonly folder: string; readonly template: string };

let worlds = 0;

/** Makes a world, does in it what the schedule says, and gathers what there is to judge by. */
export async function perform(
  laboratory: Laboratory,
  scenario: Scenario,
  schedule: Schedule,
  undisturbed: Evidence | null,
): Promise<Evidence> {
  const random = seededRandom(schedule.kind === "random" ? schedule.seed : 1);
  const folder = `${laboratory.folder}/world-${++worlds}`;
  mkdirSync(folder);
  copyFileSync(laboratory.template, databaseIn(folder));
  const world = await World.open(scenario, { folder, random });
  try {
    const { lives, moments } = await course(world, schedule, random);
    const witness = world.witness.lines();
    const accounts = await readAccounts(world.observer);
    const last = await world.live(NO_GATE);
    return {
      scenario,
      schedule,
      lives,
      witness,
      moments,
      accounts,
      again: {
        end: last.end,
        accounts: await readAccounts(world.observer),
        witness: world.witness.lines().slice(witness.length),
      },
      writes: world.writes,
      noted: world.noted,
      integrity: await world.observer.checkIntegrity(),
      undisturbed,
    };
  } finally {
    await world.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

function course(world: World, schedule: Schedule, random: () => number): Promise<Course> {
  switch (schedule.kind) {
    case "crash":
      return crashAt(world, schedule.at);
    case "pause":
      return pauseAt(world, schedule.at, schedule.wake);
    case "close":
      return closeAt(world, schedule.at);
    case "disk":
      return failDiskAt(world, schedule.at);
    case "random":
      return performRandomly(world, random);
  }
}

/** One process after the other, each until its point; the last one to the end. */
async function crashAt(world: World, points: readonly Point[]): Promise<Course> {
  const lives: LifeRecord[] = [];
  const moments: (readonly RunAccount[])[] = [];
  for (const point of [...points, null]) {
    const { life, end } = await world.live(point === null ? NO_GATE : dieAt(point));
    lives.push(lifeRecord(life, end));
    if (end.kind !== "died") {
      await world.leave(life);
      break;
    }
    await world.bury(life);
    moments.push(await readAccounts(world.observer));
  }
  return { lives, moments };
}

/**
 * The first process is stopped, and its lease runs out; a second one takes the run. When that one has come to its point, or
 * to its end, the first wakes and goes on as if nothing had been.
 */
async function pauseAt(world: World, at: Point, wake: Point | null): Promise<Course> {
  const stopped = Promise.withResolvers<void>();
  const first = await world.start((life, point) => {
    if (!isSamePoint(point, at)) return;
    life.pause();
    stopped.resolve();
  });
  const come = await world.until(Promise.race([stopped.promise, first.end]));
  if (come !== undefined) {
    await world.leave(first.life);
    return { lives: [lifeRecord(first.life, come)], moments: [] };
  }
  const moment = await readAccounts(world.observer);
  world.time.pass(world.leaseMs + 1);
  const second = await world.live((_, point) => {
    if (wake !== null && isSamePoint(point, wake)) first.life.wake();
  });
  first.life.wake();
  const end = await world.until(first.end);
  for (const { life } of [first, second]) await world.leave(life);
  return { lives: [lifeRecord(first.life, end), lifeRecord(second.life, second.end)], moments: [moment] };
}

/** The first process says goodbye at its point, and ends when it has; a second one finds what it left. */
async function closeAt(world: World, at: Point): Promise<Course> {
  const closed = Promise.withResolvers<void>();
  const first = await world.start((life, point) => {
    if (isSamePoint(point, at)) void world.close(life).finally(closed.resolve);
  });
  const isReached = () => first.life.reached.some((point) => isSamePoint(point, at));
  const end = await world.until(first.end);
  if (!isReached()) {
    await world.leave(first.life);
    return { lives: [lifeRecord(first.life, end)], moments: [] };
  }
  await world.until(closed.promise);
  await world.bury(first.life);
  const moment = await readAccounts(world.observer);
  const second = await world.live(NO_GATE);
  await world.leave(second.life);
  return {
    lives: [lifeRecord(first.life, { kind: "died" }), lifeRecord(second.life, second.end)],
    moments: [moment],
  };
}

/** The disk fails the process at its point, and is well again when it works once more: with the same store, in the same process. */
async function failDiskAt(world: World, at: Point): Promise<Course> {
  const { life, end } = await world.live((failed, point) => {
    if (isSamePoint(point, at)) failed.isDiskFull = true;
  });
  const isReached = life.isDiskFull;
  life.isDiskFull = false;
  const moments = isReached ? [await readAccounts(world.observer)] : [];
  const last = isReached ? await world.until(world.workAgain(life)) : end;
  await world.leave(life);
  return { lives: [lifeRecord(life, last)], moments };
}

function dieAt(at: Point): Gate {
  return (life, point) => {
    if (isSamePoint(point, at)) life.die();
  };
}
