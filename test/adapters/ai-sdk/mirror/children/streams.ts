// Calls agent.stream() over the store at a path, for the chat c-1, and prints the answer. The tool and the model note each
// time that they were really asked; with "hangs", what is named waits for ever.

import { appendFileSync } from "node:fs";
import { z } from "zod";
import { asAgent } from "../../../../../src/adapters/ai-sdk/index.ts";
import { agent, conversation, openStore, Runner, tool } from "../../../../../src/index.ts";
import { scriptedModel } from "../../../../../src/testing/index.ts";

const [file = "", witness = "", kind = "", hangs = ""] = process.argv.slice(2);
const store = await openStore(`file:${file}`);

async function reached(what: string): Promise<void> {
  appendFileSync(witness, `${what}\n`);
  if (what !== hangs) return;
  console.log("hangs");
  await new Promise(() => setInterval(() => undefined, 1_000));
}

const model = scriptedModel(async ({ turn }) => {
  await reached(`model ${turn}`);
  return turn === 1 ? { toolCalls: [{ name: "pay", input: { order: 7 }, id: "p-1" }] } : { text: "Paid." };
});
const pay = tool({
  description: "Pays.",
  inputSchema: z.object({ order: z.number() }),
  execute: async ({ order }) => {
    await reached("pay");
    return { order, paid: true };
  },
});
const clerk = agent({ name: "clerk", model, instructions: "Help.", tools: { pay } });
const target = kind === "conversation" ? conversation(clerk) : clerk;
const mirror = asAgent(new Runner(target, { store }), { tools: { pay } });
const result = await mirror.stream({ prompt: "Pay 7.", options: { runId: "c-1", by: "ann" } });
for await (const part of result.stream)
  if (part.type === "tool-result") await reached(`shown ${JSON.stringify(part.output)}`);
console.log(await result.text);
await store.close();
