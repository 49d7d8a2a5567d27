// The session events of a receipt are applied once: however often the effect is requested, by whichever caller, and
// wherever the work is resumed.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  defineSlice,
  openStore,
  PausedError,
  Pipeline,
  Runner,
  type RunnerOptions,
  Step,
  StepFailedError,
  type Store,
} from "../../../src/index.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { crashAt } from "../call/call-fixture.ts";
import { failureAs, memoryStore, scriptedAgent } from "../run-fixture.ts";
import {
  runUntilFailure,
  said,
  sayer,
  saying,
  sayTool,
  sessionEventsOf,
  stopsBefore,
  storedSlice,
  words,
} from "../session-fixture.ts";

const once = () => sayTool({ dedupe: "effect" });

describe("an effect that is wanted once per run", () => {
  it("is applied to the session once, within a turn and across turns", async () => {
    const store = await memoryStore();
    const { say, spoken } = once();
    const turns = [saying("one", "one"), saying("one"), saying("two", "one")];
    await sayer(store, { say }, turns).runner.run("Go", { runId: "r-1" });
    expect(spoken).toEqual(["one", "two"]);
    expect(await storedSlice(store)).toEqual(["one", "two"]);
    expect(await sessionEventsOf(store)).toEqual([[said("one")], [], [], [said("two")], []]);
  });

  it("is applied to the session once across steps", async () => {
    const store = await memoryStore();
    const { say, spoken } = once();
    const { agent } = scriptedAgent([saying("one"), { text: "End." }], { tools: { say } });
    const code = Step.run("code", async (_input: unknown, ctx) => {
      await ctx.call(say, { word: "one" });
      return "Go";
    });
    const again = Step.run("again", async (_input: unknown, ctx) => {
      await ctx.call(say, { word: "one" });
      return [...ctx.session.query(words).all()];
    });
    const pipeline = Pipeline.of("p", code, Step.granular("agent", agent), again);
    const { output } = await new Runner(pipeline, { store, slices: [words] }).run("Go", { runId: "r-1" });
    expect([spoken, output, await storedSlice(store)]).toEqual([["one"], ["one"], ["one"]]);
  });

  it("is not applied again if it succeeded before the milestone", async () => {
    const store = await memoryStore();
    const { say, spoken } = once();
    await runUntilFailure(
      sayer(store, { say }, [saying("one!"), saying("two")], { probe: stopsBefore(3) }).runner,
    );
    await sayer(store, { say }, [saying("one!"), saying("one!")]).runner.resume("r-1", { from: "milestone" });
    expect([spoken, await storedSlice(store)]).toEqual([["one!", "two"], ["one!"]]);
  });

  it("is applied once if it succeeded after the milestone", async () => {
    const store = await memoryStore();
    const { say, spoken } = once();
    await runUntilFailure(
      sayer(store, { say }, [saying("one!"), saying("two")], { probe: stopsBefore(3) }).runner,
    );
    const { runner } = sayer(store, { say }, [saying("two", "two"), saying("two")]);
    await runner.resume("r-1", { from: "milestone" });
    expect([spoken, await storedSlice(store)]).toEqual([
      ["one!", "two"],
      ["one!", "two"],
    ]);
  });

  it("is applied in every lineage that asks for it and lacks it", async () => {
    const store = await memoryStore();
    const { say, spoken } = once();
    await runUntilFailure(
      sayer(store, { say }, [saying("one!"), saying("two")], { probe: stopsBefore(3) }).runner,
    );
    const dying = sayer(store, { say }, [saying("two")], { probe: stopsBefore(4) });
    await failureAs(StepFailedError, dying.runner.resume("r-1", { from: "milestone" }));
    expect(await storedSlice(store)).toEqual(["one!", "two"]);
    await sayer(store, { say }, [saying("two"), saying("two")]).runner.resume("r-1", { from: "milestone" });
    expect([spoken, await storedSlice(store)]).toEqual([
      ["one!", "two"],
      ["one!", "two"],
    ]);
  });

  it("is applied once if the previous worker reused its receipt and did not commit", async () => {
    for (const point of ["turn:journaled", "turn:before-commit"] as const) {
      const store = await memoryStore();
      const { say, spoken } = once();
      await runUntilFailure(
        sayer(store, { say }, [saying("one!"), saying("two")], { probe: stopsBefore(3) }).runner,
      );
      const turns = [saying("two", "two", "one!")];
      const dying = sayer(store, { say }, turns, { probe: crashAt(point) });
      await failureAs(StepFailedError, dying.runner.resume("r-1", { from: "milestone" }));
      await sayer(store, { say }, turns).runner.resume("r-1");
      expect([spoken, await storedSlice(store)]).toEqual([
        ["one!", "two"],
        ["one!", "two"],
      ]);
    }
  });

  it("is applied once if two workers reuse its receipt in the same turn", async () => {
    const store = await memoryStore();
    const { say, spoken } = once();
    await runUntilFailure(
      sayer(store, { say }, [saying("one!"), saying("two")], { probe: stopsBefore(3) }).runner,
    );
    const turns = [saying("two", "two", "stop")];
    const pausing = sayTool({ dedupe: "effect" }, () => {
      throw new PausedError();
    });
    // Of the two duplicates, only the first leaves its receipt.
    const probe = crashAt("tool:before-receipt", 2);
    const dying = sayer(store, { say: pausing.say }, turns, { probe });
    await failureAs(PausedError, dying.runner.resume("r-1", { from: "milestone" }));
    const left = (await store.listToolCalls("r-1")).slice(2);
    expect(left.map(({ receipt }) => receipt?.status ?? null)).toEqual(["deduplicated", null, null]);
    await store.settle("r-1/worker#3.3", { as: "succeeded", result: "said stop" });
    await sayer(store, { say }, turns).runner.resume("r-1");
    expect([spoken, await storedSlice(store)]).toEqual([
      ["one!", "two"],
      ["one!", "two"],
    ]);
  });
});

