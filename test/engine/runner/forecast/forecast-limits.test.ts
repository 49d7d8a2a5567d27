// Limits that keep a run from resuming: the forecast reports them in the same words.

import { describe, expect, it } from "vitest";
import { Deadline, Pipeline, Step } from "../../../../src/index.ts";
import { sampled } from "../../../full-test.ts";
import { PATIENCE } from "../../../patience.ts";
import { asking } from "../../call/call-fixture.ts";
import { jobSpec } from "../../job-fixture.ts";
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
  "a tool call budget": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxToolCalls: 2 } }) },
    sights: ["refused budget_exceeded", "model asked", "run_again"],
  },
  "a tool call budget with escalation": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxToolCalls: 2 }, escalation: asks }) },
    sights: ["a question about a budget", "run", "still waiting"],
  },
  "a step budget": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxSteps: 2 } }) },
    sights: ["refused budget_exceeded", "model none"],
  },
  "a token budget": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxTokens: 6_000 } }) },
    sights: ["refused budget_exceeded", "model asked"],
  },
  "a token limit of the caller": {
    target: worker(5),
    start: { budget: { tokens: 6_000 } },
    sights: ["refused quota_exceeded", "model asked"],
  },
  "a deadline": {
    target: worker(5),
    start: (now) => ({ deadline: new Deadline(now + 1_000) }),
    sights: ["refused deadline_exceeded"],
  },
  "a wall-clock budget": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxWallclockMinutes: 0.1 } }) },
    sights: ["refused budget_exceeded"],
  },
  "a wall-clock budget, and a later deadline": {
    target: worker(5),
    start: { spec: jobSpec({ budgets: { maxWallclockMinutes: 0.1 } }) },
    resume: { deadline: new Deadline(Number.MAX_SAFE_INTEGER) },
    sights: ["refused budget_exceeded"],
  },
  "a budget in dollars": {
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
  "a failure budget without escalation": {
    target: (world) => world.agent([asking(["weary", { what: "a" }]), { text: "End." }]),
    start: {
      spec: jobSpec({
        budgets: { maxSameErrorRepeats: 2, maxRetriesPerToolCall: 5 },
        escalation: { askHumanOnRepeatedFailures: false },
      }),
    },
    sights: ["refused budget_exceeded", "run_again"],
  },
  "the maximum number of iterations": {
    target: (world) => Step.loop("polish", counted(world, "draft"), { until: () => false, maxIterations: 2 }),
    sights: ["refused max_iterations_exceeded", "a loop", "not begun"],
  },
  "the maximum number of turns": {
    target: worker(2),
    sights: ["refused max_turns_exceeded", "model asked"],
  },
};

describe("a forecast is exact", () => {
  for (const [name, { sights, ...scenario }] of sampled(Object.entries(LIMITS)))
    it(`for ${name}`, PATIENCE, async () => {
      const seen = new Set<Sight>();
      const options = { ...scenario.options, workspaceRoot: NOWHERE };
      const problems = await everyInterruption({ ...scenario, options }, (sight) => seen.add(sight));
      expect(problems.slice(0, 10)).toEqual([]);
      expect([...seen]).toEqual(expect.arrayContaining([...sights]));
    });
});

/** Limits that the resume raises. */
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
  "the caller's limit": {
    target: worker(5),
    start: { budget: { tokens: 6_000 } },
    resume: { budget: { tokens: 50_000 } },
    sights: ["model asked"],
  },
};

describe("a forecast is exact for a run with a raised limit of", () => {
  for (const [name, { sights, ...scenario }] of sampled(Object.entries(RAISED)))
    it(name, PATIENCE, async () => {
      const seen = new Set<Sight>();
      const options = { ...scenario.options, workspaceRoot: NOWHERE };
      const problems = await everyInterruption({ ...scenario, options }, (sight) => seen.add(sight));
      expect(problems.slice(0, 10)).toEqual([]);
      expect([...seen]).toEqual(expect.arrayContaining([...sights]));
    });
});
