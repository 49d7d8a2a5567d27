// Ways to resume that must be requested explicitly: with a changed agent, or without the stored response of the open
// turn.

import { describe, expect, it } from "vitest";
import {
  AlreadySettledError,
  BudgetExceededError,
  ConfigurationError,
  Pipeline,
  ResumeError,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
} from "../../../src/index.ts";
import { acting, actTool, crashAt, openWait } from "../call/call-fixture.ts";
import { callsOf, jobRunner, jobSpec } from "../job-fixture.ts";
import {
  failureAs,
  failureOf,
  memoryStore,
  must,
  noteTool,
  noting,
  scriptedAgent,
  toolResults,
} from "../run-fixture.ts";

const WHY = "The model was retired.";

async function eventsOf(store: Store, type: string): Promise<unknown[]> {
  return (await store.listEvents("r-1")).filter((event) => event.type === type).map(({ data }) => data);
}

describe("a run whose agent has changed", () => {
  /** One turn with a model that has been replaced since. */
  async function begun() {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const make = (modelId: string, instructions = "You work.") => {
      const script = [noting("one"), noting("two"), { text: `The end of ${modelId}.` }];
      const { agent, prompts } = scriptedAgent(script, { tools: { note }, modelId, instructions });
      return { prompts, run: (options: RunnerOptions = {}) => jobRunner(agent, store, options) };
    };
    await failureOf(
      make("old")
        .run({ probe: crashAt("turn:committed") })
        .run("Go", { runId: "r-1" }),
    );
    return { store, done, make };
  }

  it("resumes with the same history if a reason is given, which is stored", async () => {
    const { store, done, make } = await begun();
    const { run, prompts } = make("new", "You work well.");
    const error = await failureAs(ResumeError, run().resume("r-1"));
    expect(error.details.changes.map(({ what }) => what)).toEqual(["model", "prompt"]);
    expect(error.message).toContain("acceptDivergence");
    expect(prompts).toEqual([]);

    const result = await run().resume("r-1", { acceptDivergence: WHY });

    expect(result.output).toBe("The end of new.");
    expect(done).toEqual(["one", "two"]);
    expect(toolResults(prompts[0])).toEqual([{ type: "json", value: { noted: "one" } }]);
    expect(must(prompts[0])[0]).toMatchObject({ role: "system", content: "You work well." });
    expect(await eventsOf(store, "divergence.accepted")).toMatchObject([{ step: "worker", why: WHY }]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("resumes with the changes that the hash names, and with no others", async () => {
    const { store, make } = await begun();
    const { accepts } = await make("new").run().forecast("r-1", { acceptDivergence: WHY });
    expect(accepts?.changes).toEqual([{ what: "model", was: "old", is: "new" }]);
    const consent = { acceptDivergence: WHY, changesHash: must(accepts).changesHash };

    const other = make("other");
    const { refusal, accepts: none } = await other.run().forecast("r-1", consent);
    expect([refusal?.code, none]).toEqual(["resume", null]);
    const error = await failureAs(ResumeError, other.run().resume("r-1", consent));
    expect(error.details.changesHash).not.toBe(consent.changesHash);
    expect(other.prompts).toEqual([]);

    expect((await make("new").run().resume("r-1", consent)).output).toBe("The end of new.");
    expect(await eventsOf(store, "divergence.accepted")).toMatchObject([
      { why: WHY, changesHash: consent.changesHash },
    ]);
  });

  it("is not resumed with a hash of changes that nobody accepts", async () => {
    const { make } = await begun();
    await failureAs(ConfigurationError, make("new").run().resume("r-1", { changesHash: "4f2a" }));
  });

  it("keeps the new agent from then on: no further reason is needed, and the old agent is refused", async () => {
    const { make } = await begun();
    const dying = make("new").run({ probe: crashAt("turn:committed") });
    await failureOf(dying.resume("r-1", { acceptDivergence: WHY }));
    await failureAs(ResumeError, make("old").run().resume("r-1"));
    expect((await make("new").run().resume("r-1")).output).toBe("The end of new.");
  });

  it("is not resumed with an empty reason, and is left unchanged", async () => {
    const { store, make } = await begun();
    for (const acceptDivergence of ["", "  ", 7 as unknown as string])
      await failureAs(ConfigurationError, make("new").run().resume("r-1", { acceptDivergence }));
    expect(await store.getRun("r-1")).toMatchObject({ epoch: 1 });
  });

  it("records nothing if the agent is the same", async () => {
    const { store, make } = await begun();
    expect((await make("old").run().resume("r-1", { acceptDivergence: WHY })).output).toBe("The end of old.");
    expect(await eventsOf(store, "divergence.accepted")).toEqual([]);
  });

  it("resumes in the next iteration of a loop if a reason is given", async () => {
    const store = await memoryStore();
    const make = (modelId: string, options: RunnerOptions = {}) => {
      const { agent } = scriptedAgent([{ text: modelId }], { modelId });
      const loop = Step.loop("again", Step.granular("talk", agent), {
        until: (said) => said === "new",
        maxIterations: 5,
      });
      return new Runner(loop, { store, ...options });
    };
    await failureOf(make("old", { probe: crashAt("loop:decided") }).run("Go", { runId: "r-1" }));
    const { details } = await failureAs(ResumeError, make("new").resume("r-1"));
    const unseen = { acceptDivergence: WHY, changesHash: "4f2a" };
    await failureAs(ResumeError, make("new").resume("r-1", unseen));
    const seen = { acceptDivergence: WHY, changesHash: must(details.changesHash) };
    expect((await make("new").resume("r-1", seen)).output).toBe("new");
  });

  it("is not resumed with other steps before the current one, even with a reason", async () => {
    const { store } = await begun();
    const { agent } = scriptedAgent([noting("one")], { tools: { note: noteTool().note }, modelId: "old" });
    const other = Pipeline.of(
      "worker",
      Step.run("before", () => 1),
      Step.granular("worker", agent),
    );
    await failureAs(ResumeError, new Runner(other, { store }).resume("r-1", { acceptDivergence: WHY }));
  });
});

describe("a turn that is redone", () => {
  /** A response whose calls may not run because their budget is used up. */
  async function stopped() {
    const store = await memoryStore();
    const { act, whats } = actTool();
    let answers = 0;
    const { agent, prompts } = scriptedAgent(
      ({ turn }) => {
        answers += 1;
        if (turn === 2) return { text: "End." };
        return answers === 1 ? acting("a", "b") : acting("c");
      },
      { tools: { act } },
    );
    const make = (options: RunnerOptions = {}) => jobRunner(agent, store, options);
    const spec = jobSpec({ budgets: { maxToolCalls: 1 } });
    await failureAs(BudgetExceededError, make().run("Go", { runId: "r-1", spec }));
    expect(await callsOf(store)).toEqual(["r-1/worker#1.1 act prepared", "r-1/worker#1.2 act prepared"]);
    return { store, whats, prompts, make };
  }

  it("asks the model again, and charges both answers", async () => {
    const { store, whats, prompts, make } = await stopped();
    const result = await make().resume("r-1", { redoTurn: true });
    expect(result.output).toBe("End.");
    expect([whats, prompts.length]).toEqual([["c"], 3]);
    expect(await callsOf(store)).toEqual(["r-1/worker#1.1 act succeeded"]);
    expect(result.usage).toMatchObject({ modelCalls: 3, charged: { tokens: 45 } });
    expect(await eventsOf(store, "turn.dropped")).toMatchObject([{ step: "worker", turn: 1, calls: 2 }]);
    const calls = await store.listModelCalls("r-1");
    expect(
      calls.map(({ turnIndex, attempt, charge }) => [turnIndex, attempt, charge?.amount.tokens]),
    ).toEqual([
      [1, 1, 15],
      [1, 2, 15],
      [2, 1, 15],
    ]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("returns the tool call budget of the dropped calls", async () => {
    const { store, whats, make } = await stopped();
    await make().resume("r-1", { redoTurn: true });
    // One call is allowed, and one was made.
    expect([whats, (await store.countWork("r-1")).toolCalls]).toEqual([["c"], 1]);
  });

  it("is requested again if the process dies before the new answer", async () => {
    const { store, whats, prompts, make } = await stopped();
    const dying = make({ probe: crashAt("model:before-request") });
    await failureOf(dying.resume("r-1", { redoTurn: true }));
    expect(await callsOf(store)).toEqual([]);
    expect((await make().resume("r-1")).output).toBe("End.");
    expect([whats, prompts.length]).toEqual([["c"], 3]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("withdraws the questions about its calls", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(() => "done", { approval: true });
    let answers = 0;
    const { agent } = scriptedAgent(() => (++answers === 1 ? acting("a") : { text: "Better not." }), {
      tools: { act },
    });
    const runner = jobRunner(agent, store);
    await runner.run("Go", { runId: "r-1" });
    const { waitId } = await openWait(store);
    expect((await runner.resume("r-1", { redoTurn: true })).output).toBe("Better not.");
    expect((await store.listWaits("r-1")).map(({ status }) => status)).toEqual(["withdrawn"]);
    await failureAs(AlreadySettledError, store.approve(waitId));
    expect(whats).toEqual([]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("is refused once one of its calls was dispatched or settled; the run can resume without it", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(() => "done", {
      approval: (input: unknown) => JSON.stringify(input).includes("b"),
    });
    const { agent, prompts } = scriptedAgent([acting("a", "b"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store);
    await runner.run("Go", { runId: "r-1" });
    const error = await failureAs(ConfigurationError, runner.resume("r-1", { redoTurn: true }));
    expect(error.message).toMatch(/Turn 1 of r-1\/worker cannot be dropped/);
    await store.approve((await openWait(store)).waitId);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect([whats, prompts.length]).toEqual([["a", "b"], 2]);
  });

  it("has no effect if no response is open: the run continues", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const { agent, prompts } = scriptedAgent([noting("one"), { text: "End." }], { tools: { note } });
    const make = (options: RunnerOptions = {}) => jobRunner(agent, store, options);
    await failureOf(make({ probe: crashAt("turn:committed") }).run("Go", { runId: "r-1" }));
    expect((await make().resume("r-1", { redoTurn: true })).output).toBe("End.");
    expect([done, prompts.length]).toEqual([["one"], 2]);
  });

  it("may use another agent if a reason is given", async () => {
    const { store, whats } = await stopped();
    const { act } = actTool();
    const other = scriptedAgent([{ text: "Without tools." }], { tools: { act }, modelId: "another" });
    await failureAs(ResumeError, jobRunner(other.agent, store).resume("r-1", { redoTurn: true }));
    expect(await callsOf(store), "the answer is kept until another may be requested").toHaveLength(2);
    const result = await jobRunner(other.agent, store).resume("r-1", {
      redoTurn: true,
      acceptDivergence: WHY,
    });
    expect([result.output, whats]).toEqual(["Without tools.", []]);
  });
});
