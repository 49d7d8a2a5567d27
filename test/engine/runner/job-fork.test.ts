// A fork: a new run that continues from a turn of another, with its receipts under its own keys.

import { describe, expect, it } from "vitest";
import {
  ConfigurationError,
  Pipeline,
  RunBusyError,
  RunNotFoundError,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
} from "../../../src/index.ts";
import { acting, actTool, crashAt } from "../call/call-fixture.ts";
import { callsOf, jobRunner, jobSpec, stepsOf, temporaryFolder } from "../job-fixture.ts";
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
import { loudly, saying, sayTool, storedSlice, words } from "../session-fixture.ts";

const session: RunnerOptions = { slices: [words], checkpointTrigger: loudly };

/** A run of five turns, each with an external effect; its session has the words. */
async function parent(more: Parameters<typeof sayTool>[0] = {}) {
  const store = await memoryStore();
  const { say, spoken } = sayTool(more);
  const script = [...["one", "two", "three!", "four", "five"].map((word) => saying(word)), { text: "End." }];
  const { agent } = scriptedAgent(script, { tools: { say } });
  await jobRunner(agent, store, session).run("Go", { runId: "r-1" });
  expect(spoken).toHaveLength(5);
  /** A runner with another model that continues from the given history. */
  const other = (...words: string[]) => {
    const turns = words.map((word) => saying(word));
    const made = scriptedAgent(({ turn }) => turns[turn - 4] ?? { text: "Another end." }, {
      tools: { say },
      modelId: "another-model",
    });
    return { ...made, runner: jobRunner(made.agent, store, session) };
  };
  return { store, spoken, other };
}

async function expectVerified(store: Store, ...runIds: string[]): Promise<void> {
  for (const runId of runIds) expect((await store.verify(runId)).problems).toEqual([]);
}

describe("a fork at turn 3", () => {
  it("has the receipts of turns 1 to 3 under its own keys, and repeats none of their effects", async () => {
    const { store, spoken, other } = await parent();
    const { runner, prompts } = other("six");

    const fork = await runner.fork("r-1", { atTurn: 3, runId: "r-2" });

    expect(fork.run).toMatchObject({
      runId: "r-2",
      status: "queued",
      forkedFrom: { runId: "r-1", stepPath: "worker", turnIndex: 3, firstRunId: "r-1", toolCalls: 3 },
      charged: { tokens: 0 },
    });
    expect(await callsOf(store, "r-2")).toEqual([
      "r-2/worker#1.1 say succeeded",
      "r-2/worker#2.1 say succeeded",
      "r-2/worker#3.1 say succeeded",
    ]);
    const [ours, theirs] = [await store.listToolCalls("r-2"), await store.listToolCalls("r-1")];
    expect(ours.map(({ receipt }) => receipt?.output)).toEqual(
      theirs.slice(0, 3).map(({ receipt }) => receipt?.output),
    );
    const keys = new Set([...ours, ...theirs].map(({ idempotencyKey }) => idempotencyKey));
    expect(keys.size).toBe(8);

    expect((await runner.resume("r-2")).output).toBe("Another end.");
    expect(spoken).toEqual(["one", "two", "three!", "four", "five", "six"]);
    expect(toolResults(prompts[0])).toHaveLength(3);
    expect(prompts).toHaveLength(2);
    expect(await store.getRun("r-2")).toMatchObject({ status: "succeeded", charged: { tokens: 30 } });
    await expectVerified(store, "r-1", "r-2");
  });

  it("lists the later external effects of the first run, which it may repeat", async () => {
    const { spoken, other } = await parent();
    const { runner } = other("four");
    const { laterEffects } = await runner.fork("r-1", { atTurn: 3, runId: "r-2" });
    expect(laterEffects.map(({ toolCallId, tool, request }) => [toolCallId, tool, request])).toEqual([
      ["r-1/worker#4.1", "say", { word: "four" }],
      ["r-1/worker#5.1", "say", { word: "five" }],
    ]);
    await runner.resume("r-2");
    expect(spoken.filter((word) => word === "four")).toHaveLength(2);
  });

  it("has the session of that turn, and continues from it", async () => {
    const { store, other } = await parent();
    const { runner } = other("six");
    await runner.fork("r-1", { atTurn: 3, runId: "r-2" });
    await runner.fork("r-1", { atTurn: 2, runId: "r-3" });
    expect(await storedSlice(store, "words", "r-2")).toEqual(["one", "two", "three!"]);
    expect(await storedSlice(store, "words", "r-3")).toEqual(["one", "two"]);
    await runner.resume("r-2");
    expect(await storedSlice(store, "words", "r-2")).toEqual(["one", "two", "three!", "six"]);
    expect(await storedSlice(store)).toEqual(["one", "two", "three!", "four", "five"]);
  });

  it('does not repeat a once-only effect, but repeats one with dedupe "call"', async () => {
    const once = await parent({ dedupe: "effect" });
    const forked = once.other("two");
    await forked.runner.fork("r-1", { atTurn: 3, runId: "r-2" });
    await forked.runner.resume("r-2");
    expect(once.spoken).toHaveLength(5);
    expect((await callsOf(once.store, "r-2")).at(-1)).toBe("r-2/worker#4.1 say deduplicated");
    const [, , , duplicate] = await once.store.listToolCalls("r-2");
    expect(duplicate?.receipt?.duplicateOf).toBe("r-2/worker#2.1");
    await expectVerified(once.store, "r-2");

    const often = await parent({ dedupe: "call" });
    const again = often.other("two");
    await again.runner.fork("r-1", { atTurn: 3, runId: "r-2" });
    await again.runner.resume("r-2");
    expect(often.spoken).toHaveLength(6);
  });

  it("can be interrupted, resumed and forked like any other run", async () => {
    const { store, spoken, other } = await parent();
    const { runner, agent } = other("six", "seven");
    await runner.fork("r-1", { atTurn: 3, runId: "r-2" });
    const dying = jobRunner(agent, store, { ...session, probe: crashAt("turn:committed") });
    await failureOf(dying.resume("r-2"));
    await runner.resume("r-2");
    const { run, laterEffects } = await runner.fork("r-2", { atTurn: 4 });
    expect(laterEffects.map(({ toolCallId }) => toolCallId)).toEqual(["r-2/worker#5.1"]);
    await runner.resume(run.runId);
    expect(spoken.slice(5)).toEqual(["six", "seven", "seven"]);
    await expectVerified(store, "r-2", run.runId);
  });
});

