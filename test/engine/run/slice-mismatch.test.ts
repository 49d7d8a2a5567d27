// A new version whose slices differ from the stored session: it stops, starts over or repairs it, as configured; and
// migrations that convert older values.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  ConfigurationError,
  DurableMainLoop,
  defineSlice,
  type RunnerOptions,
  type Slice,
  type SliceMismatch,
  SnapshotRestoreError,
  StepFailedError,
  type Store,
} from "../../../src/index.ts";
import { collect, failureAs, memoryStore, must, scriptedAgent } from "../run-fixture.ts";
import { BOTH_STORES } from "../runner/main-loop-fixture.ts";
import {
  loudly,
  runUntilFailure,
  sayer,
  saying,
  sayTool,
  stopsBefore,
  storedSlice,
  words,
} from "../session-fixture.ts";

/** The length of each word: a slice that the next version may not have. */
const volumes = defineSlice({
  name: "volumes",
  schema: z.number(),
  reducers: {
    Said: (all: readonly number[], { word }: { type: string; word: string }) => [...all, word.length],
  },
});

const OLD = [words, volumes];
const NEW = [words];

const dropVolumes: SliceMismatch = ({ volumes: _, ...rest }) => rest;

/** Says `one!`, a milestone, and `two`, and fails before its third turn. */
async function left(store: Store, slices: readonly Slice[] = OLD) {
  const { say, spoken } = sayTool();
  const turns = [saying("one!"), saying("two")];
  await runUntilFailure(sayer(store, { say }, turns, { slices, probe: stopsBefore(3) }).runner);
  return { say, spoken };
}

