// The session of a run: what tools tell it takes effect in the commit of their turn, in the order of the calls, or not at all.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  append,
  ConfigurationError,
  defineSlice,
  NotApplied,
  type RunnerOptions,
  type SessionView,
  type Slice,
  StoreUnavailableError,
  tool,
} from "../../../src/index.ts";
import { acting, actTool, asking, crashAt, drainEventLoop, runnerOf } from "../call/call-fixture.ts";
import { memoryStore, must, sleeplessClock, toolResults } from "../run-fixture.ts";
import {
  checkpointsOf,
  runUntilFailure,
  said,
  sayer,
  saying,
  sayTool,
  sessionEventsOf,
  storedSlice,
  tapped,
  words,
} from "../session-fixture.ts";

describe("what tools tell the session", () => {
  it("takes effect in the commit of their turn, and is kept with their receipts", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const { runner } = sayer(store, { say }, [saying("one"), saying("two", "three")]);
    await runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["one", "two", "three"]);
    expect(await sessionEventsOf(store)).toEqual([[said("one")], [said("two")], [said("three")]]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("takes effect in the order of the calls, even where the second one ends first", async () => {
    const store = await memoryStore();
    const ended: string[] = [];
    const second = Promise.withResolvers<void>();
    const { say } = sayTool({}, async (word, call) => {
      call.session.dispatch(said(word));
      if (word === "first") await second.promise;
      else second.resolve();
      ended.push(word);
    });
    const { runner } = sayer(store, { say }, [saying("first", "second")]);
    await runner.run("Go", { runId: "r-1" });
    expect(ended).toEqual(["second", "first"]);
    expect(await storedSlice(store)).toEqual(["first", "second"]);
  });

  it("takes no effect where a tool throws after it, and the model sees the failure", async () => {
    const store = await memoryStore();
    const { say } = sayTool({}, (word, call) => {
      call.session.dispatch(said(word));
      if (word === "bad") throw new Error("The line is dead.");
    });
    const { runner, prompts } = sayer(store, { say }, [saying("good", "bad")]);
    await runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["good"]);
    expect(await sessionEventsOf(store)).toEqual([[said("good")], []]);
    expect(toolResults(prompts[1])[1]).toEqual({ type: "error-text", value: "The line is dead." });
  });

  it("takes no effect where its result is not what the tool promises", async () => {
    const store = await memoryStore();
    const { say } = sayTool({ outputSchema: z.number() });
    await sayer(store, { say }, [saying("one")]).runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual([]);
    expect((await store.listToolCalls("r-1"))[0]?.status).toBe("failed");
  });

  it("is what the try that succeeded told, and not what the tries before it did", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool({}, (word, call, n) => {
      call.session.dispatch(said(`${word} ${n}`));
      if (n < 3) throw new NotApplied("Busy.");
    });
    const { runner } = sayer(store, { say }, [saying("hello")], { clock: sleeplessClock() });
    await runner.run("Go", { runId: "r-1" });
    expect(spoken).toHaveLength(3);
    expect(await storedSlice(store)).toEqual(["hello 3"]);
  });

  it("does not take effect twice where the turn is committed by the next worker", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool({ recovery: "keyed" });
    const make = (more: RunnerOptions = {}) => sayer(store, { say }, [saying("one", "two")], more).runner;
    await runUntilFailure(make({ probe: crashAt("turn:before-commit") }));
    expect(await storedSlice(store)).toEqual([]);
    await make().resume("r-1");
    expect(await storedSlice(store)).toEqual(["one", "two"]);
    // The receipt of the last one was to ride in the commit.
    expect(spoken).toEqual(["one", "two", "two"]);
  });

  it("is not in the session of a turn whose commit the store refuses", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const full = tapped(store, (intent) => {
      if (intent === "commitTurn") throw new StoreUnavailableError("Full.", { reason: "full" });
    });
    await runUntilFailure(sayer(full, { say }, [saying("one")]).runner);
    expect(await storedSlice(store)).toEqual([]);
    expect(await sessionEventsOf(store)).toEqual([[said("one")]]);
    const again = sayer(store, { say }, [saying("one")]);
    expect((await again.runner.resume("r-1")).status).toBe("succeeded");
    expect(await storedSlice(store)).toEqual(["one"]);
  });

  it("is refused once the tool has returned", async () => {
    const store = await memoryStore();
    const kept: SessionView[] = [];
    const { say } = sayTool({}, (word, call) => {
      kept.push(call.session);
      call.session.dispatch(said(word));
    });
    await sayer(store, { say }, [saying("one")]).runner.run("Go", { runId: "r-1" });
    expect(() => must(kept[0]).dispatch(said("late"))).toThrow(ConfigurationError);
    expect(() => must(kept[0]).dispatch(said("late"))).toThrow(/Said came after its tool call had ended/);
    expect(await storedSlice(store)).toEqual(["one"]);
  });

  it("is refused with its path where it does not fit, and the model sees that", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const long = "far too long for a word";
    const { runner, prompts } = sayer(store, { say }, [saying(long)]);
    await runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual([]);
    const [result] = toolResults(prompts[1]) as { type: string; value: string }[];
    expect(result?.type).toBe("error-text");
    expect(result?.value).toMatch(/The event Said would give slice words a value that does not fit: words: /);
  });

  it("may be caught by the tool where it does not fit: then nothing of it takes effect, and the rest does", async () => {
    const store = await memoryStore();
    const { say } = sayTool({}, (word, call) => {
      call.session.dispatch(said("before"));
      expect(() => call.session.dispatch(said("far too long for a word"))).toThrow();
      call.session.dispatch(said(word));
    });
    await sayer(store, { say }, [saying("after")]).runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["before", "after"]);
  });

  it("is told of no slice that the session does not have, by name", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const { runner, prompts } = runnerOf(store, { say }, [saying("one")]);
    await runner.run("Go", { runId: "r-1" });
    expect(JSON.stringify(toolResults(prompts[1]))).toMatch(/The session knows no event .+Said/);
  });
});