describe("a fork in a pipeline", () => {
  it("does not enter the earlier steps, and continues with the later ones", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const entered: string[] = [];
    const first = Step.run("first", async (_input, ctx) => {
      entered.push("first");
      await ctx.call(note, { text: "from code" });
      ctx.context.writtenBy = "first";
      return "input";
    });
    const last = Step.run("last", (said: string, ctx) => {
      entered.push("last");
      return `${said} ${JSON.stringify(ctx.context.writtenBy)}`;
    });
    const make = (...script: Parameters<typeof scriptedAgent>[0] & unknown[]) => {
      const { agent, prompts } = scriptedAgent(script, { tools: { note } });
      return {
        prompts,
        runner: jobRunner(Pipeline.of("p", first, Step.granular("talk", agent), last), store),
      };
    };
    await make(noting("one"), noting("two"), { text: "End." }).runner.run("Go", { runId: "r-1" });
    const { runner, prompts } = make(noting("one"), { text: "Other end." });

    const { laterEffects } = await runner.fork("r-1", { atTurn: 1, runId: "r-2" });

    expect(laterEffects.map(({ toolCallId }) => toolCallId)).toEqual(["r-1/talk#2.1"]);
    expect(await stepsOf(store, "r-2")).toEqual(["first succeeded", "talk ready"]);
    expect((await runner.resume("r-2")).output).toBe('Other end. "first"');
    expect([entered, done, prompts.length]).toEqual([
      ["first", "last", "last"],
      ["from code", "one", "two"],
      1,
    ]);
    await expectVerified(store, "r-2");
  });

  it("lists the effects of later steps too", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one"), { text: "End." }], { tools: { note } });
    const send = Step.run("send", (_input, ctx) => ctx.call(note, { text: "sent" }));
    const runner = jobRunner(Pipeline.of("p", Step.granular("talk", agent), send), store);
    await runner.run("Go", { runId: "r-1" });
    const { laterEffects } = await runner.fork("r-1", { atTurn: 2 });
    expect(laterEffects.map(({ toolCallId }) => toolCallId)).toEqual(["r-1/send#0.1"]);
  });

  it("is made at the named step, or at the last one with that many turns", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const talk = (name: string, ...texts: string[]) =>
      Step.granular(name, scriptedAgent([...texts.map(noting), { text: "End." }], { tools: { note } }).agent);
    const runner = jobRunner(Pipeline.of("p", talk("a", "1", "2"), talk("b", "3")), store);
    await runner.run("Go", { runId: "r-1" });
    const stepOf = async (options: Parameters<typeof runner.fork>[1]) =>
      (await runner.fork("r-1", options)).run.forkedFrom?.stepPath;
    expect(await stepOf({ atTurn: 1 })).toBe("b");
    expect(await stepOf({ atTurn: 3 })).toBe("a");
    expect(await stepOf({ atTurn: 1, step: "a" })).toBe("a");
  });
});

