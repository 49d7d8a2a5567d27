import { afterAll, beforeAll, expect, test } from "vitest";
import { scheduleText } from "../../../src/testing/crash/schedule.ts";
import { PATIENCE } from "../../patience.ts";
import { KilledChildren, makeExplorerFolder, type RemovableFolder } from "./killed-children.ts";
import { KilledSample, type KilledTrial, runConcurrently, violationLines } from "./killed-sample.ts";
import { EXPLORED_NAMES } from "./scenarios/index.ts";

const SEED = 7;
/** `npm run killed`, as in the full test, takes more. */
const KILLS = 20;

let explorerFolder: RemovableFolder;
let children: KilledChildren;

beforeAll(async () => {
  explorerFolder = await makeExplorerFolder();
  children = await KilledChildren.make();
});

afterAll(async () => {
  children.remove();
  await explorerFolder.remove();
});

test("a process that is really killed, once or twice, breaks no promise", PATIENCE, async () => {
  const sample = new KilledSample(explorerFolder, children);
  const tasks = sample.tasks(EXPLORED_NAMES, SEED);
  const trials: KilledTrial[] = [];
  const kills = () => trials.reduce((sum, trial) => sum + trial.kills, 0);
  await runConcurrently(
    2,
    async () => (kills() < KILLS ? (await tasks.next()).value : null),
    async (task) => {
      for await (const trial of sample.trials(task)) trials.push(trial);
    },
  );
  expect(trials.flatMap(violationLines)).toEqual([]);
  // The points come from simulated processes: real ones reach them too, two of them in every second schedule.
  const missed = trials.filter(({ isMissed }) => isMissed);
  expect(missed.map(({ scenario, schedule }) => `${scenario}: ${scheduleText(schedule)}`)).toEqual([]);
  expect(kills()).toBeGreaterThanOrEqual(KILLS);
  expect(trials.filter(({ kills: done }) => done === 2).length).toBeGreaterThanOrEqual(KILLS / 4);
});
