// The checkpoint from which the work resumes: the last, an earlier one that was stored elsewhere, or none; in
// pipelines and loops never one from before the end of a finished step.

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

/** Says `one!`, `two!` and `three`, and fails before its fourth turn. `kept` has the milestones from onCheckpoint. */
async function interrupted(store: Store, options: RunnerOptions = {}) {
  const { say, spoken } = sayTool();
  const kept: SavedCheckpoint[] = [];
  const turns = [saying("one!"), saying("two!"), saying("three")];
  const onCheckpoint = (checkpoint: SavedCheckpoint) => void kept.push(checkpoint);
  await runUntilFailure(
    sayer(store, { say }, turns, { onCheckpoint, probe: stopsBefore(4), ...options }).runner,
  );
  return { say, spoken, kept };
}

describe("the work resumes", () => {
  it("from the last checkpoint, without the session events after it", async () => {
    const store = await memoryStore();
    const { say } = await interrupted(store);
    await sayer(store, { say }, []).runner.resume("r-1", { from: "milestone" });
    expect(await storedSlice(store)).toEqual(["one!", "two!"]);
  });

  it("from its beginning if there is no checkpoint", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    await runUntilFailure(
      sayer(store, { say }, [saying("one"), saying("two")], { probe: stopsBefore(3) }).runner,
    );
    const { runner } = sayer(store, { say }, [saying("two")]);
    expect((await runner.resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect([await storedSlice(store), spoken]).toEqual([["two"], ["one", "two"]]);
  });

  it('from its beginning with from: "beginning"', async () => {
    const store = await memoryStore();
    const { say, spoken } = await interrupted(store);
    await sayer(store, { say }, [saying("two!")]).runner.resume("r-1", { from: "beginning" });
    expect([await storedSlice(store), spoken]).toEqual([["two!"], ["one!", "two!", "three"]]);
    expect(await checkpointsOf(store)).toEqual([
      "1 milestone worker#1 superseded",
      "2 milestone worker#2 superseded",
      "3 milestone worker#4",
    ]);
  });

  it("from a checkpoint that was stored elsewhere", async () => {
    const store = await memoryStore();
    const { say, kept } = await interrupted(store);
    // Serialised, as in a file.
    const from = JSON.parse(JSON.stringify(kept[0])) as SavedCheckpoint;
    await sayer(store, { say }, []).runner.resume("r-1", { from });
    expect(await storedSlice(store)).toEqual(["one!"]);
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#1", "2 milestone worker#2 superseded"]);
  });

  it("from the last valid checkpoint if the given one was superseded since", async () => {
    const store = await memoryStore();
    const { say, spoken, kept } = await interrupted(store);
    const back = sayer(store, { say }, [], { probe: crashAt("turn:before-open") }).runner;
    await failureAs(StepFailedError, back.resume("r-1", { from: must(kept[0]) }));
    const { runner } = sayer(store, { say }, [saying("two!")]);
    await runner.resume("r-1", { from: must(kept[1]) });
    expect(await storedSlice(store)).toEqual(["one!", "two!"]);
    expect(spoken).toEqual(["one!", "two!", "three"]);
    expect((await store.listLineages("r-1")).map(({ checkpoint }) => checkpoint)).toEqual([1, 1]);
  });

  it("by turn and not from a milestone by default", async () => {
    const store = await memoryStore();
    const { say } = await interrupted(store);
    const { runner } = sayer(store, { say }, [saying("one!"), saying("two!"), saying("three")]);
    await runner.resume("r-1", { from: "turn" });
    expect(await storedSlice(store)).toEqual(["one!", "two!", "three"]);
    expect(await store.listLineages("r-1")).toEqual([]);
  });
});

describe("the work cannot resume from", () => {
  it.each<[string, unknown]>([
    ["an unknown word", "last"],
    ["null", null],
    ["a number", 3],
    ["an empty object", {}],
    ["a checkpoint without its number", { snapshot: {}, cursor: {} }],
    ["a cursor alone", { cursor: null }],
  ])("%s: it is refused, and the run is unchanged", async (_, from) => {
    const store = await memoryStore();
    const { say } = await interrupted(store);
    const { runner, prompts } = sayer(store, { say }, []);
    const error = await failureAs(ConfigurationError, runner.resume("r-1", { from: from as never }));
    expect(error.message).toMatch(/^A run cannot be resumed from .+: use "turn", "milestone", "beginning"/);
    expect(prompts).toEqual([]);
    expect(await store.listAttempts("r-1")).toHaveLength(1);
  });

  it("a checkpoint that the store does not know", async () => {
    const store = await memoryStore();
    const { say, kept } = await interrupted(store);
    const { snapshot, cursor } = must(kept[0]);
    const from = { snapshot, cursor: { ...cursor, checkpoint: 9 } };
    const refused = sayer(store, { say }, []).runner.resume("r-1", { from });
    expect((await failureAs(CheckpointStoreError, refused)).message).toMatch(/has no checkpoint 9/);
    expect(await storedSlice(store)).toEqual(["one!", "two!", "three"]);
  });

  it("an incomplete checkpoint", async () => {
    const store = await memoryStore();
    const { say, kept } = await interrupted(store);
    const from = { snapshot: { version: 1 }, cursor: must(kept[0]).cursor };
    await failureAs(SnapshotRestoreError, sayer(store, { say }, []).runner.resume("r-1", { from }));
    expect(await storedSlice(store)).toEqual(["one!", "two!", "three"]);
  });

  it("a checkpoint of another run", async () => {
    const store = await memoryStore();
    const { say, kept } = await interrupted(store);
    const other = sayer(store, { say }, [saying("theirs!")], { probe: stopsBefore(2) }).runner;
    await failureAs(StepFailedError, other.run("Go", { runId: "r-2" }));
    const refused = sayer(store, { say }, []).runner.resume("r-2", { from: must(kept[0]) });
    await failureAs(CheckpointStoreError, refused);
    expect(await storedSlice(store, "words", "r-2")).toEqual(["theirs!"]);
  });
});

describe("a complete conversation", () => {
  /** Its last turn is committed, but its step has not ended. */
  async function complete(store: Store) {
    const { say } = sayTool();
    await runUntilFailure(
      sayer(store, { say }, [saying("one!"), saying("two")], { probe: crashAt("step:before-finish") }).runner,
    );
    return say;
  }

  it("is only finished, wherever it should resume from", async () => {
    const store = await memoryStore();
    const say = await complete(store);
    const { runner, prompts } = sayer(store, { say }, []);
    expect((await runner.resume("r-1", { from: "milestone" })).output).toBe("End.");
    expect([prompts, await storedSlice(store)]).toEqual([[], ["one!", "two"]]);
    expect(await store.listLineages("r-1")).toEqual([]);
  });

  it("is only finished by another prompt and model too, which a resume by turn would refuse", async () => {
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
    "a step that resumes from its %s keeps the events of earlier steps",
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

  it("a step that resumes from a checkpoint stored elsewhere keeps later events of earlier steps", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const kept: SavedCheckpoint[] = [];
    const pipeline = (...second: string[]) =>
      Pipeline.of(
        "p",
        step("first", say, "You begin.", ["a!", "b"]),
        step("second", say, "Continue.", second),
      );
    const onCheckpoint = (checkpoint: SavedCheckpoint) => void kept.push(checkpoint);
    await runUntilFailure(run(store, pipeline("c"), { onCheckpoint, probe: stopsBefore(2, "second") }));
    await run(store, pipeline("d")).resume("r-1", { from: must(kept[0]) });
    expect(await storedSlice(store)).toEqual(["a!", "b", "d"]);
  });

  it("a step that has not begun begins with the session of the earlier steps", async () => {
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

  it("only the current step rolls back: later steps begin normally", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const pipeline = (...first: string[]) =>
      Pipeline.of("p", step("first", say, "Begin.", first), step("second", say, "Continue.", ["x", "y"]));
    await runUntilFailure(run(store, pipeline("a!", "b"), { probe: stopsBefore(3, "first") }));
    await run(store, pipeline("c")).resume("r-1", { from: "milestone" });
    expect([await storedSlice(store), spoken]).toEqual([
      ["a!", "c", "x", "y"],
      ["a!", "b", "c", "x", "y"],
    ]);
    expect(await store.listLineages("r-1")).toHaveLength(1);
  });

  describe("in a loop", () => {
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

    it("an iteration resumes with another prompt, which later iterations use too", async () => {
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

    it("later steps of an iteration begin with other prompts too", async () => {
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

it("a log is not rolled back, and reused receipts are not in it twice", async () => {
  const store = await memoryStore();
  const log = defineSlice({
    name: "log",
    kind: "log",
    schema: z.string(),
    reducers: { Said: append(({ word }: { type: "Said"; word: string }) => word) },
  });
  const slices = [words, log];
  const { say, spoken } = await interrupted(store, { slices });
  const { runner } = sayer(store, { say }, [saying("three"), saying("four")], { slices });
  await runner.resume("r-1", { from: "milestone" });
  expect(spoken).toEqual(["one!", "two!", "three", "four"]);
  expect(await storedSlice(store)).toEqual(["one!", "two!", "three", "four"]);
  expect(await storedSlice(store, "log")).toEqual(["one!", "two!", "three", "four"]);
});
