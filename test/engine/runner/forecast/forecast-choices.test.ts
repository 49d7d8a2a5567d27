// Ways to resume that a person has to choose: each is forecast exactly, wherever the run was interrupted.

import { expect, it } from "vitest";
import { dynamic, Pipeline, promptTemplate, Step } from "../../../../src/index.ts";
import type { ScriptedResponse } from "../../../../src/testing/index.ts";
import { PATIENCE } from "../../../patience.ts";
import { asking } from "../../call/call-fixture.ts";
import { words } from "../../session-fixture.ts";
import type { Sight } from "./forecast-fixture.ts";
import { everyInterruption, type Scenario, type World } from "./forecast-world.ts";

/** A prompt that shows the session, so the reserved cost depends on it. */
const prompt = (version: number) =>
  promptTemplate({
    namespace: "t",
    key: "speak",
    version,
    sections: [
      dynamic({
        key: "words",
        title: "Words",
        slices: [words],
        render: (session) => `So far: ${session.query(words).all().join(" ")}.`,
      }),
    ],
  });

const ANSWERS: readonly ScriptedResponse[] = [
  asking(["says", { what: "one!" }], ["blind", { what: "a" }], ["reported", { what: "a" }]),
  asking(["allowed", { what: "a" }]),
  { text: "End." },
];

const speaker = (version: number) => (world: World) =>
  Pipeline.of(
    "p",
    Step.run("first", () => {
      world.touch();
      return "Speak.";
    }),
    Step.granular("speak", world.agent(ANSWERS, { instructions: prompt(version) })),
    Step.run("last", () => {
      world.touch();
      return "Done.";
    }),
  );

const looping = (instructions: string) => (world: World) => {
  const judge = world.agent([{ text: "Fine." }], { instructions });
  const until = (_output: unknown, { n }: { readonly n?: unknown }) => n === 3;
  const count = Step.run("count", (input: string, { context }) => {
    world.touch();
    context.n = Number(context.n ?? 0) + 1;
    return `${input}!`;
  });
  const pass = Pipeline.of("pass", Step.granular("judge", judge), count);
  return Pipeline.of("p", Step.loop("polish", pass, { until, maxIterations: 3 }));
};

const CHOICES: { readonly [name: string]: Scenario & { readonly sights: readonly Sight[] } } = {
  "from the last milestone": {
    target: speaker(1),
    resume: { from: "milestone" },
    sights: ["model asked", "answered", "run_again", "ask", "refused", "dropped"],
  },
  "from the beginning, with another agent": {
    target: speaker(1),
    other: speaker(2),
    resume: { from: "beginning" },
    sights: ["model asked", "model none", "run_again"],
  },
  "with the response of the open turn dropped": {
    target: speaker(1),
    resume: { redoTurn: true },
    afterwards: {},
    sights: ["model asked", "dropped", "refused configuration"],
  },
  "with another agent, which is refused": {
    target: speaker(1),
    other: speaker(2),
    afterwards: {},
    sights: ["refused resume", "model asked", "nothing left"],
  },
  "with another agent and a reason": {
    target: speaker(1),
    other: speaker(2),
    resume: { acceptDivergence: "The same, in other words." },
    sights: ["model asked", "model replayed", "model none", "run_again", "ask"],
  },
  "with another agent, a reason, and the response dropped": {
    target: speaker(1),
    other: speaker(2),
    resume: { acceptDivergence: "The same, in other words.", redoTurn: true },
    afterwards: { acceptDivergence: "Back again." },
    sights: ["dropped", "refused configuration"],
  },
  "with another agent half way through a loop": {
    target: looping("Judge."),
    other: looping("Judge well."),
    afterwards: {},
    sights: ["refused resume", "a loop"],
  },
};

for (const [name, { sights, ...scenario }] of Object.entries(CHOICES))
  it(`is exact for resuming ${name}`, PATIENCE, async () => {
    const seen = new Set<Sight>();
    const problems = await everyInterruption(scenario, (sight) => seen.add(sight));
    expect(problems.slice(0, 10)).toEqual([]);
    expect([...seen]).toEqual(expect.arrayContaining([...sights]));
  });