describe("what a call finds in the session", () => {
  const seeing = (seen: (readonly string[])[], options: Parameters<typeof sayTool>[0] = {}) =>
    sayTool(options, (word, call) => {
      call.session.dispatch(said(word));
      seen.push(call.session.query(words).all());
    });

  it("is what the turns before have told, and what it dispatched itself", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const { say } = seeing(seen);
    await sayer(store, { say }, [saying("one"), saying("two")]).runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([["one"], ["one", "two"]]);
  });

  it("is what the calls before it in the turn have told, where they run one after the other", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const { say } = seeing(seen, { exclusive: true });
    await sayer(store, { say }, [saying("one", "two", "three")]).runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([["one"], ["one", "two"], ["one", "two", "three"]]);
  });

  it("does not include what a call after it told, though that has ended", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const second = Promise.withResolvers<void>();
    const { say } = sayTool({}, async (word, call) => {
      if (word === "first") await second.promise;
      seen.push(call.session.query(words).all());
      call.session.dispatch(said(word));
      // Not before its receipt is on its way.
      if (word === "second") setImmediate(() => setImmediate(second.resolve));
    });
    await sayer(store, { say }, [saying("first", "second")]).runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([[], []]);
    expect(await storedSlice(store)).toEqual(["first", "second"]);
  });

  it("includes what a call before it told that has its receipt from another worker", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const { say, spoken } = seeing(seen, { exclusive: true });
    const make = (more: RunnerOptions = {}) => sayer(store, { say }, [saying("one", "two")], more).runner;
    await runUntilFailure(make({ probe: crashAt("tool:before-start") }));
    expect(spoken).toEqual(["one"]);
    await make().resume("r-1");
    expect(seen).toEqual([["one"], ["one", "two"]]);
    expect(spoken).toEqual(["one", "two"]);
  });

  it("does not include what a call before it told that failed", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const { say } = sayTool({ exclusive: true }, (word, call) => {
      call.session.dispatch(said(word));
      if (word === "bad") throw new Error("No.");
      seen.push(call.session.query(words).all());
    });
    await sayer(store, { say }, [saying("bad", "good")]).runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([["good"]]);
  });
});

describe("a reducer that throws only at the commit", () => {
  /** Fails when the commit computes the session, once: the first time is the tool's own dispatch. */
  function brittle(failAt: number): Slice<string> {
    let reduced = 0;
    return defineSlice({
      name: "words",
      schema: z.string(),
      reducers: {
        Said: (all: readonly string[], { word }: { type: "Said"; word: string }) => {
          if (++reduced === failAt) throw new Error("The reducer broke.");
          return [...all, word];
        },
      },
    });
  }

  it("leaves the receipt stored and fails the turn, and a resume replays it", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const first = sayer(store, { say }, [saying("one")], { slices: [brittle(2)] });
    expect(String(await runUntilFailure(first.runner))).toMatch(/The reducer broke/);
    expect(await storedSlice(store)).toEqual([]);
    expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(["succeeded"]);
    expect((await store.listTurns("r-1")).map(({ committed }) => committed)).toEqual([false]);
    const second = sayer(store, { say }, [saying("one")]);
    expect((await second.runner.resume("r-1")).status).toBe("succeeded");
    expect([spoken, second.prompts.length]).toEqual([["one"], 1]);
    expect(await storedSlice(store)).toEqual(["one"]);
  });

  it("can be left for a milestone, where it would break again and again", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    await runUntilFailure(sayer(store, { say }, [saying("one")], { slices: [brittle(2)] }).runner);
    const second = sayer(store, { say }, []);
    expect((await second.runner.resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect([await storedSlice(store), spoken]).toEqual([[], ["one"]]);
  });
});

