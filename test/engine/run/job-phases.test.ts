// Phases, and the checkpoints that record the run's position: at the end of a step, of a phase, and before an effect.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  ConfigurationError,
  type JsonObject,
  NotApplied,
  Pipeline,
  Runner,
  Step,
  type StepNode,
  type Store,
  tool,
} from "../../../src/index.ts";
import type { CrashProbe } from "../../../src/testing/index.ts";
import { acting, actTool, asking, jumpingClock, openWait } from "../call/call-fixture.ts";
import { jobRunner } from "../job-fixture.ts";
import { failureOf, memoryStore, must, noteTool, noting, scriptedAgent } from "../run-fixture.ts";
import {
  checkpointsOf,
  loudly,
  saying,
  sayTool,
  stopsBefore,
  storedSlice,
  words,
} from "../session-fixture.ts";

const passing = (name: string, phase?: string) =>
  Step.run(name, () => name, phase === undefined ? {} : { phase });

async function phasesOf(store: Store): Promise<[string, string][]> {
  return (await store.listSteps("r-1")).map(({ path, phase }) => [path, phase]);
}

async function boundariesOf(pipeline: StepNode): Promise<string[]> {
  const store = await memoryStore();
  await jobRunner(pipeline, store).run("Go", { runId: "r-1" });
  return (await store.listCheckpoints("r-1")).map(({ type, stepPath }) => `${type} ${stepPath}`);
}

async function cursorsOf(store: Store, type: string): Promise<JsonObject[]> {
  return (await store.listCheckpoints("r-1"))
    .filter((checkpoint) => checkpoint.type === type)
    .map(({ cursor }) => cursor);
}

describe("a phase", () => {
  it("is that of the step, or of the enclosing one", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hi" }]);
    const inner = { ...Pipeline.of("inner", passing("a"), passing("b", "render")), phase: "crawl" };
    const pipeline = Pipeline.of(
      "p",
      passing("first"),
      inner,
      Step.granular("talk", agent, { phase: "plan" }),
      Step.loop("again", passing("x"), { until: () => true, maxIterations: 1, phase: "polish" }),
    );
    await jobRunner(pipeline, store).run("Go", { runId: "r-1" });
    expect(await phasesOf(store)).toEqual([
      ["first", ""],
      ["inner/a", "crawl"],
      ["inner/b", "render"],
      ["talk", "plan"],
      ["again", "polish"],
      ["again[1]/x", "polish"],
    ]);
  });

  it("of the pipeline itself applies to all its steps", async () => {
    const store = await memoryStore();
    const pipeline = { ...Pipeline.of("p", passing("a"), passing("b", "other")), phase: "whole" };
    await new Runner(pipeline, { store }).run("Go", { runId: "r-1" });
    expect(await phasesOf(store)).toEqual([
      ["a", "whole"],
      ["b", "other"],
    ]);
  });

  it.each(["", " plan", "plan ", 7])("cannot be named %j", (phase) => {
    expect(() => passing("a", phase as string)).toThrow(ConfigurationError);
    const { agent } = scriptedAgent([]);
    expect(() => Step.granular("a", agent, { phase: phase as string })).toThrow(ConfigurationError);
  });
});

