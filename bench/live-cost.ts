/**
 * `node bench/live-cost.ts <database> <provider> <runs> <turns> <rounds>`: what a turn costs this process with whole
 * answers and with streamed ones, and what the provider's package costs alone for the same requests. The four take turns in
 * one process, after a round that is not counted. Prints microseconds of the processor, the durable commits, and which part
 * of a profile of streamed turns is Pawl's own work for the pieces.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { z } from "zod";
import { agent, openStore, Runner, tool } from "../src/index.ts";
import { liveShare } from "./live-share.ts";

const [address = "", provider = "", ...rest] = process.argv.slice(2);
const [runs = 1, turns = 1, rounds = 1] = rest.map(Number);

const model: LanguageModelV4 = createOpenAICompatible({
  name: "bench",
  baseURL: provider,
  includeUsage: true,
})("bench");
const description = "Looks.";
const inputSchema = z.object({ turn: z.number() });
const look = tool({
  name: "look",
  description,
  inputSchema,
  effect: "read_only",
  execute: ({ turn }) => `seen ${turn}`,
});
const clerk = agent({ name: "clerk", model, instructions: "Answer.", tools: { look }, maxTurns: 999 });

let commits = 0;
const store = await openStore(address, { onCommit: () => commits++ });
let made = 0;

async function work(live: boolean): Promise<void> {
  made += 1;
  await new Runner(clerk, { store, live }).run("Hello", { runId: `run-${made}` });
}

/** The requests of a run, with nothing of Pawl. */
async function ask(send: (options: LanguageModelV4CallOptions) => Promise<void>): Promise<void> {
  const tools = [
    { type: "function", name: "look", description, inputSchema: z.toJSONSchema(inputSchema) },
  ] as LanguageModelV4CallOptions["tools"];
  const prompt: LanguageModelV4CallOptions["prompt"] = [
    { role: "system", content: "Answer." },
    { role: "user", content: [{ type: "text", text: "Hello" }] },
  ];
  for (let turn = 1; turn <= turns; turn++) {
    await send({ prompt: [...prompt], tools: tools ?? [] });
    const called = { toolCallId: `c-${turn}`, toolName: "look" };
    prompt.push(
      { role: "assistant", content: [{ type: "tool-call", ...called, input: { turn } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", ...called, output: { type: "text", value: `seen ${turn}` } }],
      },
    );
  }
}

const ways = {
  whole: () => work(false),
  streamed: () => work(true),
  providerWhole: () => ask(async (options) => void (await model.doGenerate(options))),
  providerStreamed: () =>
    ask(async (options) => {
      const { stream } = await model.doStream(options);
      for await (const _ of stream);
    }),
};
type Way = keyof typeof ways;

async function measure(way: Way): Promise<{ readonly cpu: number; readonly commits: number }> {
  const [cpuBefore, commitsBefore] = [process.cpuUsage(), commits];
  await Promise.all(Array.from({ length: runs }, ways[way]));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpu: (user + system) / runs / turns, commits: commits - commitsBefore };
}

const measured: Record<Way, { cpu: number; commits: number }[]> = {
  whole: [],
  streamed: [],
  providerWhole: [],
  providerStreamed: [],
};
const names = Object.keys(ways) as Way[];
for (const way of names) await measure(way);
for (let round = 0; round < rounds; round++) for (const way of names) measured[way].push(await measure(way));
const own = await liveShare(() => measure("streamed"));
await store.close();
/** Whatever else the machine does only adds to it. */
const least = (of: "cpu" | "commits") =>
  Object.fromEntries(names.map((way) => [way, Math.min(...measured[way].map((each) => each[of]))]));
console.log(JSON.stringify({ cpu: least("cpu"), commits: least("commits"), own }));