describe("a tool whose new version changes `dedupe`", () => {
  /** The old version said `one!`, a milestone, and `two`. */
  async function left(store: Store, dedupe: "call" | "effect") {
    const { say, spoken } = sayTool({ dedupe });
    await runUntilFailure(
      sayer(store, { say }, [saying("one!"), saying("two")], { probe: stopsBefore(3) }).runner,
    );
    return spoken;
  }

  it('to "effect" reuses the old receipts, and applies what the session lacks once', async () => {
    const store = await memoryStore();
    const old = await left(store, "call");
    const { say, spoken } = sayTool({ dedupe: "effect" });
    const { runner } = sayer(store, { say }, [saying("two", "two"), saying("two", "one!")]);
    await runner.resume("r-1", { from: "milestone" });
    expect([old, spoken, await storedSlice(store)]).toEqual([["one!", "two"], [], ["one!", "two"]]);
  });

  it('to "call" reuses an abandoned receipt once, and then runs', async () => {
    const store = await memoryStore();
    await left(store, "effect");
    const { say, spoken } = sayTool({ dedupe: "call" });
    const { runner } = sayer(store, { say }, [saying("two"), saying("two")]);
    await runner.resume("r-1", { from: "milestone" });
    expect([spoken, await storedSlice(store)]).toEqual([["two"], ["one!", "two", "two"]]);
  });
});