describe("the end of a step", () => {
  it("without a phase and without session events is no checkpoint", async () => {
    expect(await boundariesOf(Pipeline.of("p", passing("a"), passing("b")))).toEqual([]);
  });

  it("is a phase boundary if the next step is in another phase, or there is none", async () => {
    const pipeline = Pipeline.of(
      "p",
      passing("a", "plan"),
      passing("b", "crawl"),
      passing("c", "crawl"),
      passing("d", "send"),
    );
    expect(await boundariesOf(pipeline)).toEqual([
      "phase_boundary a",
      "step_boundary b",
      "phase_boundary c",
      "phase_boundary d",
    ]);
  });

  it("inside of a pipeline that continues in the same phase is no phase boundary", async () => {
    const inner = Pipeline.of("inner", passing("a", "crawl"), passing("b", "crawl"));
    expect(await boundariesOf(Pipeline.of("p", inner, passing("c", "crawl")))).toEqual([
      "step_boundary inner/a",
      "step_boundary inner/b",
      "phase_boundary c",
    ]);
  });

  it("inside of a pipeline with several phases is a boundary of the phase that ends there", async () => {
    const inner = Pipeline.of("inner", passing("a", "plan"), passing("b", "crawl"));
    expect(await boundariesOf(Pipeline.of("p", inner, passing("c", "crawl")))).toEqual([
      "phase_boundary inner/a",
      "step_boundary inner/b",
      "phase_boundary c",
    ]);
    expect(await boundariesOf(Pipeline.of("p", inner, passing("c", "plan")))).toEqual([
      "phase_boundary inner/a",
      "phase_boundary inner/b",
      "phase_boundary c",
    ]);
  });

  it("in a loop is no phase boundary; the phase ends with the loop", async () => {
    const loop = Step.loop(
      "again",
      Step.run("x", (n: number) => n + 1),
      {
        until: (n) => n === 2,
        maxIterations: 3,
        phase: "polish",
      },
    );
    const pipeline = Pipeline.of(
      "p",
      Step.run("zero", () => 0),
      loop,
    );
    expect(await boundariesOf(pipeline)).toEqual([
      "step_boundary again[1]/x",
      "step_boundary again[2]/x",
      "phase_boundary again",
    ]);
  });

  it("records the run's position: phase, step, remaining phases, artifacts and last call", async () => {
    const store = await memoryStore();
    const { note } = noteTool(undefined, { effect: "read_only" });
    const work = Step.run(
      "work",
      async (_input, ctx) => {
        await ctx.artifact("report.md", "One");
        await ctx.call(note, { text: "one" });
      },
      { phase: "crawl" },
    );
    const pipeline = Pipeline.of(
      "p",
      passing("a", "plan"),
      work,
      passing("c", "send"),
      passing("d", "notify"),
    );
    await jobRunner(pipeline, store).run("Go", { runId: "r-1" });
    const [artifact] = await store.listArtifacts("r-1");
    const kept = [{ name: "report.md", hash: must(artifact).hash }];
    const position = { turn: 0, lastToolCall: "r-1/work#0.1", artifacts: kept };
    expect(await cursorsOf(store, "phase_boundary")).toEqual([
      {
        ...position,
        step: "a",
        phase: "plan",
        stepIndex: 1,
        remainingPhases: ["crawl", "send", "notify"],
        lastToolCall: null,
        artifacts: [],
      },
      { ...position, step: "work", phase: "crawl", stepIndex: 2, remainingPhases: ["send", "notify"] },
      { ...position, step: "c", phase: "send", stepIndex: 3, remainingPhases: ["notify"] },
      { ...position, step: "d", phase: "notify", stepIndex: 4, remainingPhases: [] },
    ]);
  });
});

