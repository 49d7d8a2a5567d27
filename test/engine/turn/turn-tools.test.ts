// The calls of a turn, and what their tools return or throw.

import { tool as aiSdkTool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  ConfigurationError,
  agent as defineAgent,
  Runner,
  Step,
  type ToolCallContext,
  tool,
} from "../../../src/index.ts";
import type { ScriptedResponse } from "../../../src/testing/index.ts";
import { answer, FakeOpenAiServer } from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import { memoryStore, must, noteTool, scriptedAgent, toolResults } from "../run-fixture.ts";

/** Runs one turn that calls `odd` with this behaviour, and one that ends. */
async function runOdd(execute: (call: ToolCallContext) => unknown) {
  const store = await memoryStore();
  let ran = 0;
  const odd = tool({
    description: "Does odd things.",
    inputSchema: z.object({}),
    execute: (_input, call) => {
      ran++;
      return execute(call);
    },
  });
  const { agent, prompts } = scriptedAgent([{ toolCalls: [{ name: "odd", input: {} }] }, { text: "End." }], {
    tools: { odd },
  });
  const { output } = await new Runner(agent, { store }).run("Go", { runId: "r-1" });
  const [call] = await store.listToolCalls("r-1");
  expect({ output, ran }).toEqual({ output: "End.", ran: 1 });
  return { seen: toolResults(prompts[1])[0], call: must(call) };
}

describe("an invalid call", () => {
  it.each<[string, NonNullable<ScriptedResponse["toolCalls"]>[number], RegExp, string]>([
    ["with arguments that do not fit", { name: "note", input: { text: 7 } }, /text/, "invalid_input"],
    ["with arguments left out", { name: "note", input: {} }, /text/, "invalid_input"],
    [
      "of a tool that does not exist",
      { name: "shout", input: { text: "a" } },
      /^There is no tool "shout"\. The tools are: note\.$/,
      "unknown_tool",
    ],
  ])("%s is reported to the model, and the turn continues", async (_name, wrong, words, errorCode) => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const right = { name: "note", input: { text: "b" } };
    const { agent, prompts } = scriptedAgent([{ toolCalls: [wrong, right] }, { text: "End." }], {
      tools: { note },
    });

    expect((await new Runner(agent, { store }).run("Go", { runId: "r-1" })).output).toBe("End.");

    expect(done).toEqual(["b"]);
    expect(toolResults(prompts[1])).toEqual([
      { type: "error-text", value: expect.stringMatching(words) as string },
      { type: "json", value: { noted: "b" } },
    ]);
    const calls = await store.listToolCalls("r-1");
    expect(calls.map(({ status, attempt, receipt }) => [status, attempt, receipt?.errorCode])).toEqual([
      ["cancelled", 0, errorCode],
      ["succeeded", 1, null],
    ]);
  });

  it("with arguments that are no JSON is reported to the model with its text", async () => {
    const server = await FakeOpenAiServer.start();
    try {
      const store = await memoryStore();
      const { note, done } = noteTool();
      const broken = { id: "c1", name: "note", arguments: '{"text": "a' };
      server.next(answer({ toolCalls: [broken] }), answer("End."));
      const agent = defineAgent({ name: "worker", model: openAiModel(server.baseUrl), tools: { note } });

      expect((await new Runner(agent, { store }).run("Go", { runId: "r-1" })).output).toBe("End.");

      expect(done).toEqual([]);
      expect(JSON.stringify(server.lastMessages)).toContain("not valid JSON");
      const [turn] = await store.listTurns("r-1");
      expect(turn?.response.content[0]?.input).toBe(broken.arguments);
    } finally {
      await server.close();
    }
  });

  it("does not prevent the commit of a turn that has no other: receipts are stored, and nothing was started", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const wrong = ["x", "y"].map((name) => ({ name, input: {} }));
    const { agent } = scriptedAgent([{ toolCalls: wrong }, { text: "End." }], { tools: { note } });
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });
    const calls = await store.listToolCalls("r-1");
    expect(calls.map(({ status, attempt }) => [status, attempt])).toEqual([
      ["cancelled", 0],
      ["cancelled", 0],
    ]);
  });
});

describe("a tool that throws", () => {
  it.each<[string, () => unknown, string]>([
    ["an error", () => new Error("The mailbox is full."), "The mailbox is full."],
    ["an error without a message", () => new RangeError(), "RangeError"],
    ["an error whose message is no text", () => Object.assign(new Error("x"), { message: 404 }), "404"],
    ["an error with half a character", () => new Error("bad \ud83d"), "bad \ufffd"],
    ["a string", () => "just words", "just words"],
    ["an object", () => ({ code: 7 }), '{"code":7}'],
    ["an object that is no JSON", () => ({ code: 7n }), "[object Object]"],
    ["a BigInt", () => 7n, "7"],
    ["nothing", () => undefined, "undefined"],
  ])("%s: the model gets it, and the turn continues", async (_name, thrown, words) => {
    const { seen, call } = await runOdd(() => {
      throw thrown();
    });
    expect(seen).toEqual({ type: "error-text", value: words });
    expect(call).toMatchObject({ status: "failed", receipt: { errorCode: "tool_error" } });
  });
});