describe("session events in a receipt of an earlier version", () => {
  /** The same tool in a version with an event that no slice knows any more. */
  async function left(store: Store) {
    const older = defineSlice({
      name: "older",
      schema: z.string(),
      reducers: {
        Muttered: (all: readonly string[], { word }: { type: string; word: string }) => [...all, word],
      },
    });
    const { say, spoken } = sayTool({}, (word, call) => {
      call.session.dispatch(said(word));
      if (word === "two") call.session.dispatch({ type: "Muttered", word });
    });
    const turns = [saying("one!"), saying("two")];
    await runUntilFailure(
      sayer(store, { say }, turns, { slices: [words, older], probe: stopsBefore(3) }).runner,
    );
    return spoken;
  }

  it("that no slice knows any more are skipped: the run continues, and the other events are applied", async () => {
    const store = await memoryStore();
    const spoken = await left(store);
    const { say } = sayTool();
    const { runner } = sayer(store, { say }, [saying("two")], { onSliceMismatch: "fresh" });
    expect((await runner.resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect([spoken, await storedSlice(store)]).toEqual([
      ["one!", "two"],
      ["one!", "two"],
    ]);
  });
});

/** A model of a run: the calls that were made, and the turns that count in the current lineage. */
class Oracle {
  readonly spoken: string[] = [];
  /** Every call that was executed or reused a receipt, in turn order. `reused` is the index of the repeated call. */
  readonly #calls: { turn: number; word: string; reused: number | null }[] = [];
  #kept: number[] = [];
  #base: number[] = [];
  #turn = 0;

  rollBack(): void {
    this.#kept = [...this.#base];
  }

  commit(turn: readonly string[]): void {
    this.#turn++;
    for (const word of turn) {
      const first = this.#unclaimed(word);
      if (first === null) this.spoken.push(word);
      this.#calls.push({ turn: this.#turn, word, reused: first });
    }
    this.#kept.push(this.#turn);
    if (turn.some((word) => word.endsWith("!"))) this.#base = [...this.#kept];
  }

  get words(): string[] {
    return this.#calls.filter(({ turn }) => this.#kept.includes(turn)).map(({ word }) => word);
  }

  #unclaimed(word: string): number | null {
    const isKept = (turn: number) => turn === this.#turn || this.#kept.includes(turn);
    const claimed = new Set(this.#calls.filter(({ turn }) => isKept(turn)).map((call) => call.reused));
    const index = this.#calls.findIndex(
      (call, i) => call.word === word && call.reused === null && !isKept(call.turn) && !claimed.has(i),
    );
    return index === -1 ? null : index;
  }
}

it(
  "effects happen once per request of a lineage, and the session matches its lineage, whatever is abandoned for a milestone",
  PATIENCE,
  async () => {
    const word = fc.constantFrom("a", "b", "c!");
    const line = fc.array(fc.array(word, { minLength: 1, maxLength: 3 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 4 }), async (lines) => {
        const store = await openStore(":memory:");
        const { say, spoken } = sayTool();
        const oracle = new Oracle();
        const run = async (turns: string[][], isLast: boolean, isFirst: boolean) => {
          let committed = 0;
          const probe: RunnerOptions["probe"] = (point) => {
            if (point === "turn:committed") committed++;
            // Before an attempt is reserved, so that none is left to be settled.
            if (!isLast && point === "turn:committed" && committed === turns.length) throw new Error("Out.");
            if (!isLast && point === "turn:before-open" && turns.length === 0) throw new Error("Out.");
          };
          const { runner } = sayer(
            store,
            { say },
            turns.map((all) => saying(...all)),
            { probe },
          );
          const work = isFirst
            ? runner.run("Go", { runId: "r-1" })
            : runner.resume("r-1", { from: "milestone" });
          if (isLast) await work;
          else await failureAs(StepFailedError, work);
        };
        try {
          for (const [i, turns] of lines.entries()) {
            if (i > 0) oracle.rollBack();
            for (const turn of turns) oracle.commit(turn);
            await run(turns, i === lines.length - 1, i === 0);
            expect(await storedSlice(store)).toEqual(oracle.words);
          }
          expect(spoken).toEqual(oracle.spoken);
          expect((await store.verify("r-1")).problems).toEqual([]);
        } finally {
          await store.close();
        }
      }),
      { numRuns: IS_FULL_TEST ? 60 : 20 },
    );
  },
);
