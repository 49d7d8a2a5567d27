import { expect, test } from "vitest";
import { PHASES } from "../../src/demo/job-pipeline.ts";
import { type Kill, killsOf } from "../../src/demo/kill-plan.ts";
import { seededRandom } from "../../src/testing/crash/seeded-random.ts";

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed);

function phaseOf(kill: Kill): string {
  return kill.kind === "time" ? "" : kill.phase;
}

test("every phase is killed once, in order, whatever the seed", () => {
  for (const seed of SEEDS) expect(killsOf(seed).map(phaseOf)).toEqual(PHASES);
});

test("the same seed returns the same kills, and another one returns others", () => {
  expect(killsOf(7)).toEqual(killsOf(7));
  const plans = new Set(SEEDS.map((seed) => JSON.stringify(killsOf(seed))));
  expect(plans.size).toBeGreaterThan(290);
});

test("each phase with an external effect is killed inside the service by some seeds, and at each of its points by others", () => {
  const all = SEEDS.flatMap((seed) => killsOf(seed));
  const outside = new Set(
    all.flatMap((kill) => (kill.kind === "outside" ? [`${kill.phase} ${kill.effect}`] : [])),
  );
  expect([...outside].toSorted()).toEqual([
    "crawl page",
    "notify notification",
    "send mail",
    "upload upload",
  ]);
  const points = (phase: string) =>
    new Set(all.flatMap((kill) => (kill.kind === "point" && kill.phase === phase ? [kill.nth] : [])));
  expect(points("send")).toEqual(new Set([1, 2, 3, 4, 5, 6, 7]));
  expect(points("render")).toEqual(new Set([1, 2, 3]));
});

test("the random numbers are in [0, 1), spread out, and the same for the same seed", () => {
  const [one, same, other] = [seededRandom(1), seededRandom(1), seededRandom(2)];
  const numbers = Array.from({ length: 1_000 }, () => one());
  expect(Array.from({ length: 1_000 }, () => same())).toEqual(numbers);
  expect(other()).not.toBe(numbers[0]);
  expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
  for (let tenth = 0; tenth < 10; tenth++)
    expect(numbers.filter((number) => Math.floor(number * 10) === tenth).length).toBeGreaterThan(60);
});