describe("a checkpoint before an effect", () => {
  it("is taken before the calls of a turn are dispatched, and records the state at that moment", async () => {
    const store = await memoryStore();
    const types: string[][] = [];
    const { note } = noteTool(async () => {
      types.push((await store.listCheckpoints("r-1")).map(({ type, turnIndex }) => `${type} ${turnIndex}`));
    });
    const { agent } = scriptedAgent(
      [asking(["note", { text: "one" }]), asking(["note", { text: "two" }]), { text: "End." }],
      { tools: { note } },
    );
    const pipeline = Pipeline.of(
      "p",
      Step.granular("talk", agent, { phase: "crawl" }),
      passing("end", "send"),
    );
    await jobRunner(pipeline, store).run("Go", { runId: "r-1" });
    expect(types).toEqual([["pre_side_effect 1"], ["pre_side_effect 1", "pre_side_effect 2"]]);
    const position = { step: "talk", artifacts: [], phase: "crawl", stepIndex: 1, remainingPhases: ["send"] };
    expect(await cursorsOf(store, "pre_side_effect")).toEqual([
      { ...position, turn: 1, lastToolCall: null },
      { ...position, turn: 2, lastToolCall: "r-1/talk#1.1" },
    ]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("is taken before a code step's call is dispatched, and not again when its receipt is reused", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    let broken = true;
    const work = Step.run(
      "work",
      async (_input, ctx) => {
        await ctx.call(note, { text: "one" });
        if (broken) throw new Error("The process crashed.");
        await ctx.call(note, { text: "two" });
      },
      { phase: "send" },
    );
    const runner = jobRunner(work, store);
    await failureOf(runner.run("Go", { runId: "r-1" }));
    broken = false;
    await runner.resume("r-1");
    expect(done).toEqual(["one", "two"]);
    expect((await cursorsOf(store, "pre_side_effect")).map(({ lastToolCall }) => lastToolCall)).toEqual([
      null,
      "r-1/work#0.1",
    ]);
  });

  it("is taken for a call that waited when it is dispatched, not before", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(() => "done", { approval: true });
    const { agent } = scriptedAgent([acting("a"), { text: "End." }], { tools: { act } });
    const code = Step.run("code", (_input, ctx) => ctx.call(act, { what: "b" }), { phase: "send" });
    const runner = jobRunner(Pipeline.of("p", Step.granular("talk", agent, { phase: "crawl" }), code), store);
    await runner.run("Go", { runId: "r-1" });
    expect(await cursorsOf(store, "pre_side_effect")).toEqual([]);
    await store.approve((await openWait(store)).waitId);
    await runner.resume("r-1");
    expect((await cursorsOf(store, "pre_side_effect")).map(({ step, turn }) => [step, turn])).toEqual([
      ["talk", 1],
    ]);
    await store.approve((await openWait(store)).waitId);
    await runner.resume("r-1");
    expect((await cursorsOf(store, "pre_side_effect")).map(({ step, turn }) => [step, turn])).toEqual([
      ["talk", 1],
      ["code", 0],
    ]);
    expect(whats).toEqual(["a", "b"]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("is taken for a call that was queued behind others, once for all its attempts", async () => {
    const store = await memoryStore();
    const { act } = actTool((n) => {
      if (n === 1) throw new NotApplied("503");
      return "done";
    });
    const { note } = noteTool(undefined, { effect: "read_only" });
    const both = { toolCalls: [...(noting("one").toolCalls ?? []), ...(acting("a").toolCalls ?? [])] };
    const { agent } = scriptedAgent([both, { text: "End." }], { tools: { act, note } });
    const step = Step.granular("talk", agent, { phase: "crawl" });
    const options = { maxParallelToolCalls: 1, clock: jumpingClock() };
    await jobRunner(step, store, options).run("Go", { runId: "r-1" });
    expect((await cursorsOf(store, "pre_side_effect")).map(({ lastToolCall }) => lastToolCall)).toEqual([
      "r-1/talk#1.1",
    ]);
  });

  it("is taken for external and memory effects only, and not without a phase", async () => {
    const effectOf = (effect: "external" | "memory" | "local" | "read_only") =>
      tool({ name: effect, description: "Acts.", inputSchema: z.object({}), effect, execute: () => "done" });
    const calling = (effect: Parameters<typeof effectOf>[0], phase: string) =>
      Step.run(
        `${effect}-${phase || "none"}`,
        (_input, ctx) => ctx.call(effectOf(effect), {}),
        phase === "" ? {} : { phase },
      );
    const store = await memoryStore();
    const pipeline = Pipeline.of(
      "p",
      calling("external", ""),
      calling("external", "a"),
      calling("memory", "a"),
      calling("local", "a"),
      calling("read_only", "a"),
    );
    await jobRunner(pipeline, store).run("Go", { runId: "r-1" });
    expect((await cursorsOf(store, "pre_side_effect")).map(({ step }) => step)).toEqual([
      "external-a",
      "memory-a",
    ]);
  });

  it("is no target of a milestone resume, which uses the last milestone before it", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const options = { slices: [words], checkpointTrigger: loudly };
    const make = (all: readonly string[], probe: CrashProbe = () => undefined) => {
      const script = [...all.map((word) => saying(word)), { text: "End." }];
      const step = Step.granular("talk", scriptedAgent(script, { tools: { say } }).agent, { phase: "crawl" });
      return jobRunner(step, store, { ...options, probe });
    };
    await failureOf(make(["one!", "two"], stopsBefore(3)).run("Go", { runId: "r-1" }));
    expect(await checkpointsOf(store)).toEqual([
      "1 pre_side_effect talk#1",
      "2 milestone talk#1",
      "3 pre_side_effect talk#2",
    ]);
    expect(await storedSlice(store)).toEqual(["one!", "two"]);
    await failureOf(make(["two", "three"], stopsBefore(3)).resume("r-1", { from: "milestone" }));
    // The last checkpoint has both words; the milestone only the first.
    expect(await storedSlice(store)).toEqual(["one!"]);
    expect((await store.listLineages("r-1")).map(({ checkpoint }) => checkpoint)).toEqual([2]);
    expect((await make(["two", "three"]).resume("r-1")).status).toBe("succeeded");
    expect(spoken).toEqual(["one!", "two", "three"]);
  });

  it("is no target of a milestone resume even without any milestone", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const script = [saying("one"), saying("two"), { text: "End." }];
    const make = (probe: CrashProbe) => {
      const step = Step.granular("talk", scriptedAgent(script, { tools: { say } }).agent, { phase: "crawl" });
      return jobRunner(step, store, { slices: [words], probe });
    };
    await failureOf(make(stopsBefore(3)).run("Go", { runId: "r-1" }));
    for (const from of ["milestone", "beginning"] as const) {
      await failureOf(make(stopsBefore((await store.listTurns("r-1")).length + 1)).resume("r-1", { from }));
      expect((await store.listLineages("r-1")).at(-1)?.checkpoint).toBeNull();
      expect(await storedSlice(store)).toEqual([]);
    }
  });
});
