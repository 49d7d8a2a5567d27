// What a run may not use any more, or not in time, keeps it from going on; the forecast says so in the same words.

import { describe, expect, it } from "vitest";
import { Deadline, Pipeline, Step } from "../../../src/index.ts";
import { PATIENCE } from "../../patience.ts";
import { asking } from "../call/call-fixture.ts";
import { jobSpec } from "../job-fixture.ts";
import type { Sight } from "./forecast-fixture.ts";
import { everyInterruption, NOWHERE, type Scenario, type World } from "./forecast-world.ts";

const counted = (world: World, name: string) =>
  Step.run(name, () => {
    world.touch();
    return name;
  });

/** Three steps; the second is an agent with two turns and three calls. */
const worker = (maxTurns: number) => (world: World) =>
  Pipeline.of(
    "p",
    counted(world, "first"),
    Step.granular(
      "work",
      world.agent([
        asking(["keyed", { what: "a" }]),
        asking(["keyed", { what: "b" }], ["look", { what: "b" }]),
        { text: "End." },
      ]),
      { maxTurns },
    ),
    counted(world, "last"),
  );

const asks = { askHumanOnBudgetReached: true };

const LIMITS: { readonly [name: string]: Scenario & { readonly sights: readonly Sight[] } } = {
  "a budget of tool calls": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxToolCalls: 2 } }) },
    sights: ["refused budget_exceeded", "model asked", "run_again"],
  },
  "a budget of tool calls that a person is asked about": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxToolCalls: 2 }, escalation: asks }) },
    sights: ["a question about a budget", "run", "still waiting"],
  },
  "a budget of steps": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxSteps: 2 } }) },
    sights: ["refused budget_exceeded", "model none"],
  },
  "a budget of tokens": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxTokens: 6_000 } }) },
    sights: ["refused budget_exceeded", "model asked"],
  },
  "a limit of tokens that is not the job's": {
    target: worker(5),
    start: { budget: { tokens: 6_000 } },
    sights: ["refused quota_exceeded", "model asked"],
  },
  "a deadline": {
    target: worker(5),
    start: (now) => ({ deadline: new Deadline(now + 1_000) }),
    sights: ["refused deadline_exceeded"],
  },
  "a time that the job was given": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxWallclockMinutes: 0.1 } }) },
    sights: ["refused budget_exceeded"],
  },
  "a time that the job was given, and a deadline past it": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxWallclockMinutes: 0.1 } }) },
    resume: { deadline: new Deadline(Number.MAX_SAFE_INTEGER) },
    sights: ["refused budget_exceeded"],
  },
  "a budget of dollars": {
    target: worker(5),
    options: {
      pricing: {
        id: "plan",
        models: { "scripted-model": { inputPerMillion: 1_000_000, outputPerMillion: 2_000_000 } },
      },
    },
    start: { spec: jobSpec({ budgets: { maxCostUsd: 0.009 } }) },
    sights: ["refused budget_exceeded", "model asked"],
  },
  "a budget of failures that nobody is asked about": {
    target: (world) => world.agent([asking(["weary", { what: "a" }]), { text: "End." }]),
    start: {
      spec: jobSpec({
        budgets: { maxSameErrorRepeats: 2, maxRetriesPerToolCall: 5 },
        escalation: { askHumanOnRepeatedFailures: false },
      }),
    },
    sights: ["refused budget_exceeded", "run_again"],
  },
  "as many iterations as there may be": {
    target: (world) => Step.loop("polish", counted(world, "draft"), { until: () => false, maxIterations: 2 }),
    sights: ["refused max_iterations_exceeded", "a loop", "not begun"],
  },
  "as many turns as there may be": {
    target: worker(2),
    sights: ["refused max_turns_exceeded", "model asked"],
  },
};

describe("a forecast is exact", () => {
  for (const [name, { sights, ...scenario }] of Object.entries(LIMITS))
    it(`for ${name}`, PATIENCE, async () => {
      const seen = new Set<Sight>();
      const options = { ...scenario.options, workspaceRoot: NOWHERE };
      const problems = await everyInterruption({ ...scenario, options }, (sight) => seen.add(sight));
      expect(problems.slice(0, 10)).toEqual([]);
      expect([...seen]).toEqual(expect.arrayContaining([...sights]));
    });
});

/** What whoever goes on with it lets it use from then on. */
const RAISED: { readonly [name: string]: Scenario & { readonly sights: readonly Sight[] } } = {
  "tool calls": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxToolCalls: 2 }, escalation: asks }) },
    resume: { budgets: { maxToolCalls: 50 } },
    sights: ["run", "run_again", "nothing left"],
  },
  tokens: {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxTokens: 6_000 } }) },
    resume: { budgets: { maxTokens: 50_000 } },
    sights: ["model asked", "model replayed"],
  },
  minutes: {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxWallclockMinutes: 0.1 } }) },
    resume: { budgets: { maxWallclockMinutes: 30 } },
    sights: ["model asked"],
  },
  "a limit that is not the job's": {
    target: worker(5),
    start: { budget: { tokens: 6_000 } },
    resume: { budget: { tokens: 50_000 } },
    sights: ["model asked"],
  },
};

describe("a forecast is exact for a run that may use more of", () => {
  for (const [name, { sights, ...scenario }] of Object.entries(RAISED))
    it(name, PATIENCE, async () => {
      const seen = new Set<Sight>();
      const options = { ...scenario.options, workspaceRoot: NOWHERE };
      const problems = await everyInterruption({ ...scenario, options }, (sight) => seen.add(sight));
      expect(problems.slice(0, 10)).toEqual([]);
      expect([...seen]).toEqual(expect.arrayContaining([...sights]));
    });
});
