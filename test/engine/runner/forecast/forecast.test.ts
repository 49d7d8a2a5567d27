// A forecast shows what resuming a run would do. Each of these runs is interrupted at every point; then the forecast
// is taken, the run is resumed, and the two are compared.

import { expect, it } from "vitest";
import {
  type CodeStepContext,
  type JsonObject,
  Pipeline,
  Step,
  succeededOnce,
} from "../../../../src/index.ts";
import { PATIENCE } from "../../../patience.ts";
import { asking } from "../../call/call-fixture.ts";
import { jobSpec } from "../../job-fixture.ts";
import type { Sight } from "./forecast-fixture.ts";
import { everyInterruption, type Kind, NOWHERE, type Scenario, type World } from "./forecast-world.ts";

/** A step whose code is counted. */
function code(
  world: World,
  name: string,
  work: (ctx: CodeStepContext, input: string) => unknown = () => name,
) {
  return Step.run(name, async (input: string, ctx) => {
    world.touch();
    return (await work(ctx, input)) as string;
  });
}

const every = (what: string, ...kinds: readonly Kind[]) =>
  asking(...kinds.map((kind) => [kind, { what }] as const));

const SCENARIOS: { readonly [name: string]: Scenario & { readonly sights: readonly Sight[] } } = {
  "an agent with tools of every kind": {
    target: (world) =>
      Pipeline.of(
        "p",
        code(world, "first"),
        Step.granular(
          "work",
          world.agent([
            every(
              "a",
              "look",
              "keyed",
              "found",
              "absent",
              "unknown",
              "blind",
              "reported",
              "allowed",
              "once",
              "once",
            ),
            every("a", "once", "banned", "look"),
            { text: "End." },
          ]),
          { phase: "work" },
        ),
        code(world, "last"),
      ),
    options: { constraints: { forbiddenActions: ["banned"] } },
    sights: [
      "answered",
      "run",
      "run_again",
      "look_up",
      "ask",
      "deduplicated",
      "refused",
      "later",
      "model asked",
      "model replayed",
      "model none",
      "begun",
      "not begun",
      "skipped",
      "nothing left",
      "still waiting",
      "later steps",
    ],
  },
  "an agent whose tools fail and ask, and which repeats a call": {
    target: (world) =>
      world.agent([
        every("a", "shy", "broken", "blind_once", "blind_once", "blind_allowed"),
        asking(["broken", { what: "a" }], ["ask_human", { question: "Is it?" }]),
        { text: "End." },
      ]),
    sights: ["answered", "run", "run_again", "ask", "later", "refused"],
  },
  "tools that keep failing with the same error, in an agent and in code": {
    target: (world) =>
      Pipeline.of(
        "p",
        Step.granular("work", world.agent([every("a", "weary", "look"), { text: "End." }])),
        code(world, "calls", (ctx) => ctx.call(world.tool("weary"), { what: "a" })),
      ),
    options: { maxSameErrorRepeats: 2, maxRetriesPerToolCall: 5 },
    sights: ["run_again", "answered"],
  },
  "a code step with calls of every kind": {
    target: (world) =>
      Pipeline.of(
        "p",
        code(world, "calls", async (ctx) => {
          const call = (kind: Kind) => ctx.call(world.tool(kind), { what: "a" });
          await Promise.all([call("look"), call("keyed"), call("found"), call("absent")]);
          for (const kind of ["once", "once", "blind", "allowed", "shy"] as const) await call(kind);
        }),
      ),
    sights: ["answered", "run", "run_again", "look_up", "ask", "deduplicated"],
  },
  "a code step whose calls are unknown, refused and failed": {
    target: (world) => {
      const calling = (ctx: CodeStepContext) => (kind: Kind) => ctx.call(world.tool(kind), { what: "a" });
      return Pipeline.of(
        "p",
        code(world, "calls", async (ctx) => {
          const call = calling(ctx);
          await Promise.allSettled([call("unknown"), call("blind_allowed"), call("banned")]);
          await Promise.all([call("blind_once"), call("blind_once")]);
        }),
        code(world, "breaks", (ctx) => calling(ctx)("broken")),
        code(world, "fails", (ctx) => calling(ctx)("frail")),
      );
    },
    options: { constraints: { forbiddenActions: ["banned"] }, maxRetriesPerToolCall: 0 },
    sights: ["answered", "look_up", "ask", "refused", "requested_again"],
  },
  "a loop with an agent in it": {
    target: (world) => {
      const draft = code(world, "draft", ({ context }, input) => {
        context.n = Number(context.n ?? 0) + 1;
        return `${input}!`;
      });
      const judge = world.agent([every("a", "keyed"), { text: "Fine." }]);
      const pass = Pipeline.of("pass", draft, Step.granular("judge", judge));
      const until = (_output: unknown, { n }: JsonObject) => n === 2;
      return Pipeline.of(
        "p",
        Step.loop("polish", pass, { until, maxIterations: 3, phase: "polish" }),
        code(world, "last"),
      );
    },
    sights: [
      "a loop",
      "model asked",
      "model replayed",
      "model none",
      "run_again",
      "skipped",
      "later steps",
      "nothing left",
    ],
  },
  "a question to a person between two steps": {
    target: (world) =>
      Pipeline.of(
        "p",
        code(world, "first"),
        Step.human("check", { question: "Is it?", choices: ["yes", "no"], phase: "check" }),
        code(world, "last"),
      ),
    sights: ["run_again", "ask", "answered", "still waiting"],
  },
  "a job whose stop conditions hold": {
    target: (world) =>
      Pipeline.of(
        "p",
        Pipeline.of(
          "inner",
          code(world, "first"),
          code(world, "acts", (ctx) => ctx.call(world.tool("keyed"), { what: "a" })),
          code(world, "idles"),
        ),
        Step.granular("talk", world.agent([{ text: "End." }])),
        code(world, "last"),
      ),
    options: { stopConditions: { acted: succeededOnce("keyed") }, workspaceRoot: NOWHERE },
    start: { spec: jobSpec({ stopConditions: ["acted"] }) },
    sights: ["answered", "run_again", "nothing left", "skipped"],
  },
};

for (const [name, { sights, ...scenario }] of Object.entries(SCENARIOS))
  it(`is exact for ${name}`, PATIENCE, async () => {
    const seen = new Set<Sight>();
    const problems = await everyInterruption(scenario, (sight) => seen.add(sight));
    expect([...new Set(problems)].slice(0, 12)).toEqual([]);
    expect(problems).toEqual([]);
    expect([...seen]).toEqual(expect.arrayContaining([...sights]));
  });
