// The session at boundaries: between the last turn of a step and its end, between calls that end in parallel, and
// between an abandoned lineage and the next one.

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

/** An agent step with these answers. */
const agentStep = (
  name: string,
  tools: { readonly [name: string]: Tool },
  ...turns: ReturnType<typeof saying>[]
) => Step.granular(name, scriptedAgent([...turns, { text: "End." }], { name, tools }).agent);

const runnerFor = (store: Store, step: StepNode, options: RunnerOptions) =>
  new Runner(step, { store, checkpointTrigger: loudly, ...options });

describe("session events dispatched after the last commit of a step", () => {
  const onSession = (session: Session) =>
    void session.bus.subscribe("TurnCommitted", ({ step, isComplete }) => {
      if (step === "first" && isComplete) session.dispatch({ type: "Echo", word: "first is done" });
    });

  it("are in the checkpoint of its end, and available to the next step after a milestone resume", async () => {
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

describe("session events dispatched from outside while a code step runs", () => {
  it("are kept along with the events of the code itself", async () => {
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

  it("stays empty for a milestone resume of the next step, even if the worker died before the end of the first", async () => {
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

describe("parallel calls whose events fit the session separately but not together", () => {
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

  it("fail their turn on every resume, and nothing is executed again", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const error = await failureAs(SliceValueError, make(store, say).run("Go", { runId: "r-1" }));
    expect(error.details.slice).toBe("one");
    await failureAs(SliceValueError, make(store, say).resume("r-1"));
    expect([spoken, await storedSlice(store, "one")]).toEqual([["a", "b"], []]);
  });

  it("are reused in a new lineage from a milestone, without the events of the later call", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    await failureAs(SliceValueError, make(store, say).run("Go", { runId: "r-1" }));
    expect((await make(store, say).resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect([spoken, await storedSlice(store, "one")]).toEqual([["a", "b"], [{ words: ["a"] }]]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });
});

describe("a turn that a milestone resume was about to abandon", () => {
  it("is unchanged if that was interrupted: a resume by turn runs its waiting calls", async () => {
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
