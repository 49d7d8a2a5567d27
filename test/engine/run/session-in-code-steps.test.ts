// The session in code steps and from step to step: it changes when a step succeeds, and an enclosing step takes back
// nothing of what its children recorded.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  CheckpointTrigger,
  ConfigurationError,
  defineSlice,
  type Json,
  Pipeline,
  Runner,
  type RunnerOptions,
  type SessionView,
  Step,
  type StepExecution,
  type StepNode,
  type Store,
  type Tool,
  ToolFailedError,
} from "../../../src/index.ts";
import { crashAt } from "../call/call-fixture.ts";
import { failureAs, memoryStore, must, scriptedAgent } from "../run-fixture.ts";
import {
  checkpointsOf,
  runUntilFailure,
  said,
  saying,
  sayTool,
  sessionEventsOf,
  storedSlice,
  tapped,
  words,
} from "../session-fixture.ts";

const runnerFor = (store: Store, step: StepNode, options: RunnerOptions = {}) =>
  new Runner(step, { store, slices: [words], ...options });

/** A step whose code records a word. */
const saysWord = (name: string, word = name) =>
  Step.run(name, (_input: Json, ctx) => ctx.session.dispatch(said(word)));

/** An agent step that says these words, one per turn. */
function agentStep(name: string, say: Tool, ...all: string[]) {
  const script = [...all.map((word) => saying(word)), { text: "End." }];
  const { agent } = scriptedAgent(script, { name, tools: { say } });
  return Step.granular(name, agent);
}

describe("session events of code", () => {
  it("are visible to that code at once, and take effect when its step has ended", async () => {
    const store = await memoryStore();
    const seen: unknown[] = [];
    const step = Step.run("code", async (_input: Json, ctx) => {
      ctx.session.dispatch(said("one"));
      seen.push(ctx.session.query(words).all(), await storedSlice(store));
      expect([ctx.session.id, ctx.session.tags]).toEqual(["r-1", {}]);
    });
    await runnerFor(store, step).run("Go", { runId: "r-1" });
    expect(seen).toEqual([["one"], []]);
    expect(await storedSlice(store)).toEqual(["one"]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("are merged with the events of its tools in call order", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const step = Step.run("code", async (_input: Json, ctx) => {
      ctx.session.dispatch(said("one"));
      await ctx.call(say, { word: "two" });
      expect(ctx.session.query(words).all()).toEqual(["one", "two"]);
      ctx.session.dispatch(said("three"));
    });
    await runnerFor(store, step).run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["one", "two", "three"]);
    expect(await sessionEventsOf(store)).toEqual([[said("two")]]);
  });

  it("are visible to the tools that it calls", async () => {
    const store = await memoryStore();
    const seen: unknown[] = [];
    const { say } = sayTool({}, (_word, call) => void seen.push(call.session.query(words).all()));
    const step = Step.run("code", async (_input: Json, ctx) => {
      ctx.session.dispatch(said("one"));
      await ctx.call(say, { word: "two" });
    });
    await runnerFor(store, step).run("Go", { runId: "r-1" });
    expect(seen).toEqual([["one"]]);
  });

  it("take no effect if the step fails, and a resume begins without them", async () => {
    const store = await memoryStore();
    const seen: unknown[] = [];
    const { say, spoken } = sayTool();
    const step = Step.run("code", async (_input: Json, ctx) => {
      seen.push(ctx.session.query(words).all());
      ctx.session.dispatch(said("one"));
      await ctx.call(say, { word: "two" });
      if (seen.length === 1) throw new Error("Not yet.");
    });
    await runUntilFailure(runnerFor(store, step));
    expect(await storedSlice(store)).toEqual([]);
    expect(await checkpointsOf(store)).toEqual([]);
    await runnerFor(store, step).resume("r-1");
    expect(seen).toEqual([[], []]);
    expect(await storedSlice(store)).toEqual(["one", "two"]);
    expect(spoken).toEqual(["two"]);
  });

  it.each(["tool:receipt-stored", "step:before-finish"] as const)(
    "and of its tools are applied once if the step is interrupted at %s",
    async (point) => {
      const store = await memoryStore();
      const { say, spoken } = sayTool();
      const step = Step.run("code", async (_input: Json, ctx) => {
        await ctx.call(say, { word: "one" });
        ctx.session.dispatch(said("two"));
      });
      await runUntilFailure(runnerFor(store, step, { probe: crashAt(point) }));
      expect(await storedSlice(store)).toEqual([]);
      await runnerFor(store, step).resume("r-1");
      expect([await storedSlice(store), spoken]).toEqual([["one", "two"], ["one"]]);
    },
  );

  it("are applied once for calls with one effect, however often the code makes them", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool({ dedupe: "effect" });
    const step = Step.run("code", async (_input: Json, ctx) => {
      await ctx.call(say, { word: "one" });
      await Promise.all([ctx.call(say, { word: "one" }), ctx.call(say, { word: "one" })]);
      return [...ctx.session.query(words).all()];
    });
    const { output } = await runnerFor(store, step).run("Go", { runId: "r-1" });
    expect([output, spoken]).toEqual([["one"], ["one"]]);
    expect(await storedSlice(store)).toEqual(["one"]);
  });

  it("do not include those of a failed call, which the code may catch", async () => {
    const store = await memoryStore();
    const { say } = sayTool({}, (word, call) => {
      call.session.dispatch(said(word));
      throw new Error("The line is dead.");
    });
    const step = Step.run("code", async (_input: Json, ctx) => {
      await failureAs(ToolFailedError, ctx.call(say, { word: "one" }));
      return [...ctx.session.query(words).all()];
    });
    expect((await runnerFor(store, step).run("Go", { runId: "r-1" })).output).toEqual([]);
    expect(await storedSlice(store)).toEqual([]);
  });

  it("are refused if they do not fit, which the code may catch", async () => {
    const store = await memoryStore();
    const step = Step.run("code", (_input: Json, ctx) => {
      expect(() => ctx.session.dispatch(said("far too long for a word"))).toThrow(/words: /);
      ctx.session.dispatch(said("short"));
    });
    await runnerFor(store, step).run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["short"]);
  });

  it("are refused once the step has ended", async () => {
    const store = await memoryStore();
    const kept: SessionView[] = [];
    const step = Step.run("code", (_input: Json, ctx) => void kept.push(ctx.session));
    await runnerFor(store, step).run("Go", { runId: "r-1" });
    const late = () => must(kept[0]).dispatch(said("late"));
    expect(late).toThrow(ConfigurationError);
    expect(late).toThrow(/Event "Said" was dispatched after its step had ended/);
  });
});

