// The parallel calls of one turn: which run alone, which wait, what is durable when, and what is left after a crash.

import { describe, expect, it } from "vitest";
import type { RunnerOptions, Store, Tool } from "../../../src/index.ts";
import { NotApplied } from "../../../src/index.ts";
import {
  actTool,
  asking,
  crashAt,
  jumpingClock,
  ledger,
  runnerOf,
  timedStore,
} from "../call/call-fixture.ts";
import { failureOf, memoryStore, must, toolResults } from "../run-fixture.ts";

/** Tools whose calls end when the test resolves them; `alone` is exclusive. */
function heldTools(options: Parameters<typeof actTool>[1] = {}) {
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const active = new Set<string>();
  const begun: string[] = [];
  /** The calls running when each began, itself included. */
  const beside = new Map<string, string[]>();
  const hold = (_n: number, _call: unknown, what: string) => {
    begun.push(what);
    active.add(what);
    beside.set(what, [...active]);
    const end = Promise.withResolvers<string>();
    ends.set(what, end);
    return end.promise.finally(() => active.delete(what));
  };
  const tools = {
    act: actTool(hold, options).act,
    alone: actTool(hold, { ...options, name: "alone", exclusive: true }).act,
  };
  const began = async (what: string) => {
    while (!ends.has(what)) await new Promise(setImmediate);
  };
  return { tools, begun, beside, began, end: (what: string) => must(ends.get(what)).resolve(what) };
}

const calls = (...whats: string[]) =>
  asking(...whats.map((what) => [what.startsWith("!") ? "alone" : "act", { what }] as const));

const statuses = async (store: Store) => (await store.listToolCalls("r-1")).map(({ status }) => status);

describe("an exclusive tool", () => {
  it("runs while no other call of its turn does, and nothing overtakes it", async () => {
    const store = await memoryStore();
    const { tools, begun, beside, began, end } = heldTools();
    const { runner, prompts } = runnerOf(store, tools, [calls("a", "b", "!x", "!y", "c", "d")]);
    const run = runner.run("Go", { runId: "r-1" });

    await began("b");
    expect(await statuses(store)).toEqual(["running", "running", ...Array<string>(4).fill("prepared")]);
    end("a");
    end("b");
    await began("!x");
    expect(begun).toEqual(["a", "b", "!x"]);
    end("!x");
    await began("!y");
    expect(await statuses(store)).toEqual([
      "succeeded",
      "succeeded",
      "succeeded",
      "running",
      "prepared",
      "prepared",
    ]);
    end("!y");
    await began("d");
    end("d");
    end("c");

    expect((await run).output).toBe("End.");
    expect(begun).toEqual(["a", "b", "!x", "!y", "c", "d"]);
    for (const what of ["!x", "!y"]) expect(beside.get(what)).toEqual([what]);
    expect(beside.get("d")).toEqual(["c", "d"]);
    const results = toolResults(prompts[1]) as { value: string }[];
    expect(results.map(({ value }) => value)).toEqual(["a", "b", "!x", "!y", "c", "d"]);
  });

  it("as the first call keeps all others waiting", async () => {
    const store = await memoryStore();
    const { tools, begun, began, end } = heldTools();
    const run = runnerOf(store, tools, [calls("!x", "a", "b")]).runner.run("Go", { runId: "r-1" });
    await began("!x");
    expect(begun).toEqual(["!x"]);
    end("!x");
    await began("b");
    end("a");
    end("b");
    expect((await run).status).toBe("succeeded");
  });

  it("still runs alone when it is retried", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const order: string[] = [];
    const { act } = actTool((_n, _call, what) => void order.push(what));
    const { act: alone } = actTool(
      (n, _call, what) => {
        order.push(`${what} ${n}`);
        if (n < 3) throw new NotApplied("Busy.");
      },
      { name: "alone", exclusive: true },
    );
    await runnerOf(store, { act, alone }, [calls("a", "!x", "b")], { clock }).runner.run("Go");
    expect(order).toEqual(["a", "!x 1", "!x 2", "!x 3", "b"]);
  });

  it("that waits for a person blocks no other call", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool();
    const { act: alone } = actTool(undefined, { name: "alone", exclusive: true, approval: true });
    const { runner } = runnerOf(store, { act, alone }, [calls("a", "!x", "b")]);
    expect((await runner.run("Go")).status).toBe("waiting");
    expect(whats).toEqual(["a", "b"]);
  });
});

describe("a limit of one", () => {
  it("runs the calls one after the other, in call order", async () => {
    const store = await memoryStore();
    const { tools, begun, beside, began, end } = heldTools();
    const { runner } = runnerOf(store, tools, [calls("a", "b", "c")], { maxParallelToolCalls: 1 });
    const run = runner.run("Go", { runId: "r-1" });
    for (const what of ["a", "b", "c"]) {
      await began(what);
      expect(begun.at(-1)).toBe(what);
      expect(beside.get(what)).toEqual([what]);
      end(what);
    }
    expect((await run).status).toBe("succeeded");
  });
});

