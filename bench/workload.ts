import { z } from "zod";
import { agent, type ModelPort, type ModelResponse, Step, tool } from "../src/index.ts";

/** 1 KB of what a tool might return: words, not one letter over and over. */
export const RESULT_TEXT = Array.from({ length: 200 }, (_, i) => `item${(i * 7919) % 1000}`)
  .join(" ")
  .slice(0, 1024);

/** A model at the port, without a network or an SDK: it answers at once. */
export function instantModel(turns: number): ModelPort {
  return { provider: "bench", modelId: "instant", respond: (request) => Promise.resolve(answer(request.messages, turns)) };
}

let counter = 0;

function answer(_messages: readonly unknown[], turns: number): ModelResponse {
  counter += 1;
  const usage = { inputTokens: 2_000, outputTokens: 40, cachedInputTokens: 0, reasoningTokens: 0 };
  const rest = { finishReason: "stop", usage, invalidCalls: {}, responseId: `resp-${counter}` };
  if (turns > 0 && counter % turns === 0) return { ...rest, content: [{ type: "text", text: "All done." }] };
  const input = { query: `item number ${counter}`, limit: 10 };
  return {
    ...rest,
    content: [
      { type: "text", text: "Let me look that up." },
      { type: "tool-call", toolCallId: `call-${counter}`, toolName: "lookup", input },
    ],
  };
}

export function resetModel(): void {
  counter = 0;
}

const lookup = tool({
  description: "Looks something up.",
  inputSchema: z.object({ query: z.string(), limit: z.number() }),
  effect: "read_only",
  execute: () => ({ text: RESULT_TEXT }),
});

/** An agent of `turns` turns, each with one tool call whose result is 1 KB. */
export function benchStep(model: ModelPort, turns: number) {
  const worker = agent({ name: "worker", model, instructions: "You look things up.", tools: { lookup } });
  return Step.granular("work", worker, { maxTurns: turns + 1, historyMaxTokens: 8_000 });
}
