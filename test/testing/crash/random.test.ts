import { afterAll, expect, test } from "vitest";
import { crashExplorer, type Evidence, parseSchedule, scheduleText } from "../../../src/testing/index.ts";
import { IS_WHOLE } from "../../whole.ts";
import { LABORATORY } from "./laboratory.ts";
import { CourseTally, courseLog, endsAsItMay, RANDOM_SCENARIOS } from "./random-course-log.ts";

/** Of each scenario. */
const COURSES = IS_WHOLE ? 9 : 4;
const names = RANDOM_SCENARIOS.map(([name]) => name);
const tally = new CourseTally();

function scenarioOf(name: string) {
  const found = RANDOM_SCENARIOS.find(([known]) => known === name);
  if (found === undefined) throw new Error(`There is no scenario ${name}.`);
  return found[1]();
}

async function evidenceOf(name: string, seed: number): Promise<Evidence> {
  const seen: Evidence[] = [];
  await crashExplorer({
    ...LABORATORY,
    ...scenarioOf(name),
    schedule: { kind: "random", seed },
    invariants: { kept: (evidence) => void seen.push(evidence) },
  });
  const last = seen.at(-1);
  if (last?.schedule.kind !== "random") throw new Error("The course was not gone.");
  return last;
}

test.for(names.map((name, i) => [name, i] as const))(
  "%s keeps every promise, whatever happens to several processes at once",
  async ([name, i]) => {
    const report = await crashExplorer({
      ...LABORATORY,
      ...scenarioOf(name),
      modes: ["random"],
      courses: COURSES,
      // Every scenario has courses of its own.
      seed: 1 + i * COURSES,
      invariants: {
        "ends-as-it-may": endsAsItMay,
        counted: (evidence) => {
          if (evidence.schedule.kind === "random") tally.add(evidence);
          return null;
        },
      },
    });
    report.assertKept();
    expect(report.counts.byMode.random).toBe(COURSES);
  },
);

test("the courses had crashes, stops, takeovers and failing providers in them", () => {
  expect(tally.courses).toBe(names.length * COURSES);
  expect(names.length).toBeGreaterThan(20);
  expect(tally.crashes).toBeGreaterThan(tally.courses);
  expect(tally.stood).toBeGreaterThan(tally.courses);
  expect(tally.overtaken).toBeGreaterThan(tally.courses / 10);
  expect(tally.unanswered).toBeGreaterThan(tally.courses / 4);
  expect(tally.lives).toBeGreaterThan(4);
});

test.for(Array.from({ length: IS_WHOLE ? 20 : 8 }, (_, i) => i + 1))(
  "seed %i makes the same course twice, step by step",
  async (seed) => {
    const name = names[(seed * 7) % names.length] ?? "one-tool";
    const [first, second] = [await evidenceOf(name, seed), await evidenceOf(name, seed)];
    expect(first.lives.length).toBeGreaterThan(1);
    expect(courseLog(second)).toBe(courseLog(first));
  },
);

test("other seeds make other courses", async () => {
  const logs = [
    courseLog(await evidenceOf("parallel-mixed", 1)),
    courseLog(await evidenceOf("parallel-mixed", 2)),
  ];
  expect(new Set(logs).size).toBe(2);
});

test("a course that breaks a promise is found, and its seed alone shows it again", async () => {
  const exploring = {
    ...LABORATORY,
    ...scenarioOf("parallel-mixed"),
    invariants: {
      "nobody-is-overtaken": ({ lives }: Evidence) => {
        const overtaken = lives.filter(({ end }) => end.kind === "threw" && end.name === "LeaseLostError");
        return overtaken.length === 0
          ? null
          : `${overtaken.map(({ number }) => number).join()} lost the run.`;
      },
    },
  };
  const [found] = (await crashExplorer({ ...exploring, modes: ["random"], courses: 10 })).violations;
  if (found === undefined) throw new Error("Nobody was overtaken in any course.");
  const text = scheduleText(found.evidence.schedule);
  expect(text).toMatch(/^seed \d+$/);

  const [shown] = (await crashExplorer({ ...exploring, schedule: parseSchedule(text) })).violations;
  expect(shown?.problems).toEqual(found.problems);
  if (shown !== undefined) expect(courseLog(shown.evidence)).toBe(courseLog(found.evidence));
});

afterAll(() => console.log(tally.toString()));
