// Real kills by chance, spread over scenarios and their points; for the tests, and for the command that does many.

import type { Evidence } from "../../../src/testing/crash/evidence.ts";
import { INVARIANTS } from "../../../src/testing/crash/invariants/index.ts";
import { judge, type Verdict } from "../../../src/testing/crash/judge.ts";
import { performKilled } from "../../../src/testing/crash/killed.ts";
import { type Laboratory, perform } from "../../../src/testing/crash/perform.ts";
import { type Point, pointText } from "../../../src/testing/crash/point.ts";
import { type Schedule, scheduleText, UNDISTURBED } from "../../../src/testing/crash/schedule.ts";
import { pick, seededRandom } from "../../../src/testing/crash/seeded-random.ts";
import type { KilledChildren } from "./killed-children.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** A schedule that was done with real processes, and what is to be said of it. */
export type KilledTrial = {
  readonly scenario: string;
  readonly schedule: Schedule;
  /** How many processes were killed. */
  readonly kills: number;
  /** A process came to its end before its point. */
  readonly isMissed: boolean;
  readonly evidence: Evidence;
  readonly verdict: Verdict;
};

/** A place to kill at first, and the number from which the second place is chosen. */
export type KilledTask = { readonly scenario: string; readonly point: Point; readonly seed: number };

/** Whoever kills processes that work on the scenarios. */
export class KilledSample {
  readonly #laboratory: Laboratory;
  readonly #children: KilledChildren;
  readonly #undisturbed = new Map<string, Evidence>();

  constructor(laboratory: Laboratory, children: KilledChildren) {
    this.#laboratory = laboratory;
    this.#children = children;
  }

  /** Without an end: one scenario after the other, and of each the points in an order of chance, all before any again. */
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

  /** A kill; then the same one again, and a second one in its recovery. */
  async *trials({ scenario, point, seed }: KilledTask): AsyncGenerator<KilledTrial> {
    const once = await this.trial(scenario, [point]);
    yield once;
    const recovery = once.evidence.lives[1]?.reached ?? [];
    if (recovery.length > 0) yield await this.trial(scenario, [point, pick(seededRandom(seed), recovery)]);
  }

  async trial(scenario: string, at: readonly Point[]): Promise<KilledTrial> {
    const undisturbed = await this.undisturbed(scenario);
    const start = this.#children.starter(scenario);
    const evidence = await performKilled(this.#laboratory, undisturbed.scenario, { at, start, undisturbed });
    const kills = evidence.lives.filter(({ end }) => end.kind === "died").length;
    for (const [i, expected] of at.slice(0, kills).entries()) assertDiedAt(evidence, i, expected);
    const { schedule } = evidence;
    const verdict = await judge(evidence, INVARIANTS);
    return { scenario, schedule, kills, isMissed: kills < at.length, evidence, verdict };
  }

  async undisturbed(name: string): Promise<Evidence> {
    const known = this.#undisturbed.get(name);
    if (known !== undefined) return known;
    const scenario = SCENARIOS[name]?.();
    if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
    const evidence = await perform(this.#laboratory, scenario, UNDISTURBED, null);
    this.#undisturbed.set(name, evidence);
    return evidence;
  }

  async #pointsOf(name: string): Promise<readonly Point[]> {
    return (await this.undisturbed(name)).lives[0]?.reached ?? [];
  }
}

/** Nothing but its own hand killed it. */
function assertDiedAt({ lives }: Evidence, i: number, expected: Point): void {
  const last = lives[i]?.reached.at(-1);
  if (last === undefined || pointText(last) !== pointText(expected))
    throw new Error(
      `A child was to die at ${pointText(expected)}, and died after ${last && pointText(last)}.`,
    );
}

function shuffled<T>(random: () => number, all: readonly T[]): T[] {
  return all
    .map((value) => ({ value, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

/** What was broken, in lines that name the schedule; none where all was kept. */
export function brokenIn({ scenario, schedule, verdict }: KilledTrial): readonly string[] {
  return verdict.broken.flatMap(({ invariant, problems }) =>
    problems.map(({ what }) => `${scenario} [${scheduleText(schedule)}] ${invariant}: ${what}`),
  );
}

/** Has as many work at a time, each on the next task, until there is none left. */
export async function together<T>(
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
