// Which checkpoint the work goes on from: the last, an earlier one that was kept elsewhere, none at all; in pipelines and
// loops never one from before the end of a step that is over.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  append,
  CheckpointStoreError,
  ConfigurationError,
  defineSlice,
  type Json,
  Pipeline,
  ResumeError,
  Runner,
  type RunnerOptions,
  type SavedCheckpoint,
  SnapshotRestoreError,
  Step,
  StepFailedError,
  type StepNode,
  type Store,
  type Tool,
} from "../../../src/index.ts";
import { crashAt } from "../call/call-fixture.ts";
import { failureAs, memoryStore, must, scriptedAgent } from "../run-fixture.ts";
import {
  checkpointsOf,
  loudly,
  runUntilFailure,
  said,
  sayer,
  saying,
  sayTool,
  stopsBefore,
  storedSlice,
  words,
} from "../session-fixture.ts";

/** Says `one!`, `two!` and `three`, and fails before its fourth turn. `kept` are the milestones as they were told. */
async function left(store: Store, options: RunnerOptions = {}) {
  const { say, spoken } = sayTool();
  const kept: SavedCheckpoint[] = [];
  const turns = [saying("one!"), saying("two!"), saying("three")];
  const onCheckpoint = (checkpoint: SavedCheckpoint) => void kept.push(checkpoint);
  await runUntilFailure(
    sayer(store, { say }, turns, { onCheckpoint, probe: stopsBefore(4), ...options }).runner,
  );
  return { say, spoken, kept };
}

