import { z } from "zod";
import { aiSdkModel as adapt } from "../src/adapters/ai-sdk/ai-sdk.ts";
import { agent, type ModelPort, type ModelResponse, Step, tool } from "../src/index.ts";
import { scriptedModel } from "../src/testing/index.ts";

/** 1 KB of a typical tool result: words, not one repeated letter. */
const RESULT_TEXT = Array.from({ length: 200 }, (_, i) => `item${(i * 7919) % 1000}`)
  .join(" ")
  .slice(0, 1024);

/** An effect: its answer must be in the journal before it begins, and its receipt before the next request. */
const order = tool({
  description: "Orders something.",
  inputSchema: z.object({ query: z.string(), limit: z.number() }),
  effect: "external",
  recovery: "keyed",
  execute: () => ({ text: RESULT_TEXT }),
});

const SAYS = "Let me order that.";

/** Requests one tool call a turn, `turns - 1` times, and then ends: immediately, without a network or an SDK. */
export function instantModel(turns: number, onCall: () => void = () => undefined): ModelPort {
  let calls = 0;
  return {
    provider: "bench",
    modelId: "instant",
    respond: () => {
      onCall();
      calls += 1;
      return Promise.resolve(calls % turns === 0 ? done(calls) : call(calls));
    },
  };
}

const usage = { inputTokens: 2_000, outputTokens: 40, cachedInputTokens: 0, reasoningTokens: 0 };

function call(n: number): ModelResponse {
  const input = { query: `item number ${n}`, limit: 10 };
  const content = [
    { type: "text", text: SAYS },
    { type: "tool-call", toolCallId: `call-${n}`, toolName: "order", input },
  ];
  return { content, finishReason: "tool-calls", usage, invalidCalls: {}, responseId: `response-${n}` };
}

function done(n: number): ModelResponse {
  const content = [{ type: "text", text: "All done." }];
  return { content, finishReason: "stop", usage, invalidCalls: {}, responseId: `response-${n}` };
}

/** The same script, through the AI SDK. */
export function aiSdkModel(turns: number) {
  let calls = 0;
  return scriptedModel(() => {
    calls += 1;
    if (calls % turns === 0) return { text: "All done." };
    return {
      text: SAYS,
      toolCalls: [{ name: "order", input: { query: `item number ${calls}`, limit: 10 } }],
    };
  });
}

/** The same, as a stream that goes nowhere. */
export function streamingModel(turns: number, onPart: () => void = () => undefined): ModelPort {
  const port = adapt(aiSdkModel(turns));
  return { ...port, respond: (request) => port.respond(request, onPart) };
}

/** One tool call of 1 KB a turn, and a history of at most so many tokens. */
export function benchStep(
  model: Parameters<typeof agent>[0]["model"],
  maxTurns: number,
  historyMaxTokens = 8_000,
) {
  const worker = agent({ name: "worker", model, instructions: "You order things.", tools: { order } });
  return Step.granular("work", worker, { maxTurns, historyMaxTokens });
}