describe("the durable commits of a turn", () => {
  async function commitsOf(
    turn: ReturnType<typeof calls>,
    tools: { [name: string]: Tool },
    options: RunnerOptions = {},
    during: (commits: readonly unknown[]) => Promise<void> = async () => undefined,
  ): Promise<string[][]> {
    const clock = jumpingClock();
    const commits: string[][] = [];
    const store = await timedStore(clock, { onCommit: (intents) => commits.push([...intents]) });
    const run = runnerOf(store, tools, [turn], { clock, ...options }).runner.run("Go", { runId: "r-1" });
    await during(commits);
    await run;
    const opened = commits.findIndex((intents) => intents.includes("openTurn"));
    const committed = commits.findIndex((intents) => intents.includes("commitTurn"));
    return commits.slice(opened + 1, committed + 1).map((intents) => intents.toSorted());
  }

  it("are two with one tool", async () => {
    expect(await commitsOf(calls("a"), { act: actTool().act })).toEqual([
      ["journalResponse"],
      ["commitTurn"],
    ]);
  });

  it("are three with two tools that end at different times", async () => {
    const { tools, began, end } = heldTools();
    const commits = await commitsOf(calls("a", "b"), tools, {}, async (seen) => {
      await began("b");
      const before = seen.length;
      end("b");
      while (seen.length === before) await new Promise(setImmediate);
      end("a");
    });
    expect(commits).toEqual([["journalResponse"], ["recordReceipt"], ["commitTurn"]]);
  });

  it("are three with two tools one after the other: a receipt and the next start share one", async () => {
    const commits = await commitsOf(calls("a", "b"), { act: actTool().act }, { maxParallelToolCalls: 1 });
    expect(commits).toEqual([["journalResponse"], ["recordReceipt", "startToolCalls"], ["commitTurn"]]);
  });

  it("are two with calls that are not run", async () => {
    const { act, whats } = actTool();
    const options = { constraints: { forbiddenActions: ["act"] } };
    expect(await commitsOf(calls("a", "b"), { act }, options)).toEqual([["journalResponse"], ["commitTurn"]]);
    expect(whats).toEqual([]);
  });

  it("are two more for every failed attempt: its end, and the next start", async () => {
    const { act } = actTool((n) => {
      if (n < 3) throw new NotApplied("Busy.");
    });
    const again = [["endToolCallAttempt"], ["startToolCalls"]];
    expect(await commitsOf(calls("a"), { act })).toEqual([
      ["journalResponse"],
      ...again,
      ...again,
      ["commitTurn"],
    ]);
  });
});

describe("a crash among parallel calls", () => {
  it("keeps those with a receipt, and runs the others again", async () => {
    const store = await memoryStore();
    const { tools, begun, began, end } = heldTools({ recovery: "keyed" });
    const turns = [calls("a", "b", "c", "d")];
    // The third to end had its effect, but has no receipt.
    const probe = crashAt("tool:executed", 3);
    const dying = failureOf(runnerOf(store, tools, turns, { probe }).runner.run("Go", { runId: "r-1" }));
    await began("d");
    for (const what of ["d", "b"]) {
      end(what);
      while (!(await statuses(store)).includes("succeeded")) await new Promise(setImmediate);
    }
    end("a");
    end("c");
    await dying;
    const kept = (await store.listToolCalls("r-1")).filter(({ receipt }) => receipt !== null);
    expect(kept.length).toBeGreaterThanOrEqual(2);

    const before = begun.length;
    const again = heldTools({ recovery: "keyed" });
    const { runner } = runnerOf(store, again.tools, turns);
    const run = runner.resume("r-1");
    const open = (await store.listToolCalls("r-1")).filter(({ receipt }) => receipt === null);
    expect(open.map(({ status, attempt }) => [status, attempt])).toEqual([["in_doubt", 1]]);
    await again.began("a");
    again.end("a");
    expect((await run).output).toBe("End.");
    expect([before, again.begun]).toEqual([4, ["a"]]);
    expect((await ledger(store)).map(([status, attempt]) => [status, attempt])).toEqual([
      ["succeeded", 2],
      ["succeeded", 1],
      ["succeeded", 1],
      ["succeeded", 1],
    ]);
  });

  it("in one call keeps the receipts of those that end after it", async () => {
    const store = await memoryStore();
    const { tools, began, end } = heldTools();
    const turns = [calls("a", "b")];
    const probe = crashAt("tool:executed");
    const dying = failureOf(runnerOf(store, tools, turns, { probe }).runner.run("Go", { runId: "r-1" }));
    await began("b");
    end("a");
    end("b");
    await dying;
    expect(await statuses(store)).toEqual(["in_doubt", "succeeded"]);
  });
});