describe("a fork inherits", () => {
  it("the artifacts that existed then, and not later ones", async () => {
    // No two things happen at the same time here.
    let now = Date.UTC(2026, 0, 1);
    const store = await memoryStore({ now: () => ++now });
    const root = temporaryFolder();
    const { act } = actTool((_n, call, what) => call.artifact(`${what}.md`, what).then(({ name }) => name));
    const step = Step.run("first", (_input, ctx) => ctx.artifact("first.md", "first"));
    const script = [acting("a"), acting("b"), { text: "End." }];
    const make = () => {
      const { agent } = scriptedAgent(script, { tools: { act } });
      return jobRunner(Pipeline.of("p", step, Step.granular("talk", agent)), store, { workspaceRoot: root });
    };
    await make().run("Go", { runId: "r-1" });
    await make().fork("r-1", { atTurn: 1, runId: "r-2" });
    expect((await store.listArtifacts("r-2")).map(({ name }) => name)).toEqual(["a.md", "first.md"]);
    expect(Buffer.from(must(await store.readArtifact("r-2", "a.md"))).toString()).toBe("a");
    await expectVerified(store, "r-2");
  });

  it("large results: the next turn sees them whole", async () => {
    const store = await memoryStore();
    const large = "x".repeat(30_000);
    const { act } = actTool(() => large);
    const { agent } = scriptedAgent([acting("a"), { text: "End." }], { tools: { act } });
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });
    const other = scriptedAgent([acting("a"), { text: "Other." }], { tools: { act }, modelId: "another" });
    const runner = new Runner(other.agent, { store });
    await runner.fork("r-1", { atTurn: 1, runId: "r-2" });
    expect((await runner.resume("r-2")).output).toBe("Other.");
    expect(toolResults(other.prompts[0])).toEqual([{ type: "text", value: large }]);
  });

  it("the prompts that asked the agent to continue", async () => {
    const store = await memoryStore();
    const instructions = "Say DONE at the end.";
    const talk = (modelId: string) =>
      scriptedAgent(({ turn }) => ({ text: turn < 3 ? "Not yet." : "DONE" }), { instructions, modelId });
    await new Runner(talk("one").agent, { store }).run("Go", { runId: "r-1" });
    const { agent, prompts } = talk("another");
    const runner = new Runner(agent, { store });
    await runner.fork("r-1", { atTurn: 2, runId: "r-2" });
    expect((await runner.resume("r-2")).output).toBe("DONE");
    expect(prompts).toHaveLength(1);
    expect(must(prompts[0]).filter(({ role }) => role === "user")).toHaveLength(3);
  });

  it.each([128_000, 300])(
    "the whole conversation: the model gets the same messages, and as much is reserved (of %d tokens)",
    async (historyMaxTokens) => {
      const store = await memoryStore();
      const { act } = actTool((n) => `${n} ${"lorem ipsum ".repeat(60)}`);
      const on = { text: "On." };
      const script = [on, acting("a", "b"), on, acting("c"), on, { text: "DONE" }];
      /** Truncated turns are not in the prompt, so the answers are counted here. */
      const talk = (from: number) => {
        let turn = from;
        const instructions = "Say DONE at the end.";
        return scriptedAgent(() => must(script[turn++]), { tools: { act }, instructions });
      };
      const make = ({ agent }: ReturnType<typeof talk>) =>
        new Runner(Step.granular("talk", agent, { historyMaxTokens }), { store });
      const reserved = async (runId: string) =>
        must((await store.listModelCalls(runId)).find(({ turnIndex }) => turnIndex === 6)).reserved;
      const [first, second] = [talk(0), talk(5)];

      await make(first).run("Go", { runId: "r-1" });
      await make(second).fork("r-1", { atTurn: 5, runId: "r-2" });
      await make(second).resume("r-2");

      const isTruncated = JSON.stringify(first.prompts.at(-1)).includes("Context Truncated");
      expect(isTruncated).toBe(historyMaxTokens === 300);
      expect(second.prompts).toEqual([first.prompts.at(-1)]);
      expect(await reserved("r-2")).toEqual(await reserved("r-1"));
    },
  );

  it("the contract, but nothing that the first run has used of its budgets", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool();
    const { agent } = scriptedAgent([acting("a"), acting("b"), acting("c"), { text: "End." }], {
      tools: { act },
    });
    const runner = jobRunner(agent, store);
    const spec = jobSpec({ budgets: { maxToolCalls: 3 } });
    await runner.run("Go", { runId: "r-1", spec });
    const { run } = await runner.fork("r-1", { atTurn: 1, runId: "r-2" });
    expect(run.spec).toEqual((await store.getRun("r-1"))?.spec);
    expect((await runner.resume("r-2")).output).toBe("End.");
    await runner.fork("r-1", { atTurn: 1, runId: "r-3" });
    await expect(runner.resume("r-3", { budgets: { maxToolCalls: 1 } })).rejects.toThrow("maxToolCalls");
    expect(whats).toEqual(["a", "b", "c", "b", "c", "b"]);
  });
});

