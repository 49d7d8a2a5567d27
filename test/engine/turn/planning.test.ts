// The planning tools in a run: a broken rule is answered with one sentence, at once and once, and several calls in
// one turn count.

import { describe, expect, it } from "vitest";
import {
  type Json,
  planning,
  promptTemplate,
  Runner,
  type RunnerOptions,
  type Store,
} from "../../../src/index.ts";
import { asking, crashAt, jumpingClock, timedStore } from "../call/call-fixture.ts";
import {
  collect,
  failureOf,
  memoryStore,
  must,
  type Prompt,
  scriptedAgent,
  toolResults,
} from "../run-fixture.ts";
import { checkpointsOf, storedSlice } from "../session-fixture.ts";

const prompt = promptTemplate({ namespace: "t", key: "plan", version: 1, sections: [planning()] });

type Call = readonly [name: string, input: Json];

const setup = (steps: readonly string[] = ["Sweep", "Wash"]): Call => [
  "planning_setup_plan",
  { objective: "Tidy", steps: [...steps] },
];
const add = (...steps: string[]): Call => ["planning_add_step", { steps }];
const update = (id: number, change: { status?: string; title?: string }): Call => [
  "planning_update_step",
  { id, ...change },
];
const read: Call = ["planning_read_plan", {}];

/** An agent that plans: one answer for each list of calls. */
function planner(store: Store, turns: readonly (readonly Call[])[], options: RunnerOptions = {}) {
  const script = [...turns.map((calls) => asking(...calls)), { text: "End." }];
  const { agent, prompts } = scriptedAgent(script, { instructions: prompt });
  return { runner: new Runner(agent, { store, ...options }), prompts };
}

/** The result of the last call as the model sees it. */
const answer = (prompts: readonly Prompt[]) =>
  must(toolResults(prompts.at(-1)).at(-1)) as { type: string; value: string };

describe("a call that breaks a rule", () => {
  const tooLong = "x".repeat(501);
  const none = "There is no plan yet: set one up with planning_setup_plan.";
  const completed = "The plan is completed: set up a new one with planning_setup_plan.";
  const whole = [setup(["Sweep"]), update(1, { status: "done" })];

  it.each<[string, Call[], string]>([
    ["adds to no plan", [add("Dry")], none],
    ["updates no plan", [update(1, { status: "done" })], none],
    ["adds to a completed plan", [...whole, add("Dry")], completed],
    ["updates a completed plan", [...whole, update(1, { status: "pending" })], completed],
    ["adds nothing", [setup(), add()], "Give at least one step to add."],
    ["changes nothing", [setup(), update(1, {})], "Give a new title, a new status, or both."],
    [
      "updates an unknown step",
      [setup(), update(7, { status: "done" })],
      "There is no step 7: the plan has steps 1 to 2.",
    ],
    [
      "uses an unknown status",
      [setup(), update(1, { status: "finished" })],
      '"finished" is no status of a step: use pending, in_progress, done.',
    ],
    [
      "has an empty title",
      [setup(), update(1, { title: "   " })],
      "The title is empty: give it 1 to 500 characters.",
    ],
    [
      "has a title that is too long",
      [setup([tooLong])],
      "The title of new step 1 has 501 characters: shorten it to 500 or fewer.",
    ],
    [
      "has no objective",
      [["planning_setup_plan", { objective: " ", steps: [] }]],
      "The objective is empty: give it 1 to 500 characters.",
    ],
  ])("and %s is answered with a sentence, and not retried", async (_, calls, sentence) => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { runner, prompts } = planner(
      store,
      calls.map((call) => [call]),
      { clock },
    );
    const before = clock.now();
    const events = await collect(runner.stream("Go", { runId: "r-1" }));
    expect(answer(prompts)).toEqual({ type: "error-text", value: sentence });
    expect(events.filter(({ type }) => type === "tool.started")).toHaveLength(calls.length);
    expect(events.filter(({ type }) => type === "tool.retrying")).toEqual([]);
    expect([clock.slept, clock.now()]).toEqual([[], before]);
    expect(events.at(-1)).toMatchObject({ result: { status: "succeeded" } });
  });

  it("leaves the plan unchanged, and the other calls of the turn count", async () => {
    const store = await memoryStore();
    const { runner } = planner(store, [[setup(), update(9, { status: "done" }), add("Dry")]]);
    await runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store, "plan")).toMatchObject([
      { steps: [{ title: "Sweep" }, { title: "Wash" }, { id: 3, title: "Dry", status: "pending" }] },
    ]);
  });
});

describe("the planning tools", () => {
  it("see the effect of earlier calls in the turn, and return the plan", async () => {
    const store = await memoryStore();
    const { runner, prompts } = planner(store, [
      [setup([" Sweep ", "Wash"]), update(1, { status: "done" }), add("Dry"), read],
    ]);
    await runner.run("Go", { runId: "r-1" });
    expect(answer(prompts)).toEqual({
      type: "text",
      value: "Objective: Tidy\nStatus: active\n1. [done] Sweep\n2. [pending] Wash\n3. [pending] Dry",
    });
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#1"]);
  });

  it("in one turn are all applied after a crash at any point", async () => {
    for (const point of [
      "tool:before-start",
      "tool:receipt-stored",
      "tool:executed",
      "turn:before-commit",
    ] as const) {
      const store = await memoryStore();
      const turns = [[setup()], [update(1, { status: "done" }), update(2, { status: "done" })]];
      const probe: RunnerOptions["probe"] = (at, site) => {
        if (at === point && site.turnIndex === 2) throw new Error("The process crashed.");
      };
      await failureOf(planner(store, turns, { probe }).runner.run("Go", { runId: "r-1" }));
      expect(await storedSlice(store, "plan")).toMatchObject([{ steps: [{ status: "pending" }, {}] }]);
      expect((await planner(store, turns).runner.resume("r-1")).status).toBe("succeeded");
      expect(await storedSlice(store, "plan")).toMatchObject([
        { status: "completed", steps: [{ status: "done" }, { status: "done" }] },
      ]);
      expect(await checkpointsOf(store)).toEqual(["1 milestone worker#2"]);
    }
  });

  it("keep their plan in a run that resumes by turn", async () => {
    const store = await memoryStore();
    const turns = [[setup()], [update(1, { title: "Mop", status: "in_progress" })], [read]];
    const dying = planner(store, turns, { probe: crashAt("turn:committed", 2) });
    await failureOf(dying.runner.run("Go", { runId: "r-1" }));
    const { runner, prompts } = planner(store, turns);
    await runner.resume("r-1");
    expect(answer(prompts).value).toContain("1. [in_progress] Mop");
  });
});
