import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Laboratory } from "../../../src/testing/crash/perform.ts";
import { scheduleText } from "../../../src/testing/crash/schedule.ts";
import { PATIENCE } from "../../patience.ts";
import { IS_WHOLE } from "../../whole.ts";
import { KilledChildren, makeLaboratory } from "./killed-children.ts";
import { brokenIn, KilledSample, type KilledTrial, together } from "./killed-sample.ts";
import { SCENARIOS } from "./scenarios/index.ts";

const SEED = 7;
const KILLS = IS_WHOLE ? 40 : 20;

let laboratory: Laboratory;
let children: KilledChildren;

beforeAll(async () => {
  laboratory = await makeLaboratory();
  children = await KilledChildren.make();
});

afterAll(() => {
  children.remove();
  rmSync(laboratory.folder, { recursive: true, force: true });
});

test("a process that is really killed, once or twice, leaves what the next one needs", PATIENCE, async () => {
  const sample = new KilledSample(laboratory, children);
  const tasks = sample.tasks(Object.keys(SCENARIOS), SEED);
  const trials: KilledTrial[] = [];
  const kills = () => trials.reduce((sum, trial) => sum + trial.kills, 0);
  await together(
    2,
    async () => (kills() < KILLS ? (await tasks.next()).value : null),
    async (task) => {
      for await (const trial of sample.trials(task)) trials.push(trial);
    },
  );
  expect(trials.flatMap(brokenIn)).toEqual([]);
  // The points are those of simulated processes: real ones come to them too, and in every second schedule to two.
  const missed = trials.filter(({ isMissed }) => isMissed);
  expect(missed.map(({ scenario, schedule }) => `${scenario}: ${scheduleText(schedule)}`)).toEqual([]);
  expect(kills()).toBeGreaterThanOrEqual(KILLS);
  expect(trials.filter(({ kills: done }) => done === 2).length).toBeGreaterThanOrEqual(KILLS / 4);
});
