/** Agents to talk with. What they do is a line in log.txt; files in the folder hold them, or kill the process. */
export const CHAT_CONFIG = `
import { appendFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "<pawl>node_modules/zod/index.js";
import { Pipeline, Step, agent, conversation, tool } from "<pawl>src/index.ts";
import { defineConfig } from "<pawl>src/engine/definition/config.ts";
import { scriptedModel } from "<pawl>src/testing/scripted-model.ts";

const here = import.meta.dirname;
const log = (line: string) => appendFileSync(join(here, "log.txt"), line + "\\n");

/** Dies once, of a real signal. */
const dieAt = (place: string) => {
  const file = join(here, "die-in-" + place);
  if (!existsSync(file)) return;
  rmSync(file);
  process.kill(process.pid, "SIGKILL");
};

const look_up = tool({
  description: "Look up an order.",
  inputSchema: z.object({ order: z.number() }),
  effect: "read_only",
  execute: async ({ order }) => { log("look up " + order); dieAt("tool"); return "shipped"; },
});
const refund = tool({
  description: "Refund an order.",
  inputSchema: z.object({ order: z.number() }),
  effect: "external",
  recovery: "keyed",
  approval: true,
  execute: ({ order }) => { log("refund " + order); return "refunded"; },
});

const heard = (prompt: readonly { role: string; content: unknown }[]) =>
  prompt.filter(({ role }) => role === "user").flatMap(({ content }) => (content as { text: string }[]).map(({ text }) => text));
const model = scriptedModel(async ({ options: { prompt, abortSignal } }) => {
  const said = heard(prompt).at(-1) ?? "";
  const hasResult = prompt.at(-1)?.role === "tool";
  log("model: " + said + (hasResult ? ", with a result" : ""));
  while (existsSync(join(here, "hold-model"))) await sleep(2, undefined, { signal: abortSignal });
  dieAt("model");
  if (said.includes("order") && !hasResult) return { text: "A moment.", toolCalls: [{ name: "look_up", input: { order: 7 } }] };
  if (said.includes("money") && !hasResult) return { toolCalls: [{ name: "refund", input: { order: 7 } }] };
  return { text: hasResult ? "It is done." : "You said: " + said };
});
const named = (name: string) => agent({ name, model, instructions: "Help.", tools: { look_up, refund } });

export default defineConfig({
  pipelines: {
    clerk: conversation(named("clerk")),
    helper: named("helper"),
    brief: conversation(named("brief"), { maxTurns: 1 }),
    report: Pipeline.of("report", Step.granular("write", named("writer"))),
  },
});
`;