describe("the result of a tool", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;

  it.each<[string, unknown, unknown]>([
    ["undefined", undefined, { type: "json", value: null }],
    ["null", null, { type: "json", value: null }],
    ["a text", "Hello", { type: "text", value: "Hello" }],
    ["an empty text", "", { type: "text", value: "" }],
    ["a text with half a character", "a \ud83d b", { type: "text", value: "a \ufffd b" }],
    [
      "half a character inside",
      { "k\udc00": ["\ud83d", "😀", "\\ud83d"] },
      { type: "json", value: { "k\ufffd": ["\ufffd", "😀", "\\ud83d"] } },
    ],
    ["a Date", new Date(0), { type: "json", value: "1970-01-01T00:00:00.000Z" }],
    ["undefined inside", { a: 1, b: undefined }, { type: "json", value: { a: 1 } }],
    ["NaN", Number.NaN, { type: "json", value: null }],
    ["a function", () => 1, { type: "json", value: null }],
  ])("%s is converted to JSON", async (_name, returned, output) => {
    const { seen, call } = await runOdd(() => returned);
    expect(seen).toEqual(output);
    expect(call).toMatchObject({ status: "succeeded", receipt: { output } });
  });

  it.each<[string, unknown]>([
    ["a cycle", cycle],
    ["a BigInt", { n: 1n }],
    ["a value whose toJSON throws", { toJSON: () => must(null) }],
  ])("%s is an error which says that the effect took place", async (_name, returned) => {
    const { seen, call } = await runOdd(() => returned);
    expect(seen).toMatchObject({
      type: "error-text",
      value: expect.stringContaining("do not call it again"),
    });
    expect(call).toMatchObject({ status: "failed", receipt: { errorCode: "result_not_json" } });
  });

  it("is stored as a blob only when it is strictly over the threshold", async () => {
    const store = await memoryStore();
    const { note } = noteTool((text) => text);
    const texts = ["x".repeat(98), "x".repeat(99)]; // two quotation marks more as JSON
    const toolCalls = texts.map((text) => ({ name: "note", input: { text } }));
    const { agent } = scriptedAgent([{ toolCalls }, { text: "End." }], { tools: { note } });
    const step = Step.granular("work", agent, { blobThresholdBytes: 100 });
    await new Runner(step, { store }).run("Go", { runId: "r-1" });
    const calls = await store.listToolCalls("r-1");
    expect(calls.map(({ receipt }) => receipt?.blob?.size ?? null)).toEqual([null, 101]);
  });
});

describe("the arguments of a tool", () => {
  it("include the ids of run, step, turn and call, and the attempt", async () => {
    let context: ToolCallContext | undefined;
    await runOdd((call) => {
      context = call;
    });
    expect(context).toMatchObject({
      runId: "r-1",
      stepId: "r-1/worker",
      stepName: "worker",
      turnIndex: 1,
      toolCallId: "r-1/worker#1.1",
      attempt: 1,
      epoch: 1,
      idempotencyKey: expect.stringMatching(/^[0-9a-f]{64}$/),
      turnKey: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(context?.signal.aborted).toBe(false);
  });

  it("are its input as parsed by the schema", async () => {
    const store = await memoryStore();
    const inputs: unknown[] = [];
    const parse = tool({
      description: "Takes what its schema makes.",
      inputSchema: z.object({
        when: z.iso.datetime().transform((text) => new Date(text)),
        n: z.number().default(3),
      }),
      execute: (input) => inputs.push(input),
    });
    const input = { when: "2026-01-01T00:00:00Z" };
    const { agent, prompts } = scriptedAgent([{ toolCalls: [{ name: "parse", input }] }, { text: "End." }], {
      tools: { parse },
    });
    await new Runner(agent, { store }).run("Go");
    expect(inputs).toEqual([{ when: new Date(input.when), n: 3 }]);
    // The model is shown what it wrote.
    expect(prompts[1]?.at(-2)?.content[0]).toMatchObject({ input });
  });
});

describe("a tool of the AI SDK", () => {
  it("works unchanged", async () => {
    const store = await memoryStore();
    const add = aiSdkTool({
      description: "Adds.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: async ({ a, b }) => a + b,
    });
    const { agent, prompts } = scriptedAgent(
      [{ toolCalls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "3" }],
      { tools: { add } },
    );
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });
    expect(toolResults(prompts[1])).toEqual([{ type: "json", value: 3 }]);
    expect((await store.listToolCalls("r-1"))[0]).toMatchObject({ tool: "add", effect: "external" });
  });

  it("without an execute function is refused when the agent is made", () => {
    const client = aiSdkTool({ description: "Runs in a browser.", inputSchema: z.object({}) });
    expect(() => scriptedAgent([], { tools: { client: client as never } })).toThrow(ConfigurationError);
  });
});

describe("call ids", () => {
  it("that a provider reuses in another turn are distinguished", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const again = (text: string) => ({ toolCalls: [{ id: "call_0", name: "note", input: { text } }] });
    const script = [again("a"), again("a"), again("b"), { text: "End." }];
    const { agent, prompts } = scriptedAgent(script, { tools: { note } });

    await new Runner(agent, { store }).run("Go", { runId: "r-1" });

    expect(done).toEqual(["a", "a", "b"]);
    expect(toolResults(prompts[3])).toHaveLength(3);
    const keys = (await store.listToolCalls("r-1")).map((call) => call.idempotencyKey);
    expect(new Set(keys).size).toBe(3);
  });

  it("that a provider uses twice in one answer stay two calls", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const toolCalls = ["a", "b"].map((text) => ({ id: "same", name: "note", input: { text } }));
    const { agent, prompts } = scriptedAgent([{ toolCalls }, { text: "End." }], { tools: { note } });
    await new Runner(agent, { store }).run("Go");
    expect(done.sort()).toEqual(["a", "b"]);
    expect(toolResults(prompts[1])).toEqual(["a", "b"].map((noted) => ({ type: "json", value: { noted } })));
  });
});