describe("a step that has ended", () => {
  it("leaves a checkpoint if the session has changed, and none otherwise", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const pipeline = Pipeline.of(
      "p",
      saysWord("speaks"),
      Step.run("is-silent", () => null),
      agentStep("talks", say, "two"),
      Step.run("idles", () => null),
    );
    await runnerFor(store, pipeline).run("Go", { runId: "r-1" });
    expect(await checkpointsOf(store)).toEqual(["1 step_boundary speaks#0", "2 step_boundary talks#0"]);
    const [first, second] = await Promise.all([1, 2].map((n) => store.readCheckpoint("r-1", n)));
    expect(must(first).snapshot.slices).toEqual({ words: { version: 1, values: ["speaks"] } });
    expect(must(first).cursor).toEqual({
      step: "speaks",
      turn: 0,
      lastToolCall: null,
      artifacts: [],
      phase: "",
      stepIndex: 1,
      remainingPhases: [],
    });
    expect(must(second).snapshot.slices).toEqual({ words: { version: 1, values: ["speaks", "two"] } });
    expect(must(second).cursor).toMatchObject({ lastToolCall: "r-1/talks#1.1" });
  });

  it("leaves none if the agent's last milestone holds everything", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const options = { checkpointTrigger: new CheckpointTrigger({ eventTypes: ["Said"] }) };
    const pipeline = Pipeline.of(
      "p",
      agentStep("talks", say, "one"),
      Step.run("idles", () => null),
    );
    await runnerFor(store, pipeline, options).run("Go", { runId: "r-1" });
    expect(await checkpointsOf(store)).toEqual(["1 milestone talks#1"]);
  });

  it("leaves one in a new process too if the previous one changed the session and died", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const step = agentStep("talks", say, "one");
    await runUntilFailure(runnerFor(store, step, { probe: crashAt("turn:committed", 2) }));
    await runnerFor(store, step).resume("r-1");
    expect(await checkpointsOf(store)).toEqual(["1 step_boundary talks#0"]);
  });

  it("leaves none in a new process if the session matches the last checkpoint", async () => {
    const store = await memoryStore();
    const pipeline = Pipeline.of(
      "p",
      saysWord("speaks"),
      Step.run("idles", () => null),
    );
    await runUntilFailure(runnerFor(store, pipeline, { probe: crashAt("step:before-finish", 2) }));
    await runnerFor(store, pipeline).resume("r-1");
    expect(await checkpointsOf(store)).toEqual(["1 step_boundary speaks#0"]);
  });

  it("has its checkpoint in the same commit as its end: a refused commit leaves neither", async () => {
    const store = await memoryStore();
    const refusing = tapped(store, (intent) => {
      if (intent === "finishStep") throw new Error("No.");
    });
    await runUntilFailure(runnerFor(refusing, saysWord("speaks")));
    expect([await storedSlice(store), await checkpointsOf(store)]).toEqual([[], []]);
  });

  it("has a checkpoint that includes an observer's reaction to its last change", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const onSession: RunnerOptions["onSession"] = (session) =>
      void session.observe(words, (all) => {
        if (!all.includes("echo")) session.dispatch(said("echo"));
      });
    const options = { onSession, checkpointTrigger: new CheckpointTrigger({ eventTypes: ["Said"] }) };
    const { agent } = scriptedAgent([saying("one")], { tools: { say } });
    const talks = Step.granular("talks", agent, { completion: () => true });
    await runnerFor(
      store,
      Pipeline.of(
        "p",
        talks,
        Step.run("idles", () => null),
      ),
      options,
    ).run("Go", {
      runId: "r-1",
    });
    expect(await storedSlice(store)).toEqual(["one", "echo"]);
    expect(await checkpointsOf(store)).toEqual(["1 milestone talks#1", "2 step_boundary talks#0"]);
    expect(must(await store.readCheckpoint("r-1", 2)).snapshot.slices).toEqual({
      words: { version: 1, values: ["one", "echo"] },
    });
  });
});