describe("a slice that the new version does not have", () => {
  const resuming = async (
    from: "turn" | "milestone",
    options: RunnerOptions,
    turns = [saying("one!"), saying("two")],
  ) => {
    const store = await memoryStore();
    const { say, spoken } = await left(store);
    const { runner, prompts } = sayer(store, { say }, turns, { slices: NEW, ...options });
    return { store, spoken, prompts, resumed: runner.resume("r-1", { from }) };
  };

  it.each(["turn", "milestone"] as const)("stops a run that resumes from its %s by default", async (from) => {
    const { store, spoken, prompts, resumed } = await resuming(from, {});
    const error = await failureAs(SnapshotRestoreError, resumed);
    expect(error.details).toEqual({ reason: "unknown_slice", slice: "volumes" });
    expect([prompts, spoken]).toEqual([[], ["one!", "two"]]);
    expect(await store.listLineages("r-1")).toEqual([]);
    // Nothing is lost: the old version can resume.
    const { say } = sayTool();
    const old = sayer(store, { say }, [saying("one!"), saying("two")], { slices: OLD });
    await old.runner.resume("r-1");
    expect(await storedSlice(store, "volumes")).toEqual([4, 3]);
  });

  it.each(["turn", "milestone"] as const)(
    'starts the work over from a %s with "fresh", and executes nothing again',
    async (from) => {
      const { store, spoken, prompts, resumed } = await resuming(from, { onSliceMismatch: "fresh" });
      expect((await resumed).status).toBe("succeeded");
      expect(prompts[0]?.filter(({ role }) => role !== "system")).toHaveLength(1);
      expect(spoken).toEqual(["one!", "two"]);
      expect(await storedSlice(store)).toEqual(["one!", "two"]);
      expect(await storedSlice(store, "volumes")).toEqual([]);
      expect(await store.listLineages("r-1")).toMatchObject([{ checkpoint: null, baseTurn: 0 }]);
      expect((await store.verify("r-1")).problems).toEqual([]);
    },
  );

  it("is dropped by the caller's function when a turn resumes", async () => {
    const { store, spoken, prompts, resumed } = await resuming("turn", { onSliceMismatch: dropVolumes }, [
      saying("one!"),
      saying("two"),
      saying("three"),
    ]);
    expect((await resumed).status).toBe("succeeded");
    expect(prompts[0]?.filter(({ role }) => role === "assistant")).toHaveLength(2);
    expect([spoken, await storedSlice(store)]).toEqual([
      ["one!", "two", "three"],
      ["one!", "two", "three"],
    ]);
    expect((await store.readSession("r-1")).map(({ name }) => name)).toEqual(["words"]);
  });

  it("is dropped by the caller's function from a checkpoint", async () => {
    const seen: string[][] = [];
    const { store, spoken, resumed } = await resuming(
      "milestone",
      {
        onSliceMismatch: (slices) => {
          seen.push(Object.keys(slices).sort());
          return dropVolumes(slices);
        },
      },
      [saying("three")],
    );
    expect((await resumed).status).toBe("succeeded");
    expect(new Set(seen.map((names) => names.join()))).toEqual(new Set(["volumes,words"]));
    expect([spoken, await storedSlice(store)]).toEqual([
      ["one!", "two", "three"],
      ["one!", "three"],
    ]);
    expect(await store.listLineages("r-1")).toMatchObject([{ checkpoint: 1, baseTurn: 1 }]);
  });

  it("can be converted into another slice by the caller's function", async () => {
    const { store, resumed } = await resuming(
      "turn",
      {
        onSliceMismatch: ({ volumes: old, words: kept }) => ({
          words: {
            version: 1,
            values: [...(kept?.values ?? []), ...(old?.values ?? []).map((size) => `size ${Number(size)}`)],
          },
        }),
      },
      [saying("one!"), saying("two"), saying("three")],
    );
    await resumed;
    expect(await storedSlice(store)).toEqual(["one!", "two", "size 4", "size 3", "three"]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("stops the run if the caller's function leaves it in place", async () => {
    const { prompts, resumed } = await resuming("turn", { onSliceMismatch: (slices) => slices });
    expect((await failureAs(SnapshotRestoreError, resumed)).details.slice).toBe("volumes");
    expect(prompts).toEqual([]);
  });

  it("is no mismatch if it was empty", async () => {
    const store = await memoryStore();
    const { say } = await left(store, [words, defineSlice({ name: "unused", schema: z.string() })]);
    const { runner } = sayer(store, { say }, [saying("one!"), saying("two")]);
    expect((await runner.resume("r-1")).status).toBe("succeeded");
  });

  it("emits an event for the new lineage when the work starts over", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool({ approval: ({ word }) => word === "two" });
    const turns = [saying("one!"), saying("two")];
    await sayer(store, { say }, turns, { slices: OLD }).runner.run("Go", { runId: "r-1" });
    await store.approve("r-1~1");
    const { runner } = sayer(store, { say }, turns, { slices: NEW, onSliceMismatch: "fresh" });
    const events = await collect(runner.stream("Go", { runId: "r-1" }));
    expect(events.filter(({ type }) => type === "lineage.begun")).toEqual([
      { type: "lineage.begun", runId: "r-1", step: "worker", turn: 3, checkpoint: null, reason: "milestone" },
    ]);
    expect(spoken).toEqual(["one!"]);
  });
});

describe.each(BOTH_STORES)("a worker with its checkpoints %s", (_, keeper) => {
  async function worker() {
    const store = await memoryStore();
    const open = keeper(store);
    const { say, spoken } = sayTool();
    const warnings: string[] = [];
    const make = (turns: readonly string[], options: RunnerOptions) => {
      const script = [...turns.map((word) => saying(word)), { text: "End." }];
      const { agent, prompts } = scriptedAgent(script, { tools: { say } });
      const warn = (message: string) => void warnings.push(message);
      const loop = new DurableMainLoop(agent, {
        store,
        checkpoints: open(),
        checkpointTrigger: loudly,
        warn,
        ...options,
      });
      return { loop, prompts };
    };
    const dying = make(["one!", "two"], { slices: OLD, probe: stopsBefore(3) });
    const { runId } = await failureAs(StepFailedError, dying.loop.execute("Go"));
    return { store, open, spoken, warnings, make, runId: must(runId) };
  }

  it("stops if a slice of its checkpoint is missing, and the run is unchanged", async () => {
    const { store, open, warnings, make, runId } = await worker();
    const { loop, prompts } = make([], { slices: NEW });
    await failureAs(SnapshotRestoreError, loop.execute("Go"));
    expect([prompts, warnings]).toEqual([[], []]);
    expect([await open().hasIncomplete(), (await store.getRun(runId))?.epoch]).toEqual([true, 1]);
    expect((await make(["three"], { slices: OLD }).loop.execute("Go")).runId).toBe(runId);
    expect(await storedSlice(store, "words", runId)).toEqual(["one!", "three"]);
  });

  it('starts over with "fresh" and a warning, and executes nothing again', async () => {
    const { store, spoken, warnings, make, runId } = await worker();
    const { loop } = make(["one!", "two"], { slices: NEW, onSliceMismatch: "fresh" });
    expect(await loop.execute("Go")).toMatchObject({ runId, status: "succeeded" });
    expect(warnings).toEqual([
      expect.stringMatching(/cannot be restored .+volumes.+: the work starts from the beginning/),
    ]);
    expect([spoken, await storedSlice(store, "words", runId)]).toEqual([
      ["one!", "two"],
      ["one!", "two"],
    ]);
  });

  it("resumes from its checkpoint, repaired by the caller's function", async () => {
    const { store, spoken, warnings, make, runId } = await worker();
    const { loop } = make(["two"], { slices: NEW, onSliceMismatch: dropVolumes });
    expect(await loop.execute("Go")).toMatchObject({ runId, status: "succeeded" });
    expect(warnings).toEqual([]);
    expect([spoken, await storedSlice(store, "words", runId)]).toEqual([
      ["one!", "two"],
      ["one!", "two"],
    ]);
  });
});

describe("a slice in a newer version", () => {
  const migrations: string[] = [];
  const newer = defineSlice({
    name: "words",
    version: 3,
    schema: z.object({ text: z.string(), size: z.number() }),
    reducers: {
      Said: (all: readonly { text: string; size: number }[], { word }: { type: string; word: string }) => [
        ...all,
        { text: word, size: word.length },
      ],
    },
    migrations: {
      2: (values) => {
        migrations.push("to 2");
        return values.map((text) => ({ text: text ?? null }));
      },
      3: (values) => {
        migrations.push("to 3");
        return values.map((value) => {
          const { text } = value as { text: string };
          return { text, size: text.length };
        });
      },
    },
  });

  it.each([
    [
      "turn",
      [
        { text: "one!", size: 4 },
        { text: "two", size: 3 },
        { text: "six", size: 3 },
      ],
    ],
    [
      "milestone",
      [
        { text: "one!", size: 4 },
        { text: "six", size: 3 },
      ],
    ],
  ] as const)(
    "is migrated through every version between in a run that resumes from its %s",
    async (from, expected) => {
      const store = await memoryStore();
      const { say } = await left(store, [words]);
      migrations.length = 0;
      const script = [...(from === "turn" ? [saying("one!"), saying("two")] : []), saying("six")];
      const { runner } = sayer(store, { say }, script, { slices: [newer] });
      expect((await runner.resume("r-1", { from })).status).toBe("succeeded");
      expect(migrations.slice(0, 2)).toEqual(["to 2", "to 3"]);
      expect(await storedSlice(store)).toEqual(expected);
      expect((await store.readSession("r-1"))[0]?.version).toBe(3);
      expect((await store.verify("r-1")).problems).toEqual([]);
    },
  );

  it("is written whole by the next commit, and not migrated again", async () => {
    const store = await memoryStore();
    const { say } = await left(store, [words]);
    const turns = [saying("one!"), saying("two"), saying("six")];
    const dying = sayer(store, { say }, turns, { slices: [newer], probe: stopsBefore(4) });
    await failureAs(StepFailedError, dying.runner.resume("r-1"));
    migrations.length = 0;
    await sayer(store, { say }, turns, { slices: [newer] }).runner.resume("r-1");
    expect(migrations).toEqual([]);
    expect(await storedSlice(store)).toHaveLength(3);
  });

  it("stops an older version that would resume with it", async () => {
    const store = await memoryStore();
    const { say } = await left(store, [newer]);
    const { runner } = sayer(store, { say }, []);
    expect((await failureAs(SnapshotRestoreError, runner.resume("r-1"))).details.reason).toBe(
      "slice_version",
    );
  });
});

it("an unknown onSliceMismatch is refused when the runner is made", async () => {
  const store = await memoryStore();
  const make = () => sayer(store, {}, [], { onSliceMismatch: "ignore" as never });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(/onSliceMismatch is "ignore": use "stop", "fresh", or a function/);
});
