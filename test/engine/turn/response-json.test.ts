import { expect, test } from "vitest";
import { z } from "zod";
import { agent, type ModelPort, type ModelResponse, openStore, Runner, tool } from "../../../src/index.ts";

const ANSWERED = {
  finishReason: "stop",
  usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 },
  invalidCalls: {},
  responseId: null,
};

function answering(...answers: ModelResponse[]): ModelPort {
  return {
    provider: "port",
    modelId: "port",
    respond: () =>
      Promise.resolve(answers.shift() ?? { ...ANSWERED, content: [{ type: "text", text: "end" }] }),
  };
}

test("half a character in a model's answer or arguments is replaced, and the turn is committed", async () => {
  const received: string[] = [];
  const say = tool({
    description: "Say it.",
    inputSchema: z.object({ what: z.string() }),
    execute: ({ what }) => {
      received.push(what);
    },
  });
  const content = [
    { type: "text", text: "so \ud83d" },
    { type: "tool-call", toolCallId: "1", toolName: "say", input: { what: "smile \ud83d" } },
  ];
  const speaker = agent({ name: "speaker", model: answering({ ...ANSWERED, content }), tools: { say } });
  const store = await openStore(":memory:");
  const { output, context } = await new Runner(speaker, { store }).run("Go.", { runId: "run" });
  expect(output).toBe("end");
  expect(received).toEqual(["smile \ufffd"]);
  expect(context.granularState?.history[1]).toMatchObject({
    content: [{ text: "so \ufffd" }, { toolName: "say" }],
  });
  await store.close();
});
