/**
 * The other process of `bench/live.ts`: works on a run of a store, with a model that says when it says something.
 *
 *   node bench/live-writer.ts <file> <turns> <pieces> <every ms>
 */
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { agent, type ModelPort, openStore, Runner, tool } from "../src/index.ts";

const [file = "", ...rest] = process.argv.slice(2);
const [turns = 1, pieces = 1, everyMs = 0] = rest.map(Number);

const USAGE = { inputTokens: 100, outputTokens: 50, cachedInputTokens: 0, reasoningTokens: 0 };

function model(): ModelPort {
  let turn = 0;
  return {
    provider: "bench",
    modelId: "streaming",
    streams: true,
    respond: async (_request, say) => {
      turn += 1;
      for (let i = 0; i < pieces; i++) {
        const now = performance.timeOrigin + performance.now();
        const delta = i === 0 ? `${now} ` : "some more words of it ";
        say?.({ part: 0, kind: "text", delta });
        if (everyMs > 0) await sleep(everyMs);
      }
      const call = { type: "tool-call", toolCallId: `c-${turn}`, toolName: "look", input: { turn } } as const;
      const text = { type: "text", text: "some more words of it ".repeat(pieces) } as const;
      const content = turn < turns ? [text, call] : [text];
      return { content, finishReason: "stop", usage: USAGE, invalidCalls: {}, responseId: null };
    },
  };
}

const look = tool({
  name: "look",
  description: "Looks.",
  inputSchema: z.object({ turn: z.number() }),
  effect: "read_only",
  execute: ({ turn }) => `seen ${turn}`,
});

const store = await openStore(`file:${file}`);
const clerk = agent({
  name: "clerk",
  model: model(),
  instructions: "Answer.",
  tools: { look },
  maxTurns: 999,
});
await new Runner(clerk, { store, live: true }).run("Hello", { runId: "run-0" });
await store.close();
