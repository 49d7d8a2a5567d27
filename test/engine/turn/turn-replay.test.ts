// A turn whose answer is stored and whose calls are not all done: only what is missing is done.

import { describe, expect, it } from "vitest";
import { type ModelPort, PausedError, Runner } from "../../../src/index.ts";
import { failureAs, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

describe("an answer that arrives after the run was cancelled", () => {
  it("is journaled, its calls are not started, and a resumed run starts them", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const cancel = new AbortController();
    const { agent, prompts } = scriptedAgent(
      ({ turn }) => {
        if (turn > 1) return { text: "Hello" };
        cancel.abort();
        return noting("one");
      },
      { tools: { note } },
    );
    // Ignores the signal, so that the answer arrives anyway.
    const unresponsive: ModelPort = {
      ...agent.model,
      respond: (request) => agent.model.respond({ ...request, signal: new AbortController().signal }),
    };
    const runner = new Runner({ ...agent, model: unresponsive }, { store });

    const result = await runner.run("Go", { runId: "r-1", signal: cancel.signal });

    expect(result.status).toBe("cancelled");
    expect(done).toEqual([]);
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["prepared"]);
    expect(await store.getRun("r-1")).toMatchObject({ charged: { tokens: 15 }, reserved: { tokens: 0 } });
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect(done).toEqual(["one"]);
    expect(prompts).toHaveLength(2);
  });
});

describe("a replayed turn", () => {
  it("runs only the calls without a receipt", async () => {
    const store = await memoryStore();
    let paused = true;
    const { note, done } = noteTool(
      (text) => {
        if (text === "b" && paused) throw new PausedError("Not now.");
        return text;
      },
      { recovery: "keyed" },
    );
    const toolCalls = ["a", "b", "c"].map((text) => ({ name: "note", input: { text } }));
    const { agent, prompts } = scriptedAgent([{ toolCalls }, { text: "Hello" }], { tools: { note } });
    const runner = new Runner(agent, { store, maxParallelToolCalls: 2 });
    await failureAs(PausedError, runner.run("Go", { runId: "r-1" }));
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual([
      "succeeded",
      "in_doubt",
      expect.stringMatching("prepared|succeeded"),
    ]);
    const before = [...done];

    paused = false;
    expect((await runner.resume("r-1")).output).toBe("Hello");

    expect([...done].sort()).toEqual(
      [...new Set(before), "b", ...(before.includes("c") ? [] : ["c"])].sort(),
    );
    expect(prompts).toHaveLength(2);
    const results = await store.listToolCalls("r-1");
    expect(results.map((call) => [call.receipt?.output.value, call.status])).toEqual(
      ["a", "b", "c"].map((text) => [text, "succeeded"]),
    );
    expect(results[1]?.attempt).toBe(2);
  });
});
