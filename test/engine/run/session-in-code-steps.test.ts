// The session in code steps, and what becomes of it from step to step: it changes when a step ends well, and a step that
// holds others takes nothing back of what they did.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  CheckpointTrigger,
  ConfigurationError,
  defineSlice,
  type Frame,
  type Json,
  Pipeline,
  Runner,
  type RunnerOptions,
  type SessionView,
  Step,
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

/** A step whose code says a word. */
const telling = (name: string, word = name) =>
  Step.run(name, (_input: Json, ctx) => ctx.session.dispatch(said(word)));

/** An agent's step that says these words, one a turn. */
function agentStep(name: string, say: Tool, ...all: string[]) {
  const script = [...all.map((word) => saying(word)), { text: "End." }];
  const { agent } = scriptedAgent(script, { name, tools: { say } });
  return Step.granular(name, agent);
}

describe("what code tells the session", () => {
  it("is seen by that code at once, and takes effect when its step has ended", async () => {
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

  it("joins what the tools tell that it calls, in the order in which it meets them", async () => {
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

  it("is found by the tools that it calls", async () => {
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

  it("takes no effect where the step fails, and a resume begins without it", async () => {
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
    "and its tools is told once, where the step is interrupted at %s",
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

  it("is told once for calls that have one effect, however often the code asks", async () => {
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

  it("is not told by a call that failed, which code may catch", async () => {
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

  it("is refused where it does not fit, and the code may catch that", async () => {
    const store = await memoryStore();
    const step = Step.run("code", (_input: Json, ctx) => {
      expect(() => ctx.session.dispatch(said("far too long for a word"))).toThrow(/words: /);
      ctx.session.dispatch(said("short"));
    });
    await runnerFor(store, step).run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["short"]);
  });

  it("is refused once the step has ended", async () => {
    const store = await memoryStore();
    const kept: SessionView[] = [];
    const step = Step.run("code", (_input: Json, ctx) => void kept.push(ctx.session));
    await runnerFor(store, step).run("Go", { runId: "r-1" });
    const late = () => must(kept[0]).dispatch(said("late"));
    expect(late).toThrow(ConfigurationError);
    expect(late).toThrow(/The step has ended/);
  });
});

describe("a step that has ended", () => {
  it("leaves a checkpoint where the session has changed, and none where it has not", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const pipeline = Pipeline.of(
      "p",
      telling("tells"),
      Step.run("is-silent", () => null),
      agentStep("talks", say, "two"),
      Step.run("rests", () => null),
    );
    await runnerFor(store, pipeline).run("Go", { runId: "r-1" });
    expect(await checkpointsOf(store)).toEqual(["1 step_boundary tells#0", "2 step_boundary talks#0"]);
    const [first, second] = await Promise.all([1, 2].map((n) => store.readCheckpoint("r-1", n)));
    expect(must(first).snapshot.slices).toEqual({ words: { version: 1, values: ["tells"] } });
    expect(must(first).cursor).toEqual({
      step: "tells",
      turn: 0,
      lastToolCall: null,
      artifacts: [],
      phase: "",
      stepIndex: 1,
      remainingPhases: [],
    });
    expect(must(second).snapshot.slices).toEqual({ words: { version: 1, values: ["tells", "two"] } });
    expect(must(second).cursor).toMatchObject({ lastToolCall: "r-1/talks#1.1" });
  });

  it("leaves none where the agent's last milestone holds everything", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const options = { checkpointTrigger: new CheckpointTrigger({ eventTypes: ["Said"] }) };
    const pipeline = Pipeline.of(
      "p",
      agentStep("talks", say, "one"),
      Step.run("rests", () => null),
    );
    await runnerFor(store, pipeline, options).run("Go", { runId: "r-1" });
    expect(await checkpointsOf(store)).toEqual(["1 milestone talks#1"]);
  });

  it("leaves one in a new process too, where the one before it changed the session and died", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const step = agentStep("talks", say, "one");
    await runUntilFailure(runnerFor(store, step, { probe: crashAt("turn:committed", 2) }));
    await runnerFor(store, step).resume("r-1");
    expect(await checkpointsOf(store)).toEqual(["1 step_boundary talks#0"]);
  });

  it("leaves none in a new process, where the one before it left the session as its checkpoint has it", async () => {
    const store = await memoryStore();
    const pipeline = Pipeline.of(
      "p",
      telling("tells"),
      Step.run("rests", () => null),
    );
    await runUntilFailure(runnerFor(store, pipeline, { probe: crashAt("step:before-finish", 2) }));
    await runnerFor(store, pipeline).resume("r-1");
    expect(await checkpointsOf(store)).toEqual(["1 step_boundary tells#0"]);
  });

  it("has its checkpoint in the very commit of its end: a refused one leaves neither", async () => {
    const store = await memoryStore();
    const refusing = tapped(store, (intent) => {
      if (intent === "finishStep") throw new Error("No.");
    });
    await runUntilFailure(runnerFor(refusing, telling("tells")));
    expect([await storedSlice(store), await checkpointsOf(store)]).toEqual([[], []]);
  });

  it("is in the checkpoint of its end with what an observer made of its last change", async () => {
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
        Step.run("rests", () => null),
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

describe("steps inside of steps", () => {
  it("keep what they told, in loops and pipelines, in their order", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const body = Pipeline.of(
      "body",
      Step.run("tells", (n: number, ctx) => {
        ctx.session.dispatch(said(`code ${n}`));
        return n + 1;
      }),
      Step.run("asks", async (n: number, ctx) => {
        await ctx.call(say, { word: `tool ${n}` });
        return n;
      }),
    );
    const loop = Step.loop("loop", body, { until: (n) => n === 3, maxIterations: 5 });
    const outer = Step.loop("outer", Pipeline.of("inner", loop, telling("after")), {
      until: () => true,
      maxIterations: 1,
    });
    await runnerFor(store, outer).run(1, { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["code 1", "tool 2", "code 2", "tool 3", "after"]);
    const whole = must(await store.readCheckpoint("r-1")).snapshot.slices;
    expect(whole).toEqual({ words: { version: 1, values: await storedSlice(store) } });
  });

  it("see what those before them told, agents and code alike", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const { say } = sayTool({}, (word, call) => {
      seen.push(call.session.query(words).all());
      call.session.dispatch(said(word));
    });
    const look = Step.run("look", (_input: Json, ctx) => void seen.push(ctx.session.query(words).all()));
    await runnerFor(store, Pipeline.of("p", telling("one"), agentStep("agent", say, "two"), look)).run("Go", {
      runId: "r-1",
    });
    expect(seen).toEqual([["one"], ["one", "two"]]);
  });

  it("are gone on with where they were left, with the session as their commits left it", async () => {
    const store = await memoryStore();
    const step = Step.run("tells", (n: number, ctx) => {
      ctx.session.dispatch(said(`code ${n}`));
      return n + 1;
    });
    const loop = Step.loop("loop", step, { until: (n) => n === 4, maxIterations: 5 });
    await runUntilFailure(runnerFor(store, loop, { probe: crashAt("step:before-finish", 3) }), 1);
    expect(await storedSlice(store)).toEqual(["code 1", "code 2"]);
    await runnerFor(store, loop).resume("r-1");
    expect(await storedSlice(store)).toEqual(["code 1", "code 2", "code 3"]);
  });

  it("lose nothing to a step of one's own kind that tells the session before and after it enters them", async () => {
    const store = await memoryStore();
    const framed: StepNode = { kind: "framed", name: "framed", children: [telling("inner")] };
    const executors: RunnerOptions["executors"] = {
      framed: {
        storage: "instance",
        execute: async (step: StepNode, frame: Frame) => {
          const { run, path, input, context } = frame;
          frame.session.dispatch(said("before"));
          await frame.enter(must(step.children?.[0]), { run, path, input, context });
          frame.session.dispatch(said("after"));
          return null;
        },
      },
    };
    await runnerFor(store, framed, { executors }).run("Go", { runId: "r-1" });
    expect(new Set(await storedSlice(store))).toEqual(new Set(["after", "before", "inner"]));
    expect(await storedSlice(store)).toHaveLength(3);
  });
});

it("a log is kept like a state, and is not in checkpoints", async () => {
  const store = await memoryStore();
  const log = defineSlice({
    name: "log",
    kind: "log",
    schema: z.string(),
    reducers: { Said: (all: readonly string[], { word }: { type: string; word: string }) => [...all, word] },
  });
  await runnerFor(store, telling("tells"), { slices: [words, log] }).run("Go", { runId: "r-1" });
  expect(await storedSlice(store, "log")).toEqual(["tells"]);
  const { snapshot } = must(await store.readCheckpoint("r-1"));
  expect(Object.keys(snapshot.slices as object)).toEqual(["words"]);
});