describe("nested steps", () => {
  it("keep their session events in order, in loops and pipelines", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const body = Pipeline.of(
      "body",
      Step.run("speaks", (n: number, ctx) => {
        ctx.session.dispatch(said(`code ${n}`));
        return n + 1;
      }),
      Step.run("asks", async (n: number, ctx) => {
        await ctx.call(say, { word: `tool ${n}` });
        return n;
      }),
    );
    const loop = Step.loop("loop", body, { until: (n) => n === 3, maxIterations: 5 });
    const inner: StepNode = Pipeline.of("inner", loop, saysWord("after"));
    const outer = Step.loop("outer", inner, {
      until: () => true,
      maxIterations: 1,
    });
    await runnerFor(store, outer).run(1, { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["code 1", "tool 2", "code 2", "tool 3", "after"]);
    const whole = must(await store.readCheckpoint("r-1")).snapshot.slices;
    expect(whole).toEqual({ words: { version: 1, values: await storedSlice(store) } });
  });

  it("see the events of earlier steps, of agents and code alike", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const { say } = sayTool({}, (word, call) => {
      seen.push(call.session.query(words).all());
      call.session.dispatch(said(word));
    });
    const look = Step.run("look", (_input: Json, ctx) => void seen.push(ctx.session.query(words).all()));
    await runnerFor(store, Pipeline.of("p", saysWord("one"), agentStep("agent", say, "two"), look)).run(
      "Go",
      {
        runId: "r-1",
      },
    );
    expect(seen).toEqual([["one"], ["one", "two"]]);
  });

  it("resume where they stopped, with the session of their last commits", async () => {
    const store = await memoryStore();
    const step = Step.run("speaks", (n: number, ctx) => {
      ctx.session.dispatch(said(`code ${n}`));
      return n + 1;
    });
    const loop = Step.loop("loop", step, { until: (n) => n === 4, maxIterations: 5 });
    await runUntilFailure(runnerFor(store, loop, { probe: crashAt("step:before-finish", 3) }), 1);
    expect(await storedSlice(store)).toEqual(["code 1", "code 2"]);
    await runnerFor(store, loop).resume("r-1");
    expect(await storedSlice(store)).toEqual(["code 1", "code 2", "code 3"]);
  });

  it("lose nothing to a custom step that dispatches events before and after it enters them", async () => {
    const store = await memoryStore();
    const framed: StepNode = { kind: "framed", name: "framed", children: [saysWord("inner")] };
    const executors: RunnerOptions["executors"] = {
      framed: {
        storage: "instance",
        execute: async (step: StepNode, execution: StepExecution) => {
          const { run, path, input, context } = execution;
          execution.session.dispatch(said("before"));
          await execution.enter(must(step.children?.[0]), { run, path, input, context });
          execution.session.dispatch(said("after"));
          return null;
        },
      },
    };
    await runnerFor(store, framed, { executors }).run("Go", { runId: "r-1" });
    expect(new Set(await storedSlice(store))).toEqual(new Set(["after", "before", "inner"]));
    expect(await storedSlice(store)).toHaveLength(3);
  });
});

it("a log slice is stored like a state slice, but is not in checkpoints", async () => {
  const store = await memoryStore();
  const log = defineSlice({
    name: "log",
    kind: "log",
    schema: z.string(),
    reducers: { Said: (all: readonly string[], { word }: { type: string; word: string }) => [...all, word] },
  });
  await runnerFor(store, saysWord("speaks"), { slices: [words, log] }).run("Go", { runId: "r-1" });
  expect(await storedSlice(store, "log")).toEqual(["speaks"]);
  const { snapshot } = must(await store.readCheckpoint("r-1"));
  expect(Object.keys(snapshot.slices as object)).toEqual(["words"]);
});
