// Random real kills, spread over scenarios and their points; for the tests, and for the command that runs many.

import { checkInvariants, type InvariantResults } from "../../../src/testing/crash/check-invariants.ts";
import type { Evidence } from "../../../src/testing/crash/evidence.ts";
import { INVARIANTS } from "../../../src/testing/crash/invariants/index.ts";
import { type Point, pointText } from "../../../src/testing/crash/point.ts";
import { runWithKills } from "../../../src/testing/crash/run-in-children.ts";
import { type ExplorerFolder, runSchedule } from "../../../src/testing/crash/run-schedule.ts";
import { type Schedule, scheduleText, UNDISTURBED } from "../../../src/testing/crash/schedule.ts";
import { pick, seededRandom } from "../../../src/testing/crash/seeded-random.ts";
import type { KilledChildren } from "./killed-children.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** A schedule that was run with real processes, and its results. */
export type KilledTrial = {
  readonly scenario: string;
  readonly schedule: Schedule;
  /** The number of processes that were killed. */
  readonly kills: number;
  /** True if a process ended before its point. */
  readonly isMissed: boolean;
  readonly evidence: Evidence;
  readonly results: InvariantResults;
};

/** The point of the first kill, and the seed from which the second is chosen. */
export type KilledTask = { readonly scenario: string; readonly point: Point; readonly seed: number };

/** Kills processes that work on the scenarios. */
export class KilledSample {
  readonly #explorerFolder: ExplorerFolder;
  readonly #children: KilledChildren;
  readonly #undisturbed = new Map<string, Evidence>();

  constructor(explorerFolder: ExplorerFolder, children: KilledChildren) {
    this.#explorerFolder = explorerFolder;
    this.#children = children;
  }

  /** An endless sequence: one scenario after the other, each with its points in random order, all before any repeats. */
  async *tasks(names: readonly string[], seed: number): AsyncGenerator<KilledTask, never> {
    const random = seededRandom(seed);
    const left = new Map<string, Point[]>();
    for (let number = 0; ; number++) {
      const scenario = names[number % names.length] ?? "";
      let points = left.get(scenario) ?? [];
      if (points.length === 0) points = shuffled(random, await this.#pointsOf(scenario));
      const point = points.pop();
      left.set(scenario, points);
      if (point === undefined) throw new Error(`${scenario} has no points.`);
      yield { scenario, point, seed: seed + number };
    }
  }

  /** One kill; then the same kill again, with a second one in the recovery. */
  async *trials({ scenario, point, seed }: KilledTask): AsyncGenerator<KilledTrial> {
    const once = await this.trial(scenario, [point]);
    yield once;
    const recovery = once.evidence.lives[1]?.reached ?? [];
    if (recovery.length > 0) yield await this.trial(scenario, [point, pick(seededRandom(seed), recovery)]);
  }

  async trial(scenario: string, at: readonly Point[]): Promise<KilledTrial> {
    const undisturbed = await this.undisturbed(scenario);
    const start = this.#children.starter(scenario);
    const evidence = await runWithKills(this.#explorerFolder, undisturbed.scenario, {
      at,
      start,
      undisturbed,
    });
    const kills = evidence.lives.filter(({ end }) => end.kind === "died").length;
    for (const [i, expected] of at.slice(0, kills).entries()) assertDiedAt(evidence, i, expected);
    const { schedule } = evidence;
    const results = await checkInvariants(evidence, INVARIANTS);
    return { scenario, schedule, kills, isMissed: kills < at.length, evidence, results };
  }

  async undisturbed(name: string): Promise<Evidence> {
    const known = this.#undisturbed.get(name);
    if (known !== undefined) return known;
    const scenario = SCENARIOS[name]?.();
    if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
    const evidence = await runSchedule(this.#explorerFolder, scenario, UNDISTURBED, null);
    this.#undisturbed.set(name, evidence);
    return evidence;
  }

  async #pointsOf(name: string): Promise<readonly Point[]> {
    return (await this.undisturbed(name)).lives[0]?.reached ?? [];
  }
}

/** Checks that the child killed itself, at its point. */
function assertDiedAt({ lives }: Evidence, i: number, expected: Point): void {
  const last = lives[i]?.reached.at(-1);
  if (last === undefined || pointText(last) !== pointText(expected))
    throw new Error(
      `A child should die at ${pointText(expected)}, but died after ${last && pointText(last)}.`,
    );
}

function shuffled<T>(random: () => number, all: readonly T[]): T[] {
  return all
    .map((value) => ({ value, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

/** One line for each problem, with the schedule; none if every promise was kept. */
export function violationLines({ scenario, schedule, results }: KilledTrial): readonly string[] {
  return results.broken.flatMap(({ invariant, problems }) =>
    problems.map(({ what }) => `${scenario} [${scheduleText(schedule)}] ${invariant}: ${what}`),
  );
}

/** Runs this many workers at once, each on the next task, until none is left. */
export async function runConcurrently<T>(
  workers: number,
  next: () => Promise<T | null>,
  work: (task: T) => Promise<void>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (let task = await next(); task !== null; task = await next()) await work(task);
    }),
  );
}
