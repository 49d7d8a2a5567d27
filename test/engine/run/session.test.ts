// The session of a run: events of tools take effect in the commit of their turn, in call order, or not at all.

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

describe("session events of tools", () => {
  it("take effect in the commit of their turn, and are stored with their receipts", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const { runner } = sayer(store, { say }, [saying("one"), saying("two", "three")]);
    await runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["one", "two", "three"]);
    expect(await sessionEventsOf(store)).toEqual([[said("one")], [said("two")], [said("three")]]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("take effect in call order, even if the second call ends first", async () => {
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

  it("take no effect if the tool throws after them, and the model gets the error", async () => {
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

  it("take no effect if the result does not fit the tool's schema", async () => {
    const store = await memoryStore();
    const { say } = sayTool({ outputSchema: z.number() });
    await sayer(store, { say }, [saying("one")]).runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual([]);
    expect((await store.listToolCalls("r-1"))[0]?.status).toBe("failed");
  });

  it("are those of the successful attempt, not of earlier ones", async () => {
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

  it("take effect once if the next worker commits the turn", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool({ recovery: "keyed" });
    const make = (more: RunnerOptions = {}) => sayer(store, { say }, [saying("one", "two")], more).runner;
    await runUntilFailure(make({ probe: crashAt("turn:before-commit") }));
    expect(await storedSlice(store)).toEqual([]);
    await make().resume("r-1");
    expect(await storedSlice(store)).toEqual(["one", "two"]);
    // The receipt of the last one would have been part of the commit.
    expect(spoken).toEqual(["one", "two", "two"]);
  });

  it("are not in the session of a turn whose commit the store refuses", async () => {
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

  it("are refused once the tool has returned", async () => {
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

  it("are refused with their path if they do not fit, and the model gets the error", async () => {
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

  it("that do not fit may be caught by the tool: they take no effect, and the others do", async () => {
    const store = await memoryStore();
    const { say } = sayTool({}, (word, call) => {
      call.session.dispatch(said("before"));
      expect(() => call.session.dispatch(said("far too long for a word"))).toThrow();
      call.session.dispatch(said(word));
    });
    await sayer(store, { say }, [saying("after")]).runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["before", "after"]);
  });

  it("are refused with their name if no slice knows them", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const { runner, prompts } = runnerOf(store, { say }, [saying("one")]);
    await runner.run("Go", { runId: "r-1" });
    expect(JSON.stringify(toolResults(prompts[1]))).toMatch(/The session knows no event .+Said/);
  });
});

describe("the session in a tool call", () => {
  const seeing = (seen: (readonly string[])[], options: Parameters<typeof sayTool>[0] = {}) =>
    sayTool(options, (word, call) => {
      call.session.dispatch(said(word));
      seen.push(call.session.query(words).all());
    });

  it("has the events of earlier turns, and those of the call itself", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const { say } = seeing(seen);
    await sayer(store, { say }, [saying("one"), saying("two")]).runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([["one"], ["one", "two"]]);
  });

  it("has the events of earlier calls in the turn if they run one after the other", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const { say } = seeing(seen, { exclusive: true });
    await sayer(store, { say }, [saying("one", "two", "three")]).runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([["one"], ["one", "two"], ["one", "two", "three"]]);
  });

  it("does not have the events of a later call, even if that has ended", async () => {
    const store = await memoryStore();
    const seen: (readonly string[])[] = [];
    const second = Promise.withResolvers<void>();
    const { say } = sayTool({}, async (word, call) => {
      if (word === "first") await second.promise;
      seen.push(call.session.query(words).all());
      call.session.dispatch(said(word));
      // Not before its receipt is being written.
      if (word === "second") setImmediate(() => setImmediate(second.resolve));
    });
    await sayer(store, { say }, [saying("first", "second")]).runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([[], []]);
    expect(await storedSlice(store)).toEqual(["first", "second"]);
  });

  it("has the events of an earlier call whose receipt another worker stored", async () => {
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

  it("does not have the events of an earlier call that failed", async () => {
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
  /** Fails once when the commit computes the session; the first reduction is the tool's own dispatch. */
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

  it("that fails every time can be left behind by a milestone resume", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    await runUntilFailure(sayer(store, { say }, [saying("one")], { slices: [brittle(2)] }).runner);
    const second = sayer(store, { say }, []);
    expect((await second.runner.resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect([await storedSlice(store), spoken]).toEqual([[], ["one"]]);
  });
});

describe("the stored session", () => {
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

  it("is written by changed slice and, within it, by changed value", async () => {
    const growing = asking(["grow", { text: "x".repeat(500) }]);
    expect(await writtenBy([growing, saying("one"), saying("two"), growing])).toEqual([
      [["large", [0]]],
      [["words", [0]]],
      [["words", [1]]],
      [["large", [1]]],
      null,
    ]);
  });

  it("is not written if a turn had no session events", async () => {
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

  it("is loaded by the next process, which continues from it", async () => {
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

it("session events of an abandoned tool call are ignored", async () => {
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

it("two slices with the same name are refused when the runner is made", async () => {
  const store = await memoryStore();
  const other = defineSlice({ name: "words", schema: z.string() });
  const make = () => sayer(store, {}, [], { slices: [words, other] });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(/Two slices are named words/);
});