describe("what is written of the session", () => {
  const large = defineSlice({
    name: "large",
    schema: z.object({ text: z.string() }),
    reducers: { Grown: append(({ text }: { type: "Grown"; text: string }) => ({ text })) },
  });
  const grow = tool({
    name: "grow",
    description: "Grows.",
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }, call) => call.session.dispatch({ type: "Grown", text }),
  });

  /** The slices of each commit, with the indices of the items written. */
  async function writtenBy(turns: Parameters<typeof sayer>[2]): Promise<unknown[]> {
    const store = await memoryStore();
    const written: unknown[] = [];
    const listening = tapped(store, (intent, argument) => {
      if (intent !== "commitTurn") return;
      const { session } = argument as {
        session?: { slices: { name: string; items: [number, unknown][] }[] };
      };
      written.push(session?.slices.map(({ name, items }) => [name, items.map(([index]) => index)]) ?? null);
    });
    const { say } = sayTool();
    await sayer(listening, { say, grow }, turns, { slices: [words, large] }).runner.run("Go", {
      runId: "r-1",
    });
    return written;
  }

  it("is the slices that a turn changed, and of them the values that it changed", async () => {
    const growing = asking(["grow", { text: "x".repeat(500) }]);
    expect(await writtenBy([growing, saying("one"), saying("two"), growing])).toEqual([
      [["large", [0]]],
      [["words", [0]]],
      [["words", [1]]],
      [["large", [1]]],
      null,
    ]);
  });

  it("is nothing where a turn told it nothing", async () => {
    const store = await memoryStore();
    const commits: unknown[] = [];
    const listening = tapped(store, (intent, argument) => {
      if (intent !== "beginLineage") commits.push((argument as { session?: unknown }).session);
    });
    const { act } = actTool();
    await sayer(listening, { act }, [acting("a")]).runner.run("Go", { runId: "r-1" });
    expect(commits).toEqual([undefined, undefined, undefined]);
    expect(await checkpointsOf(store)).toEqual([]);
  });

  it("is there for the next process, and goes on from there", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const script = [saying("one"), saying("two")];
    const first = sayer(store, { say }, script, { probe: crashAt("turn:committed") });
    await runUntilFailure(first.runner);
    const seen: (readonly string[])[] = [];
    const { runner } = sayer(store, { say }, script, {
      onSession: (session) => void seen.push(session.query(words).all()),
    });
    await runner.resume("r-1");
    expect(seen).toEqual([["one"]]);
    expect(await storedSlice(store)).toEqual(["one", "two"]);
  });
});

it("a session belongs to its run: another run begins with an empty one", async () => {
  const store = await memoryStore();
  const { say } = sayTool();
  const { runner } = sayer(store, { say }, [saying("one")]);
  await runner.run("Go", { runId: "r-1" });
  await runner.run("Go", { runId: "r-2" });
  expect(await storedSlice(store, "words", "r-2")).toEqual(["one"]);
});

it("a tool that is given up on and tells the session afterwards tells it nothing", async () => {
  const store = await memoryStore();
  const late = Promise.withResolvers<void>();
  const { say } = sayTool({ timeoutMs: 20, recovery: "opaque", inDoubt: "tell" }, async (word, call) => {
    await late.promise;
    call.session.dispatch(said(word));
  });
  const { runner } = sayer(store, { say }, [saying("one")]);
  expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
  late.resolve();
  await drainEventLoop();
  expect(await storedSlice(store)).toEqual([]);
});

it("a slice named twice is refused when the runner is made", async () => {
  const store = await memoryStore();
  const other = defineSlice({ name: "words", schema: z.string() });
  const make = () => sayer(store, {}, [], { slices: [words, other] });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(/Two slices are named words/);
});
