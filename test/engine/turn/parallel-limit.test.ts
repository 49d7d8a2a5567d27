// Parallel tool calls: the limit, and a receipt for each call as soon as it ends.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { PausedError, Runner, type Store, type Tool, tool } from "../../../src/index.ts";
import { failureAs, memoryStore, scriptedAgent, toolResults } from "../run-fixture.ts";

const jobs = (...names: string[]) => ({
  toolCalls: names.map((name) => ({ name: "job", input: { name } })),
});

/** A tool whose calls end when the test resolves them. */
function heldJobs() {
  const gates = new Map<string, PromiseWithResolvers<unknown>>();
  const gate = (name: string) => {
    const known = gates.get(name) ?? Promise.withResolvers<unknown>();
    gates.set(name, known);
    return known;
  };
  const begun: string[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  let atOnce = 0;
  let most = 0;
  const job: Tool = tool({
    description: "Works until it is released.",
    inputSchema: z.object({ name: z.string() }),
    execute: async ({ name }) => {
      begun.push(name);
      most = Math.max(most, ++atOnce);
      for (const { count, resolve } of waiting) if (begun.length >= count) resolve();
      try {
        return await gate(name).promise;
      } finally {
        atOnce--;
      }
    },
  });
  return {
    job,
    begun,
    most: () => most,
    end: (name: string, result: unknown = name) => gate(name).resolve(result),
    fail: (name: string, error: Error) => gate(name).reject(error),
    /** Resolves when this many calls have begun in all. */
    started: (count: number) =>
      begun.length >= count
        ? Promise.resolve()
        : new Promise<void>((resolve) => waiting.push({ count, resolve })),
  };
}

const statuses = async (store: Store) => (await store.listToolCalls("r-1")).map((call) => call.status);

describe("five calls with a limit of two", () => {
  it("run at most two at once, the others wait as prepared, and each leaves a receipt", async () => {
    const store = await memoryStore();
    const { job, begun, most, end, started } = heldJobs();
    const { agent } = scriptedAgent([jobs("a", "b", "c", "d", "e"), { text: "End." }], { tools: { job } });
    const run = new Runner(agent, { store, maxParallelToolCalls: 2 }).run("Go", { runId: "r-1" });

    await started(2);
    expect(await statuses(store)).toEqual(["running", "running", "prepared", "prepared", "prepared"]);
    end("b");
    await started(3);
    expect(begun).toEqual(["a", "b", "c"]);
    // The receipt of one and the start of the next are one commit.
    expect(await statuses(store)).toEqual(["running", "succeeded", "running", "prepared", "prepared"]);
    end("c");
    await started(4);
    end("a");
    await started(5);
    expect(await statuses(store)).toEqual(["succeeded", "succeeded", "succeeded", "running", "running"]);
    end("e");
    end("d");

    expect((await run).output).toBe("End.");
    expect(most()).toBe(2);
    const calls = await store.listToolCalls("r-1");
    expect(calls.map(({ receipt, attempt }) => [receipt?.output.value, attempt])).toEqual(
      ["a", "b", "c", "d", "e"].map((name) => [name, 1]),
    );
  });

  it("return their results in call order, whatever the order in which they ended", async () => {
    const store = await memoryStore();
    const { job, end, started } = heldJobs();
    const { agent, prompts } = scriptedAgent([jobs("a", "b", "c"), { text: "End." }], { tools: { job } });
    const run = new Runner(agent, { store }).run("Go", { runId: "r-1" });
    await started(3);
    for (const name of ["c", "a", "b"]) {
      end(name);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await run;
    expect(toolResults(prompts[1])).toMatchObject(["a", "b", "c"].map((value) => ({ value })));
  });
});

describe("the commits of a turn", () => {
  async function commitsOf(...names: string[]): Promise<string[][]> {
    const commits: string[][] = [];
    const store = await memoryStore({ onCommit: (intents) => commits.push([...intents]) });
    const { job, end, started } = heldJobs();
    const { agent } = scriptedAgent([jobs(...names), { text: "End." }], { tools: { job } });
    const run = new Runner(agent, { store }).run("Go");
    await started(names.length);
    const before = commits.length;
    for (const name of names) {
      end(name);
      // One after the other: each call has its own commit before the next one ends.
      while (name !== names.at(-1) && commits.length === before) await new Promise(setImmediate);
    }
    await run;
    const opened = commits.findIndex((intents) => intents.includes("openTurn"));
    const committed = commits.findIndex((intents) => intents.includes("commitTurn"));
    return commits.slice(opened + 1, committed + 1);
  }

  it("are two with one tool: before the effect and after it", async () => {
    expect(await commitsOf("a")).toEqual([["journalResponse"], ["commitTurn"]]);
  });

  it("are three with two tools that end at different times: the first receipt does not wait", async () => {
    expect(await commitsOf("a", "b")).toEqual([["journalResponse"], ["recordReceipt"], ["commitTurn"]]);
  });
});

describe("a call that stops the run", () => {
  it("lets running calls finish with their receipts, and starts no other", async () => {
    const store = await memoryStore();
    const { job, begun, end, fail, started } = heldJobs();
    const { agent } = scriptedAgent([jobs("a", "b", "c")], { tools: { job } });
    const paused = new PausedError("Later.");
    const runner = new Runner(agent, { store, maxParallelToolCalls: 2 });
    const run = failureAs(PausedError, runner.run("Go", { runId: "r-1" }));
    await started(2);
    fail("a", paused);
    await new Promise(setImmediate);
    expect((await store.getRun("r-1"))?.status).toBe("running"); // the run waits for b
    end("b");

    expect(await run).toBe(paused);
    expect(begun).toEqual(["a", "b"]);
    expect(await statuses(store)).toEqual(["in_doubt", "succeeded", "prepared"]);
    expect((await store.getRun("r-1"))?.status).toBe("waiting");
  });
});
