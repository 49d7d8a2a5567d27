// A new version whose slices do not fit the stored session, over several restarts: a decision is stored, is not made
// again, and nothing is dropped without an explicit choice.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  append,
  defineSlice,
  type Json,
  Pipeline,
  type RunEvent,
  Runner,
  type RunnerOptions,
  type SliceMismatch,
  SnapshotRestoreError,
  Step,
  StepFailedError,
} from "../../../src/index.ts";
import { collect, failureAs, memoryStore, scriptedAgent } from "../run-fixture.ts";
import {
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

describe("a session that was repaired by the caller's function", () => {
  const TURNS = ["one", "two", "three", "four"].map((word) => saying(word));
  const phrases = defineSlice({ name: "phrases", schema: z.string() });
  const heard = defineSlice({
    name: "heard",
    schema: z.string(),
    reducers: { Said: append(({ word }: Said) => word) },
  });

  it("is written whole with the next commit, and not repaired again by the next worker", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    await runUntilFailure(sayer(store, { say }, TURNS, { probe: stopsBefore(3) }).runner);
    let repairs = 0;
    const renameWords: SliceMismatch = ({ words: old, ...rest }) => {
      repairs++;
      return { ...rest, ...(old === undefined ? {} : { phrases: old }) };
    };
    const options = { slices: [phrases, heard], onSliceMismatch: renameWords };
    const dying = sayer(store, { say }, TURNS, { ...options, probe: stopsBefore(4) });
    await failureAs(StepFailedError, dying.runner.resume("r-1"));
    expect([await storedSlice(store, "phrases"), await storedSlice(store, "heard")]).toEqual([
      ["one", "two"],
      ["three"],
    ]);
    await sayer(store, { say }, TURNS, options).runner.resume("r-1");
    expect([await storedSlice(store, "phrases"), await storedSlice(store, "heard")]).toEqual([
      ["one", "two"],
      ["three", "four"],
    ]);
    expect([repairs, spoken.length, await storedSlice(store)]).toEqual([1, 4, []]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });
});

describe("a milestone resume while a code step is unfinished", () => {
  it.each(["turn", "milestone", "beginning"] as const)(
    "from a %s does not drop a slice that does not fit: the run stops with its session unchanged",
    async (from) => {
      const store = await memoryStore();
      const { say } = sayTool();
      const make = (isBroken: boolean, options: RunnerOptions = {}) => {
        const { agent } = scriptedAgent([saying("one"), saying("two!"), { text: "End." }], {
          tools: { say },
        });
        const code = Step.run("code", () => {
          if (isBroken) throw new Error("Not yet.");
          return "rendered";
        });
        return new Runner(Pipeline.of("p", Step.granular("agent", agent), code), { store, ...options });
      };
      const slices = [words];
      await runUntilFailure(make(true, { slices, checkpointTrigger: loudly }));
      await failureAs(SnapshotRestoreError, make(false).resume("r-1", { from }));
      expect(await storedSlice(store)).toEqual(["one", "two!"]);
      expect((await make(false, { slices }).resume("r-1", { from })).output).toBe("rendered");
      expect(await storedSlice(store)).toEqual(["one", "two!"]);
    },
  );
});

describe("work that started over because a value does not fit any more", () => {
  const strict = defineSlice({
    name: "words",
    schema: z.string().max(4),
    reducers: { Said: append(({ word }: Said) => word) },
  });
  const options = { slices: [strict], onSliceMismatch: "fresh" } as const;
  const SHORT = ["a", "b", "c"].map((word) => saying(word));

  it("resumes by turn at the next restart instead of starting over again", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    await runUntilFailure(sayer(store, { say }, [saying("too long")], { probe: stopsBefore(2) }).runner);
    // The new lineage begins with turn 2.
    for (const stop of [3, 4]) {
      const dying = sayer(store, { say }, SHORT, { ...options, probe: stopsBefore(stop) });
      await failureAs(StepFailedError, dying.runner.resume("r-1"));
    }
    expect(await storedSlice(store)).toEqual(["a", "b"]);
    const { runner } = sayer(store, { say }, SHORT, { slices: [strict] });
    expect((await runner.resume("r-1")).status).toBe("succeeded");
    expect(await store.listLineages("r-1")).toHaveLength(1);
    expect([spoken, await storedSlice(store)]).toEqual([
      ["too long", "a", "b", "c"],
      ["a", "b", "c"],
    ]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("resumes by turn if it was interrupted before its first turn", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    await runUntilFailure(sayer(store, { say }, [saying("too long")], { probe: stopsBefore(2) }).runner);
    const dying = sayer(store, { say }, SHORT, { ...options, probe: stopsBefore(2) });
    await failureAs(StepFailedError, dying.runner.resume("r-1"));
    await sayer(store, { say }, SHORT, options).runner.resume("r-1");
    expect(await store.listLineages("r-1")).toHaveLength(1);
  });
});

describe("session events in a receipt of an earlier version", () => {
  type OldVersion = { readonly event: Json; readonly slices: RunnerOptions["slices"] };

  /**
   * The old version says `one` and is asked to say `two`; the new one starts over and says both in parallel, so
   * that the session is computed for the second call and again for the commit. Resolves to the events of the new
   * run.
   */
  async function deployed(old: OldVersion, slices: RunnerOptions["slices"]) {
    const store = await memoryStore();
    const approval = ({ word }: { word: string }) => word === "two";
    const before = sayTool({ approval }, (word, call) => {
      call.session.dispatch(old.event as never);
      return `said ${word}`;
    });
    const turns = [saying("one"), saying("two")];
    const first = sayer(store, { say: before.say }, turns, { slices: old.slices ?? [] });
    expect((await first.runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    await store.approve("r-1~1");
    const after = sayTool();
    const second = sayer(store, { say: after.say }, [saying("one", "two")], {
      slices: slices ?? [],
      onSliceMismatch: "fresh",
    });
    const events = await collect(second.runner.stream("Go", { runId: "r-1" }));
    return { store, events, spoken: [...before.spoken, ...after.spoken] };
  }

  const warningsOf = (events: readonly RunEvent[]) =>
    events.flatMap((event) => (event.type === "warning" ? [event.message] : []));

  it("for a removed slice are skipped with one warning, and the run continues", async () => {
    const gone = defineSlice({
      name: "gone",
      schema: z.string(),
      reducers: { Muttered: append(({ word }: { type: string; word: string }) => word) },
    });
    const muttered = { type: "Muttered", word: "one" };
    const old = { event: muttered, slices: [gone] };
    const { store, events, spoken } = await deployed(old, [words]);
    expect(warningsOf(events)).toEqual([
      expect.stringMatching(
        /^The session events of r-1\/worker#1\.1 no longer fit .+ were dropped: .+"Muttered"/,
      ),
    ]);
    expect(events.at(-1)).toMatchObject({ type: "run.finished", result: { status: "succeeded" } });
    expect([spoken, await storedSlice(store)]).toEqual([["one", "two"], ["two"]]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("in another shape are skipped with one warning, and the run continues", async () => {
    const shaped = defineSlice({
      name: "words",
      schema: z.object({ text: z.string() }),
      reducers: {
        Said: append(({ text }: { type: string; text: { text: string } }) => text),
      },
    });
    const old = { event: { type: "Said", text: { text: "one" } }, slices: [shaped] };
    const { store, events, spoken } = await deployed(old, [words]);
    expect(warningsOf(events)).toEqual([
      expect.stringMatching(/^The session events of r-1\/worker#1\.1 no longer fit .+ were dropped: .+words/),
    ]);
    expect(events.at(-1)).toMatchObject({ type: "run.finished", result: { status: "succeeded" } });
    expect([spoken, await storedSlice(store)]).toEqual([["one", "two"], ["two"]]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("that fit are applied without a warning", async () => {
    const gone = defineSlice({
      name: "gone",
      schema: z.string(),
      reducers: { Said: append(({ word }: Said) => word) },
    });
    const { store, events } = await deployed({ event: said("one"), slices: [words, gone] }, [words]);
    expect([warningsOf(events), await storedSlice(store)]).toEqual([[], ["one", "two"]]);
    expect(await store.listLineages("r-1")).toHaveLength(1);
  });
});
