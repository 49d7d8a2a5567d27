import { afterAll, expect, test } from "vitest";
import {
  crashExplorer,
  type Evidence,
  parseSchedule,
  scheduleText,
} from "../../../src/testing/crash/index.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { EXPLORER_FOLDER } from "./explored-scenario.ts";
import { endsAsExpected, evidenceLog, RANDOM_SCENARIOS, ScheduleTally } from "./random-schedule-log.ts";
import { EXPLORED_NAMES } from "./scenarios/index.ts";

/** Random schedules of each scenario; `npm run explore -- --modes random`, as in the full test, takes more. */
const SCHEDULES = 2;
const names = RANDOM_SCENARIOS.map(([name]) => name).filter(
  (name) => !/^(stream|watched)-/.test(name) || EXPLORED_NAMES.includes(name),
);
const tally = new ScheduleTally();

function scenarioOf(name: string) {
  const found = RANDOM_SCENARIOS.find(([known]) => known === name);
  if (found === undefined) throw new Error(`There is no scenario ${name}.`);
  return found[1]();
}

async function evidenceOf(name: string, seed: number): Promise<Evidence> {
  const seen: Evidence[] = [];
  await crashExplorer({
    ...EXPLORER_FOLDER,
    ...scenarioOf(name),
    schedule: { kind: "random", seed },
    invariants: { kept: (evidence) => void seen.push(evidence) },
  });
  const last = seen.at(-1);
  if (last?.schedule.kind !== "random") throw new Error("The random schedule was not run.");
  return last;
}

test.for(names.map((name, i) => [name, i] as const))(
  "%s keeps every promise, whatever happens to several processes at once",
  async ([name, i]) => {
    const report = await crashExplorer({
      ...EXPLORER_FOLDER,
      ...scenarioOf(name),
      modes: ["random"],
      courses: SCHEDULES,
      // Every scenario has its own seeds.
      seed: 1 + i * SCHEDULES,
      invariants: {
        "ends-as-expected": endsAsExpected,
        counted: (evidence) => {
          if (evidence.schedule.kind === "random") tally.add(evidence);
          return null;
        },
      },
    });
    report.assertKept();
    expect(report.counts.byMode.random).toBe(SCHEDULES);
  },
);

test("the random schedules had crashes, stops, takeovers and failing providers in them", () => {
  expect(tally.schedules).toBe(names.length * SCHEDULES);
  expect(names.length).toBeGreaterThan(20);
  expect(tally.crashes).toBeGreaterThan(tally.schedules);
  expect(tally.stops).toBeGreaterThan(tally.schedules);
  expect(tally.overtaken).toBeGreaterThan(tally.schedules / 10);
  expect(tally.unanswered).toBeGreaterThan(tally.schedules / 4);
  expect(tally.lives).toBeGreaterThan(4);
});

test.for(Array.from({ length: IS_FULL_TEST ? 20 : 5 }, (_, i) => i + 1))(
  "seed %i makes the same schedule twice, step by step",
  async (seed) => {
    const name = names[(seed * 7) % names.length] ?? "one-tool";
    const [first, second] = [await evidenceOf(name, seed), await evidenceOf(name, seed)];
    expect(first.lives.length).toBeGreaterThan(1);
    expect(evidenceLog(second)).toBe(evidenceLog(first));
  },
);

test("other seeds make other schedules", async () => {
  const logs = [
    evidenceLog(await evidenceOf("parallel-mixed", 1)),
    evidenceLog(await evidenceOf("parallel-mixed", 2)),
  ];
  expect(new Set(logs).size).toBe(2);
});

test("a random schedule that breaks a promise is found, and its seed alone reproduces it", async () => {
  const exploring = {
    ...EXPLORER_FOLDER,
    ...scenarioOf("parallel-mixed"),
    invariants: {
      "no-process-is-overtaken": ({ lives }: Evidence) => {
        const overtaken = lives.filter(({ end }) => end.kind === "threw" && end.name === "LeaseLostError");
        return overtaken.length === 0
          ? null
          : `${overtaken.map(({ number }) => number).join()} lost the run.`;
      },
    },
  };
  const [found] = (await crashExplorer({ ...exploring, modes: ["random"], courses: 10 })).violations;
  if (found === undefined) throw new Error("No process was overtaken in any schedule.");
  const text = scheduleText(found.evidence.schedule);
  expect(text).toMatch(/^seed \d+$/);

  const [shown] = (await crashExplorer({ ...exploring, schedule: parseSchedule(text) })).violations;
  expect(shown?.problems).toEqual(found.problems);
  if (shown !== undefined) expect(evidenceLog(shown.evidence)).toBe(evidenceLog(found.evidence));
});

afterAll(() => console.log(tally.toString()));
