import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { asAgent } from "../../../../src/adapters/ai-sdk/index.ts";
import { agent, conversation, openStore, Runner, Worker } from "../../../../src/index.ts";
import { scriptedModel } from "../../../../src/testing/index.ts";
import { LOOK_UP, mirrored } from "./mirrored-agents.ts";

const options = { runId: "run-1" };

describe("the turns of a run, as steps of the AI SDK", () => {
  it("have failed calls, invented tools and invalid arguments as the ledger has them", async () => {
    const { runner, ran, store } = await mirrored([
      {
        toolCalls: [
          { name: "broken", input: { order: 1 }, id: "a" },
          { name: "invented", input: {}, id: "b" },
          { name: "look_up", input: { order: "seven" }, id: "c" },
        ],
      },
      { toolCalls: [LOOK_UP(7)] },
      { text: "Done." },
    ]);
    const result = await asAgent(runner).generate({ prompt: "Go", options });
    const errors = result.steps[0]?.content.flatMap((part) =>
      part.type === "tool-error" ? [`${part.toolName}: ${String(part.error)}`] : [],
    );
    expect(errors).toEqual([
      expect.stringMatching(/^broken: .*no such order/),
      expect.stringMatching(/^invented: .*There is no tool "invented"/),
      expect.stringMatching(/^look_up: /),
    ]);
    expect(result.steps.map(({ toolCalls }) => toolCalls.map(({ toolCallId }) => toolCallId))).toEqual([
      ["run-1/clerk#1.1", "run-1/clerk#1.2", "run-1/clerk#1.3"],
      ["run-1/clerk#2.1"],
      [],
    ]);
    expect(result.text).toBe("Done.");
    expect(ran).toEqual(["look_up 7"]);
    expect(await store.listToolCalls("run-1")).toHaveLength(4);
  });

  it("give the structured output of the run, without answers that were asked again", async () => {
    const store = await openStore(":memory:");
    onTestFinished(() => store.close());
    const model = scriptedModel([{ text: "Four?" }, { text: '{"n":"4"}' }, { text: '{"n":4}' }]);
    const output = z.object({ n: z.number() });
    const counter = new Runner(agent({ name: "counter", model, output }), { store });
    const result = await asAgent(counter).generate({ prompt: "Two and two", options });
    expect(result.output).toEqual({ n: 4 });
    expect(result.steps).toHaveLength(1);
    expect(result.usage).toMatchObject({ inputTokens: 30, outputTokens: 15 });
    const streamed = await asAgent(counter).stream({ prompt: "Two and two", options });
    expect(await streamed.output).toEqual({ n: 4 });
    expect((await store.getRun("run-1"))?.output).toEqual({ n: 4 });
  });

  it("are those of the worker that has the run, with drive: false", async () => {
    const { runner, ran, store, clerk } = await mirrored([{ toolCalls: [LOOK_UP(7)] }, { text: "Done." }], {
      isConversation: true,
    });
    const worker = new Worker({ store, pipelines: { clerk: conversation(clerk) } });
    const over = new AbortController();
    const work = worker.run(over.signal);
    const result = await asAgent(runner, { drive: false }).stream({ prompt: "Go", options });
    expect(await result.text).toBe("Done.");
    expect(ran).toEqual(["look_up 7"]);
    over.abort();
    await work;
  });

  it("have both answers of an exchange that a person has steered", async () => {
    const { runner } = await mirrored(
      async ({ turn }) => {
        if (turn === 1) await runner.send("run-1", "And 8?", { id: "m-2", mode: "steer", by: "ann" });
        return { text: `Answer ${turn}.` };
      },
      { isConversation: true },
    );
    const result = await asAgent(runner).generate({ prompt: "7?", options: { ...options, by: "ann" } });
    expect(result.text).toBe("Answer 1.Answer 2.");
    expect(result.steps).toHaveLength(1);
  });
});

describe("a tool that the provider runs", () => {
  it("is in the answer, with its result, and the SDK runs nothing", async () => {
    const store = await openStore(":memory:");
    onTestFinished(() => store.close());
    const model = new MockLanguageModelV4({
      doGenerate: {
        content: [
          {
            type: "tool-call",
            toolCallId: "s-1",
            toolName: "web",
            input: '{"q":"pawl"}',
            providerExecuted: true,
          },
          { type: "tool-result", toolCallId: "s-1", toolName: "web", result: { hits: 3 } },
          { type: "text", text: "Three hits." },
        ],
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 4, text: 4, reasoning: 0 },
        },
        warnings: [],
      },
    });
    const web = {
      type: "provider",
      id: "x.web",
      args: {},
      isProviderExecuted: true,
      inputSchema: z.object({}),
    } as const;
    const runner = new Runner(agent({ name: "searcher", model, tools: { web } }), { store });
    const result = await asAgent(runner).stream({ prompt: "Search", options });
    expect(await result.text).toBe("Three hits.");
    expect(await result.toolResults).toMatchObject([
      { toolCallId: "run-1/searcher#1.1", output: { hits: 3 }, providerExecuted: true },
    ]);
    expect(await result.usage).toMatchObject({ inputTokens: 9, outputTokens: 4 });
  });
});

describe("leaving", () => {
  it("only stops watching, or ends the exchange if that was asked for", async () => {
    for (const onAbort of ["leave", "stop"] as const) {
      const begun = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<void>();
      const { runner, store } = await mirrored(
        async () => {
          begun.resolve();
          await answer.promise;
          return { text: "Late." };
        },
        { isConversation: true },
      );
      const leaving = new AbortController();
      const call = { prompt: "Hi", options, abortSignal: leaving.signal };
      const result = asAgent(runner, { onAbort }).generate(call);
      await begun.promise;
      leaving.abort();
      await expect(result).rejects.toThrow();
      if (onAbort === "leave") answer.resolve();
      const outcomes = async () => (await store.listExchanges("run-1")).map(({ outcome }) => outcome);
      await expect.poll(outcomes).toEqual([onAbort === "leave" ? "complete" : "stopped"]);
      answer.resolve();
    }
  });
});
