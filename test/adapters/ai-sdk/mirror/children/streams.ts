// Calls agent.stream() over the store at a path, for the chat c-1, and prints what the SDK shows. The tool notes each time
// that it really ran. The process dies at a point of the engine, or right after the SDK has shown the result of the tool.

import { appendFileSync } from "node:fs";
import { z } from "zod";
import { asAgent } from "../../../../../src/adapters/ai-sdk/index.ts";
import type { CrashPoint } from "../../../../../src/engine/ports/crash-points.ts";
import { agent, conversation, openStore, Runner, tool } from "../../../../../src/index.ts";
import { crashAt, scriptedModel } from "../../../../../src/testing/index.ts";

const [file = "", kind = "", dies = ""] = process.argv.slice(2);
const store = await openStore(`file:${file}`);
const model = scriptedModel([
  { text: "I pay.", toolCalls: [{ name: "pay", input: { order: 7 }, id: "p-1" }] },
  { text: "Paid." },
]);
const pay = tool({
  description: "Pays.",
  inputSchema: z.object({ order: z.number() }),
  recovery: "repeat",
  execute: ({ order }) => {
    appendFileSync(`${file}.ran`, "pay\n");
    return { order, paid: true };
  },
});
const clerk = agent({ name: "clerk", model, instructions: "Help.", tools: { pay } });
const target = kind === "conversation" ? conversation(clerk) : clerk;
const probe = dies === "" || dies === "shown" ? {} : { probe: crashAt(dies as CrashPoint) };
const mirror = asAgent(new Runner(target, { store, ...probe }), { tools: { pay } });
const result = await mirror.stream({ prompt: "Pay 7.", options: { runId: "c-1", by: "ann" } });
for await (const part of result.stream)
  if (part.type === "tool-result" && dies === "shown") process.kill(process.pid, "SIGKILL");
const steps = await result.steps;
const shown = steps.map(({ text, toolResults }) => ({
  text,
  results: toolResults.map(({ output }) => output),
}));
console.log(JSON.stringify(shown));
await store.close();
