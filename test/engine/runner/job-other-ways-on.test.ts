// Ways on that somebody has to ask for: with another agent than the run began with, or without the answer that is there.

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

describe("a run whose agent is another one by now", () => {
  /** One turn under a model that is gone since. */
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

  it("goes on with the same history where somebody says why, which is kept", async () => {
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

  it("is that one from then on: nobody has to say so again, and the old one is another", async () => {
    const { make } = await begun();
    const dying = make("new").run({ probe: crashAt("turn:committed") });
    await failureOf(dying.resume("r-1", { acceptDivergence: WHY }));
    await failureAs(ResumeError, make("old").run().resume("r-1"));
    expect((await make("new").run().resume("r-1")).output).toBe("The end of new.");
  });

  it("does not go on because of an empty reason, and is left as it was", async () => {
    const { store, make } = await begun();
    for (const acceptDivergence of ["", "  ", 7 as unknown as string])
      await failureAs(ConfigurationError, make("new").run().resume("r-1", { acceptDivergence }));
    expect(await store.getRun("r-1")).toMatchObject({ epoch: 1 });
  });

  it("has nothing recorded where it is the same one after all", async () => {
    const { store, make } = await begun();
    expect((await make("old").run().resume("r-1", { acceptDivergence: WHY })).output).toBe("The end of old.");
    expect(await eventsOf(store, "divergence.accepted")).toEqual([]);
  });

  it("goes on in the next iteration of a loop where somebody says why", async () => {
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
    await failureAs(ResumeError, make("new").resume("r-1"));
    expect((await make("new").resume("r-1", { acceptDivergence: WHY })).output).toBe("new");
  });

  it("does not go on in other steps than it has gone through, whatever anybody says", async () => {
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

describe("a turn that is done anew", () => {
  /** A response whose calls may not run, since the budget for them is used up. */
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

  it("gives the budget of tool calls back that the dropped ones took", async () => {
    const { store, whats, make } = await stopped();
    await make().resume("r-1", { redoTurn: true });
    // One call may be made, and one was.
    expect([whats, (await store.countWork("r-1")).toolCalls]).toEqual([["c"], 1]);
  });

  it("is asked for once more where the process dies before the new answer", async () => {
    const { store, whats, prompts, make } = await stopped();
    const dying = make({ probe: crashAt("model:before-request") });
    await failureOf(dying.resume("r-1", { redoTurn: true }));
    expect(await callsOf(store)).toEqual([]);
    expect((await make().resume("r-1")).output).toBe("End.");
    expect([whats, prompts.length]).toEqual([["c"], 3]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("withdraws what was asked about its calls", async () => {
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

  it("is refused once one of its calls went out or is settled; the run can go on as it is", async () => {
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

  it("is nothing where no answer is open: the run goes on", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const { agent, prompts } = scriptedAgent([noting("one"), { text: "End." }], { tools: { note } });
    const make = (options: RunnerOptions = {}) => jobRunner(agent, store, options);
    await failureOf(make({ probe: crashAt("turn:committed") }).run("Go", { runId: "r-1" }));
    expect((await make().resume("r-1", { redoTurn: true })).output).toBe("End.");
    expect([done, prompts.length]).toEqual([["one"], 2]);
  });

  it("may be that of another agent, where somebody says why", async () => {
    const { store, whats } = await stopped();
    const { act } = actTool();
    const other = scriptedAgent([{ text: "Without tools." }], { tools: { act }, modelId: "another" });
    await failureAs(ResumeError, jobRunner(other.agent, store).resume("r-1", { redoTurn: true }));
    expect(await callsOf(store), "the answer is kept until somebody may ask for another").toHaveLength(2);
    const result = await jobRunner(other.agent, store).resume("r-1", {
      redoTurn: true,
      acceptDivergence: WHY,
    });
    expect([result.output, whats]).toEqual(["Without tools.", []]);
  });
});