describe("the work goes on", () => {
  it("from the last checkpoint, and what came after it is not in the session", async () => {
    const store = await memoryStore();
    const { say } = await left(store);
    await sayer(store, { say }, []).runner.resume("r-1", { from: "milestone" });
    expect(await storedSlice(store)).toEqual(["one!", "two!"]);
  });

  it("from its beginning, where there is no checkpoint", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    await runUntilFailure(
      sayer(store, { say }, [saying("one"), saying("two")], { probe: stopsBefore(3) }).runner,
    );
    const { runner } = sayer(store, { say }, [saying("two")]);
    expect((await runner.resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect([await storedSlice(store), spoken]).toEqual([["two"], ["one", "two"]]);
  });

  it("from its beginning, where that is asked for", async () => {
    const store = await memoryStore();
    const { say, spoken } = await left(store);
    await sayer(store, { say }, [saying("two!")]).runner.resume("r-1", { from: "beginning" });
    expect([await storedSlice(store), spoken]).toEqual([["two!"], ["one!", "two!", "three"]]);
    expect(await checkpointsOf(store)).toEqual([
      "1 milestone worker#1 superseded",
      "2 milestone worker#2 superseded",
      "3 milestone worker#4",
    ]);
  });

  it("from a checkpoint that was kept elsewhere", async () => {
    const store = await memoryStore();
    const { say, kept } = await left(store);
    // Kept as text, as a file keeps it.
    const from = JSON.parse(JSON.stringify(kept[0])) as SavedCheckpoint;
    await sayer(store, { say }, []).runner.resume("r-1", { from });
    expect(await storedSlice(store)).toEqual(["one!"]);
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#1", "2 milestone worker#2 superseded"]);
  });

  it("from the last checkpoint that holds, where the one given was gone back behind since", async () => {
    const store = await memoryStore();
    const { say, spoken, kept } = await left(store);
    const back = sayer(store, { say }, [], { probe: crashAt("turn:before-open") }).runner;
    await failureAs(StepFailedError, back.resume("r-1", { from: must(kept[0]) }));
    const { runner } = sayer(store, { say }, [saying("two!")]);
    await runner.resume("r-1", { from: must(kept[1]) });
    expect(await storedSlice(store)).toEqual(["one!", "two!"]);
    expect(spoken).toEqual(["one!", "two!", "three"]);
    expect((await store.listLineages("r-1")).map(({ checkpoint }) => checkpoint)).toEqual([1, 1]);
  });

  it("by turn and not from a milestone, where nobody says so", async () => {
    const store = await memoryStore();
    const { say } = await left(store);
    const { runner } = sayer(store, { say }, [saying("one!"), saying("two!"), saying("three")]);
    await runner.resume("r-1", { from: "turn" });
    expect(await storedSlice(store)).toEqual(["one!", "two!", "three"]);
    expect(await store.listLineages("r-1")).toEqual([]);
  });
});

describe("what the work cannot go on from", () => {
  it.each<[string, unknown]>([
    ["a word that is none of ours", "last"],
    ["null", null],
    ["a number", 3],
    ["an empty object", {}],
    ["a checkpoint without its number", { snapshot: {}, cursor: {} }],
    ["a cursor alone", { cursor: null }],
  ])("is %s: it is refused, and the run is as it was", async (_, from) => {
    const store = await memoryStore();
    const { say } = await left(store);
    const { runner, prompts } = sayer(store, { say }, []);
    const error = await failureAs(ConfigurationError, runner.resume("r-1", { from: from as never }));
    expect(error.message).toMatch(/^A run cannot be resumed from .+: use "turn", "milestone", "beginning"/);
    expect(prompts).toEqual([]);
    expect(await store.listAttempts("r-1")).toHaveLength(1);
  });

  it("is a checkpoint that the store does not know", async () => {
    const store = await memoryStore();
    const { say, kept } = await left(store);
    const { snapshot, cursor } = must(kept[0]);
    const from = { snapshot, cursor: { ...cursor, checkpoint: 9 } };
    const refused = sayer(store, { say }, []).runner.resume("r-1", { from });
    expect((await failureAs(CheckpointStoreError, refused)).message).toMatch(/has no checkpoint 9/);
    expect(await storedSlice(store)).toEqual(["one!", "two!", "three"]);
  });

  it("is a checkpoint that is not whole", async () => {
    const store = await memoryStore();
    const { say, kept } = await left(store);
    const from = { snapshot: { version: 1 }, cursor: must(kept[0]).cursor };
    await failureAs(SnapshotRestoreError, sayer(store, { say }, []).runner.resume("r-1", { from }));
    expect(await storedSlice(store)).toEqual(["one!", "two!", "three"]);
  });

  it("is a checkpoint of another run", async () => {
    const store = await memoryStore();
    const { say, kept } = await left(store);
    const other = sayer(store, { say }, [saying("theirs!")], { probe: stopsBefore(2) }).runner;
    await failureAs(StepFailedError, other.run("Go", { runId: "r-2" }));
    const refused = sayer(store, { say }, []).runner.resume("r-2", { from: must(kept[0]) });
    await failureAs(CheckpointStoreError, refused);
    expect(await storedSlice(store, "words", "r-2")).toEqual(["theirs!"]);
  });
});

describe("a conversation that is complete", () => {
  /** Its last turn is committed, and its step has not ended. */
  async function complete(store: Store) {
    const { say } = sayTool();
    await runUntilFailure(
      sayer(store, { say }, [saying("one!"), saying("two")], { probe: crashAt("step:before-finish") }).runner,
    );
    return say;
  }

  it("is just finished, from wherever it is to go on", async () => {
    const store = await memoryStore();
    const say = await complete(store);
    const { runner, prompts } = sayer(store, { say }, []);
    expect((await runner.resume("r-1", { from: "milestone" })).output).toBe("End.");
    expect([prompts, await storedSlice(store)]).toEqual([[], ["one!", "two"]]);
    expect(await store.listLineages("r-1")).toEqual([]);
  });

  it("is just finished by another prompt and model too, which a turn would refuse", async () => {
    const store = await memoryStore();
    const say = await complete(store);
    const { agent, prompts } = scriptedAgent([], { instructions: "Other.", tools: { say } });
    const runner = new Runner(agent, { store, slices: [words] });
    await failureAs(ResumeError, runner.resume("r-1"));
    expect((await runner.resume("r-1", { from: "milestone" })).output).toBe("End.");
    expect([prompts, await storedSlice(store)]).toEqual([[], ["one!", "two"]]);
  });
});

describe("in a pipeline", () => {
  const step = (name: string, say: Tool, instructions: string, all: readonly string[]) => {
    const script = [...all.map((word) => saying(word)), { text: `${name} is done.` }];
    return Step.granular(name, scriptedAgent(script, { name, instructions, tools: { say } }).agent);
  };
  const run = (store: Store, pipeline: StepNode, options: RunnerOptions = {}) =>
    new Runner(pipeline, { store, slices: [words], checkpointTrigger: loudly, ...options });

  it.each(["milestone", "beginning"] as const)(
    "a step that goes on from its %s leaves what the steps before it did",
    async (from) => {
      const store = await memoryStore();
      const { say, spoken } = sayTool();
      const pipeline = (instructions: string, ...second: string[]) =>
        Pipeline.of(
          "p",
          step("first", say, "You begin.", ["a!", "b"]),
          Step.run("code", (_input: Json, ctx) => ctx.session.dispatch(said("c"))),
          step("second", say, instructions, second),
        );
      await runUntilFailure(run(store, pipeline("Old.", "d", "e"), { probe: stopsBefore(3, "second") }));
      expect(await storedSlice(store)).toEqual(["a!", "b", "c", "d", "e"]);
      const first = must(await store.readGranularState("r-1", "first"));
      await run(store, pipeline("New.", "f")).resume("r-1", { from });
      expect(await storedSlice(store)).toEqual(["a!", "b", "c", "f"]);
      expect(spoken).toEqual(["a!", "b", "d", "e", "f"]);
      expect(must(await store.readGranularState("r-1", "first"))).toEqual(first);
      expect((await store.listLineages("r-1")).map(({ stepPath }) => stepPath)).toEqual(["second"]);
    },
  );

  it("a step that goes on from a checkpoint kept elsewhere leaves what the steps before it did after that", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const kept: SavedCheckpoint[] = [];
    const pipeline = (...second: string[]) =>
      Pipeline.of("p", step("first", say, "You begin.", ["a!", "b"]), step("second", say, "Go on.", second));
    const onCheckpoint = (checkpoint: SavedCheckpoint) => void kept.push(checkpoint);
    await runUntilFailure(run(store, pipeline("c"), { onCheckpoint, probe: stopsBefore(2, "second") }));
    await run(store, pipeline("d")).resume("r-1", { from: must(kept[0]) });
    expect(await storedSlice(store)).toEqual(["a!", "b", "d"]);
  });

  it("a step that has not begun begins, with what those before it left", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const pipeline = (instructions: string) =>
      Pipeline.of(
        "p",
        step("first", say, "You begin.", ["a!", "b"]),
        step("second", say, instructions, ["c"]),
      );
    await runUntilFailure(run(store, pipeline("Old."), { probe: crashAt("step:finished") }));
    await run(store, pipeline("New.")).resume("r-1", { from: "milestone" });
    expect(await storedSlice(store)).toEqual(["a!", "b", "c"]);
    expect(await store.listLineages("r-1")).toEqual([]);
  });

  it("only the step at work goes back: those after it begin as ever", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const pipeline = (...first: string[]) =>
      Pipeline.of("p", step("first", say, "Begin.", first), step("second", say, "Go on.", ["x", "y"]));
    await runUntilFailure(run(store, pipeline("a!", "b"), { probe: stopsBefore(3, "first") }));
    await run(store, pipeline("c")).resume("r-1", { from: "milestone" });
    expect([await storedSlice(store), spoken]).toEqual([
      ["a!", "c", "x", "y"],
      ["a!", "b", "c", "x", "y"],
    ]);
    expect(await store.listLineages("r-1")).toHaveLength(1);
  });

  describe("of a loop", () => {
    const loop = (say: Tool, instructions: string, script: (iteration: number) => string[]) => {
      const { agent } = scriptedAgent(
        ({ turn, options }) => {
          const iteration = Number(JSON.stringify(options.prompt[1]).match(/round (\d)/)?.[1]);
          const word = script(iteration)[turn - 1];
          return word === undefined ? { text: `round ${iteration + 1}` } : saying(word);
        },
        { instructions, tools: { say } },
      );
      const until = (output: unknown) => output === "round 4";
      return Step.loop("loop", Step.granular("work", agent), { until, maxIterations: 5 });
    };
    const wordsOf = (n: number) => [`${n}a!`, `${n}b`];

    it("an iteration goes on with another prompt, and so do those after it", async () => {
      const store = await memoryStore();
      const { say, spoken } = sayTool();
      const probe = stopsBefore(3, "loop[2]/work");
      const started = run(store, loop(say, "Old.", wordsOf), { probe });
      await failureAs(StepFailedError, started.run("round 1", { runId: "r-1" }));
      const changed = run(
        store,
        loop(say, "New.", (n) => [`${n}c`]),
      );
      await failureAs(ResumeError, changed.resume("r-1"));
      expect((await changed.resume("r-1", { from: "milestone" })).output).toBe("round 4");
      expect(await storedSlice(store)).toEqual(["1a!", "1b", "2a!", "2c", "3c"]);
      expect(spoken).toEqual(["1a!", "1b", "2a!", "2b", "2c", "3c"]);
    });

    it("the steps of an iteration after the one at work begin with other prompts too", async () => {
      const store = await memoryStore();
      const { say, spoken } = sayTool();
      const two = (instructions: string) => {
        const body = Pipeline.of(
          "body",
          step("draft", say, instructions, ["a!", "b"]),
          step("check", say, instructions, ["c"]),
        );
        let rounds = 0;
        return Step.loop("loop", body, { until: () => ++rounds === 2, maxIterations: 3 });
      };
      await runUntilFailure(run(store, two("Old."), { probe: stopsBefore(3, "loop[2]/body/draft") }));
      await run(store, two("New.")).resume("r-1", { from: "milestone" });
      expect(spoken.filter((word) => word === "c").length).toBeGreaterThan(1);
      expect((await store.listLineages("r-1")).map(({ stepPath }) => stepPath)).toEqual([
        "loop[2]/body/draft",
      ]);
    });

    it("an iteration that has not begun begins with another prompt", async () => {
      for (const probe of [crashAt("loop:decided"), crashAt("step:begun", 3)]) {
        const store = await memoryStore();
        const { say } = sayTool();
        const started = run(store, loop(say, "Old.", wordsOf), { probe });
        await failureAs(StepFailedError, started.run("round 1", { runId: "r-1" }));
        const changed = run(
          store,
          loop(say, "New.", (n) => [`${n}c`]),
        );
        expect((await changed.resume("r-1", { from: "milestone" })).output).toBe("round 4");
        expect(await storedSlice(store)).toEqual(["1a!", "1b", "2c", "3c"]);
      }
    });
  });
});

it("a log is not rolled back, and what is met again is not in it twice", async () => {
  const store = await memoryStore();
  const log = defineSlice({
    name: "log",
    kind: "log",
    schema: z.string(),
    reducers: { Said: append(({ word }: { type: "Said"; word: string }) => word) },
  });
  const slices = [words, log];
  const { say, spoken } = await left(store, { slices });
  const { runner } = sayer(store, { say }, [saying("three"), saying("four")], { slices });
  await runner.resume("r-1", { from: "milestone" });
  expect(spoken).toEqual(["one!", "two!", "three", "four"]);
  expect(await storedSlice(store)).toEqual(["one!", "two!", "three", "four"]);
  expect(await storedSlice(store, "log")).toEqual(["one!", "two!", "three", "four"]);
});