describe("a run cannot be forked", () => {
  it.each([0, 1.5, 7, -1])("at a turn that it does not have: %d", async (atTurn) => {
    const { store, other } = await parent();
    await failureAs(ConfigurationError, other().runner.fork("r-1", { atTurn }));
    expect(await store.listRuns()).toHaveLength(1);
  });

  it("at an unknown step, under the id of another run, or if it does not exist", async () => {
    const { store, other } = await parent();
    const { runner } = other();
    const error = await failureAs(ConfigurationError, runner.fork("r-1", { atTurn: 1, step: "talk" }));
    expect(error.message).toContain("committed turns: worker has 6");
    await failureAs(ConfigurationError, runner.fork("r-1", { atTurn: 1, runId: "r-1" }));
    await failureAs(ConfigurationError, runner.fork("r-1", { atTurn: 1, runId: "../r-2" }));
    await failureAs(RunNotFoundError, runner.fork("r-9", { atTurn: 1 }));
    expect(await store.listRuns()).toHaveLength(1);
  });

  it("by a runner of another pipeline", async () => {
    const { store } = await parent();
    const runner = new Runner(
      Step.run("elsewhere", () => 1),
      { store },
    );
    await failureAs(ConfigurationError, runner.fork("r-1", { atTurn: 1 }));
  });

  it("while a worker has it", async () => {
    const store = await memoryStore();
    const failures: unknown[] = [];
    const make = () => {
      const { note } = noteTool(async (text) => {
        if (text === "two") failures.push(await failureOf(make().fork("r-1", { atTurn: 1 })));
      });
      return jobRunner(
        scriptedAgent([noting("one"), noting("two"), { text: "End." }], { tools: { note } }).agent,
        store,
      );
    };
    await make().run("Go", { runId: "r-1" });
    expect(failures).toMatchObject([{ name: RunBusyError.name }]);
  });

  it("at a turn that waits for a person; a fork at the turn before lists that call", async () => {
    const store = await memoryStore();
    const { act } = actTool(() => "done", {
      approval: (input: unknown) => JSON.stringify(input).includes("b"),
    });
    const { agent } = scriptedAgent([acting("a"), acting("b"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store, { probe: crashAt("tool:executed", 2) });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    await failureAs(ConfigurationError, runner.fork("r-1", { atTurn: 2 }));
    await store.approve("r-1~1");
    await failureOf(runner.resume("r-1"));
    await failureAs(ConfigurationError, runner.fork("r-1", { atTurn: 2 }));
    const { laterEffects } = await runner.fork("r-1", { atTurn: 1 });
    expect(laterEffects.map(({ toolCallId, status }) => [toolCallId, status])).toEqual([
      ["r-1/worker#2.1", "in_doubt"],
    ]);
  });
});
