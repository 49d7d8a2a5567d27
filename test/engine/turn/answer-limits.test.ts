// Limits on a single model answer.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type Json, ModelCallError, type ModelPort, Runner, tool } from "../../../src/index.ts";
import { type Script, scriptedModel } from "../../../src/testing/index.ts";
import { watchEventLoop } from "../../watch-event-loop.ts";
import { failureAs, memoryStore } from "../run-fixture.ts";

const done: string[] = [];
const note = tool({
  description: "Notes it.",
  inputSchema: z.looseObject({}),
  effect: "read_only",
  execute: () => {
    done.push("noted");
    return "noted";
  },
});
const calls = (count: number, input: Json = {}) =>
  Array.from({ length: count }, (_, i) => ({ name: "note", input: { ...(input as object), i } }));
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));

/** The same answer from a custom model port, without the AI SDK. */
function ownPort(toolCalls: ReturnType<typeof calls>): ModelPort {
  const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 0 };
  const content = toolCalls.map(({ name, input }, i) => ({
    type: "tool-call" as const,
    toolCallId: `c-${i}`,
    toolName: name,
    input,
  }));
  const response = { content, finishReason: "tool-calls", usage, invalidCalls: {}, responseId: null };
  return { provider: "own", modelId: "port", respond: () => Promise.resolve(response) };
}

describe.each([
  ["calls", calls(12_000), /asked for 12000 tool calls at once, and the limit is 128/],
  [
    "values",
    calls(1, keys(20_000)),
    /more than 8000 values in their arguments, which is the limit of one answer/,
  ],
  [
    "characters",
    calls(1, { text: "x".repeat(2_100_000) }),
    /more than 2000000 characters, which is the limit of one answer/,
  ],
] as const)("too many %s in one answer", (_, toolCalls, why) => {
  it("are refused: the attempt is charged, nothing runs, and the model is asked again", async () => {
    done.length = 0;
    const store = await memoryStore();
    const answers = [{ toolCalls }, { toolCalls: calls(2) }];
    const model = scriptedModel(() => answers.shift() ?? { text: "Done." });
    const worker = agent({ name: "worker", model, tools: { note } });
    const run = () => new Runner(worker, { store, maxModelAttempts: 2 }).run("Go", { runId: "r-1" });
    const { result, longestBlockMs } = await watchEventLoop(run);
    expect(result.output).toBe("Done.");
    expect(done).toEqual(["noted", "noted"]);
    const modelCalls = await store.listModelCalls("r-1");
    expect(modelCalls.map(({ charge }) => charge?.basis)).toEqual(["provider", "provider", "provider"]);
    expect(longestBlockMs).toBeLessThan(3_000);
  });

  it("fail the run with a message that names the limit, also when it is resumed", async () => {
    const store = await memoryStore();
    const model = scriptedModel(() => ({ toolCalls }));
    const runner = new Runner(agent({ name: "worker", model, tools: { note } }), {
      store,
      maxModelAttempts: 1,
    });
    expect((await failureAs(ModelCallError, runner.run("Go", { runId: "r-1" }))).message).toMatch(why);
    expect((await failureAs(ModelCallError, runner.resume("r-1"))).message).toMatch(why);
    expect(await store.listToolCalls("r-1")).toEqual([]);
  });
});

it.each([
  [calls(129), /asked for 129 tool calls at once/],
  [calls(1, keys(9_000)), /more than 8000 values in their arguments/],
] as const)("limits apply to a custom model port too", async (toolCalls, why) => {
  const worker = agent({ name: "worker", model: ownPort(toolCalls), tools: { note } });
  const runner = new Runner(worker, { store: await memoryStore(), maxModelAttempts: 1 });
  expect((await failureAs(ModelCallError, runner.run("Go"))).message).toMatch(why);
});

it("128 calls and a long text are accepted", async () => {
  done.length = 0;
  const script: Script = [
    { toolCalls: [...calls(127), ...calls(1, { text: "x".repeat(500_000) })] },
    { text: "Done." },
  ];
  const worker = agent({ name: "worker", model: scriptedModel(script), tools: { note } });
  await new Runner(worker, { store: await memoryStore() }).run("Go");
  expect(done).toHaveLength(128);
});

it("structured output with too many values is requested again", async () => {
  const script: Script = [{ text: JSON.stringify(keys(60_000)) }, { text: JSON.stringify(keys(2)) }];
  const worker = agent({ name: "worker", model: scriptedModel(script), output: z.looseObject({}) });
  const { output } = await new Runner(worker, { store: await memoryStore() }).run("Go");
  expect(output).toEqual(keys(2));
});
