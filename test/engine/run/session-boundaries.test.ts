// What the session holds where one thing ends and another begins: between the last turn of a step and its end, between
// calls that end side by side, and between a line of history that is left and the next one.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  append,
  CheckpointTrigger,
  defineSlice,
  type Json,
  Pipeline,
  Runner,
  type RunnerOptions,
  type Session,
  SliceValueError,
  Step,
  StepFailedError,
  type StepNode,
  type Store,
  type Tool,
  tool,
} from "../../../src/index.ts";
import { asking, crashAt } from "../call/call-fixture.ts";
import { failureAs, memoryStore, must, scriptedAgent } from "../run-fixture.ts";
import {
  checkpointsOf,
  loudly,
  runUntilFailure,
  type Said,
  said,
  sayer,
  saying,
  sayTool,
  stopsBefore,
  storedSlice,
  words,
} from "../session-fixture.ts";

type Echo = { readonly type: "Echo"; readonly word: string };

const echoes = defineSlice({
  name: "echoes",
  schema: z.string(),
  reducers: { Echo: append(({ word }: Echo) => word) },
});

/** An agent's step that gives these answers, and ends. */
const agentStep = (
  name: string,
  tools: { readonly [name: string]: Tool },
  ...turns: ReturnType<typeof saying>[]
) => Step.granular(name, scriptedAgent([...turns, { text: "End." }], { name, tools }).agent);

const runnerFor = (store: Store, step: StepNode, options: RunnerOptions) =>
  new Runner(step, { store, checkpointTrigger: loudly, ...options });

describe("what is told to the session after the last commit of a step", () => {
  const onSession = (session: Session) =>
    void session.bus.subscribe("TurnCommitted", ({ step, isComplete }) => {
      if (step === "first" && isComplete) session.dispatch({ type: "Echo", word: "first is done" });
    });

  it("is in the checkpoint of its end, and there for the next step that goes back", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const make = (options: RunnerOptions = {}) => {
      const steps = Pipeline.of(
        "p",
        agentStep("first", { say }, saying("one!")),
        agentStep("second", { say }, saying("two")),
      );
      return runnerFor(store, steps, { slices: [words, echoes], onSession, ...options });
    };
    await runUntilFailure(make({ probe: stopsBefore(2, "second") }));
    expect(await checkpointsOf(store)).toEqual(["1 milestone first#1", "2 step_boundary first#0"]);
    await make().resume("r-1", { from: "milestone" });
    expect(await storedSlice(store, "echoes")).toEqual(["first is done"]);
    expect(await storedSlice(store)).toEqual(["one!", "two"]);
  });
});

describe("what is told to the session while code is at work", () => {
  it("that has told it something itself is kept like that", async () => {
    const store = await memoryStore();
    const sessions: Session[] = [];
    const code = Step.run("code", async (_input: Json, ctx) => {
      ctx.session.dispatch(said("from code"));
      await new Promise(setImmediate);
      must(sessions[0]).dispatch({ type: "Echo", word: "from outside" });
      must(sessions[0]).dispatch(said("from outside"));
      return [...ctx.session.query(words).all()];
    });
    const { output } = await runnerFor(store, code, {
      slices: [words, echoes],
      onSession: (session) => void sessions.push(session),
    }).run("Go", { runId: "r-1" });
    expect(output).toEqual(["from outside", "from code"]);
    expect(await storedSlice(store)).toEqual(["from outside", "from code"]);
    expect(await storedSlice(store, "echoes")).toEqual(["from outside"]);
  });
});

describe("a session that was emptied after its last checkpoint", () => {
  const todo = defineSlice({
    name: "todo",
    schema: z.string(),
    reducers: { Added: append(({ word }: { type: "Added"; word: string }) => word), Cleared: () => [] },
  });
  const change = tool({
    name: "change",
    description: "Changes what is to do.",
    inputSchema: z.object({ type: z.enum(["Added", "Cleared"]) }),
    effect: "local",
    recovery: "repeat",
    dedupe: "call",
    execute: ({ type }, { session }) => session.dispatch({ type, word: "sweep" }),
  });
  const added = asking(["change", { type: "Added" }]);
  const cleared = asking(["change", { type: "Cleared" }]);

  it("is empty in the next step too, though the worker died before the end of the step and that one goes back", async () => {
    const store = await memoryStore();
    const make = (options: RunnerOptions = {}) => {
      const steps = Pipeline.of(
        "p",
        agentStep("first", { change }, added, cleared),
        agentStep("second", { change }, cleared),
      );
      const checkpointTrigger = new CheckpointTrigger({ eventTypes: ["Added"] });
      return runnerFor(store, steps, { slices: [todo], checkpointTrigger, ...options });
    };
    await runUntilFailure(make({ probe: stopsBefore(3, "first") }));
    await failureAs(StepFailedError, make({ probe: stopsBefore(2, "second") }).resume("r-1"));
    expect(await checkpointsOf(store)).toEqual(["1 milestone first#1", "2 step_boundary first#0"]);
    const begun = make({ probe: crashAt("lineage:begun") }).resume("r-1", { from: "milestone" });
    await failureAs(StepFailedError, begun);
    expect(await storedSlice(store, "todo")).toEqual([]);
    expect((await store.listLineages("r-1")).map(({ checkpoint }) => checkpoint)).toEqual([2]);
  });
});

describe("calls side by side that fit the session each by itself, and not together", () => {
  const one = defineSlice({
    name: "one",
    schema: z.object({ words: z.array(z.string()).max(1) }),
    reducers: {
      Said: (all: readonly { words: string[] }[], { word }: Said) => [
        { words: [...(all[0]?.words ?? []), word] },
      ],
    },
  });
  const make = (store: Store, say: Tool) =>
    sayer(store, { say }, [saying("a", "b")], { slices: [one] }).runner;

  it("fail their turn, as often as it is gone on with, and nothing is said again", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const error = await failureAs(SliceValueError, make(store, say).run("Go", { runId: "r-1" }));
    expect(error.details.slice).toBe("one");
    await failureAs(SliceValueError, make(store, say).resume("r-1"));
    expect([spoken, await storedSlice(store, "one")]).toEqual([["a", "b"], []]);
  });

  it("are met in a line that goes on from a milestone, which leaves out what the later one told", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    await failureAs(SliceValueError, make(store, say).run("Go", { runId: "r-1" }));
    expect((await make(store, say).resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect([spoken, await storedSlice(store, "one")]).toEqual([["a", "b"], [{ words: ["a"] }]]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });
});

describe("a turn that was about to be left for a milestone", () => {
  it("is as it was where that was interrupted: going on by turn runs what waits in it", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool({ approval: ({ word }) => word === "two" });
    const make = (options: RunnerOptions = {}) =>
      sayer(store, { say }, [saying("one!"), saying("two")], options).runner;
    expect((await make().run("Go", { runId: "r-1" })).status).toBe("waiting");
    await store.approve("r-1~1");
    const leaving = make({ probe: crashAt("lineage:before-begin") });
    await failureAs(StepFailedError, leaving.resume("r-1", { from: "milestone" }));
    expect(await store.listLineages("r-1")).toEqual([]);
    await make().resume("r-1");
    expect(spoken).toEqual(["one!", "two"]);
  });
});
