// Inputs that a stranger can send to keep the process busy, also ten times as large: how long they block everything else.
// Run it with `node bench/hostile-inputs.ts`. The goal is that no line blocks for more than 100 ms of processor time at once.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { mcpTools } from "../src/adapters/mcp/mcp.ts";
import { mcpToolInput } from "../src/adapters/mcp/mcp-tool-input.ts";
import { fetchPage, renderPdf } from "../src/adapters/tools/index.ts";
import { agent, openStore, Runner, Step, secret, type Tool, tool } from "../src/index.ts";
import { scriptedModel } from "../src/testing/index.ts";
import { OPENING } from "../test/mcp/opening.ts";
import { watchEventLoop } from "../test/watch-event-loop.ts";

type Case = {
  readonly name: string;
  readonly times: readonly number[];
  /** Preparation is not measured. */
  readonly prepare: (times: number) => (() => Promise<unknown>) | Promise<() => Promise<unknown>>;
};

const signal = new AbortController().signal;
const network = { allowedDomains: [], allowPrivateAddresses: false };

const MARKDOWN = ["a", "~~a", "`a`` ", "_a*", "\\*", "a@b.", "&a;", "["];

const CASES: readonly Case[] = [
  ...[28, 280].map(
    (letters): Case => ({
      name: `schema with ^(a+)+$ and ${letters} letters`,
      times: [1],
      prepare: () => () =>
        mcpToolInput(
          { type: "object", properties: { v: { type: "string", pattern: "^(a+)+$" } } },
          "web",
        ).parse({
          v: `${"a".repeat(letters)}!`,
        }),
    }),
  ),
  { name: "schema of 7 MB", times: [1, 10], prepare: (times) => () => listed("schema", 75_000 * times) },
  { name: "30,000 tools", times: [1, 10], prepare: (times) => () => listed("tools", 30_000 * times) },
  {
    name: "description of 7 MB",
    times: [1, 10],
    prepare: (times) => () => listed("description", 7_000_000 * times),
  },
  { name: "200 tools with 5 KB each", times: [1], prepare: () => () => listed("allowed", 200) },
  ...MARKDOWN.map(
    (piece): Case => ({
      name: `PDF of 100,000 characters of ${piece}`,
      times: [1, 10],
      prepare: (times) => {
        const markdown = repeated(piece, 100_000 * times);
        return () => called(renderPdf, { path: "a.pdf", markdown });
      },
    }),
  ),
  ...["<a>", "<div>", "<table><tr><td>", "&amp;", "x"].map(
    (piece): Case => ({
      name: `page of 2 MB of ${piece}`,
      times: [1, 10],
      prepare: (times) => {
        const html = Buffer.from(repeated(piece, 2_000_000 * times));
        return () => pageOf(html);
      },
    }),
  ),
  { name: "128 calls in one answer", times: [1], prepare: () => answered(128, 1) },
  { name: "12,000 calls in one answer", times: [1, 10], prepare: (times) => answered(12_000 * times, 1) },
  { name: "7,900 keys in the arguments", times: [1], prepare: () => answered(1, 7_900) },
  {
    name: "7,900 keys that look hidden in the arguments",
    times: [1],
    prepare: () => answered(1, 7_900, (i) => `[secret:${i.toString(16).padStart(12, "0")}]`),
  },
  ...(
    [
      ["keys", 60_000],
      ["parts", 30_000],
      ["text", 1_000_000],
      ["escapes", 1_000_000],
      ["marks", 4_000],
    ] as const
  ).map(
    ([what, count]): Case => ({
      name: `result of a server: ${count} of ${what}`,
      times: [1, 10],
      prepare: (times) => () => resultOf(what, count * times),
    }),
  ),
  ...["\\\\", "%25", "&amp;", "\u0130A\n", '"password":1,'].map(
    (piece): Case => ({
      name: `result of 2 MB of ${JSON.stringify(piece)}`,
      times: [1, 10],
      prepare: (times) => {
        const text = repeated(piece, 2_000_000 * times);
        return () => called(saying(text), {});
      },
    }),
  ),
  { name: "1,000,000 keys in the arguments", times: [1], prepare: () => answered(1, 1_000_000) },
];

function repeated(piece: string, characters: number): string {
  return piece.repeat(Math.ceil(characters / piece.length)).slice(0, characters);
}

/** Opens a server with a list of that size. */
async function listed(what: string, count: number): Promise<unknown> {
  const args = [fileURLToPath(new URL("./hostile-mcp-server.ts", import.meta.url)), what, String(count)];
  const source = mcpTools({ command: process.execPath, args });
  const open = await source.open("hostile", { ...OPENING, signal, network });
  await open.close();
  return Object.keys(open.tools).length;
}

/** A tool as a run calls it. */
async function called(work: Tool, input: unknown): Promise<unknown> {
  const store = await openStore(":memory:");
  try {
    const step = Step.run("s", (_: unknown, context) =>
      context.call({ ...work, name: work.name ?? "t" }, input as never),
    );
    const constraints = { allowedDomains: ["127.0.0.1:*"] };
    const policy = { secrets: [secret("sk-live-0123456789")], secretKeys: ["password"] };
    return (await new Runner(step, { store, constraints, policy }).run("go")).output;
  } finally {
    await store.close({ graceMs: 0 });
  }
}

/** A tool whose result comes from a stranger. */
function saying(text: string): Tool {
  return tool({ description: "s", inputSchema: z.object({}), effect: "read_only", execute: () => text });
}

/** The answer of a server to a call, processed as in a run. */
async function resultOf(what: string, count: number): Promise<unknown> {
  const args = [fileURLToPath(new URL("./hostile-mcp-server.ts", import.meta.url)), what, String(count)];
  const hostile = mcpTools({ command: process.execPath, args, env: { API_KEY: "sk-live-0123456789" } });
  const model = scriptedModel(({ turn }) =>
    turn === 1 ? { toolCalls: [{ name: "hostile__t", input: {} }] } : { text: "done" },
  );
  const store = await openStore(":memory:");
  try {
    return (await new Runner(agent({ name: "clerk", model, tools: { hostile } }), { store }).run("go"))
      .output;
  } finally {
    await store.close({ graceMs: 0 });
  }
}

async function pageOf(html: Buffer): Promise<unknown> {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(html));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await called(fetchPage, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
  } finally {
    server.close();
  }
}

async function answered(
  calls: number,
  keys: number,
  nameOf = (i: number) => `k${i}`,
): Promise<() => Promise<unknown>> {
  const note = tool({
    description: "n",
    inputSchema: z.looseObject({}),
    effect: "read_only",
    execute: () => "ok",
  });
  const input = Object.fromEntries(Array.from({ length: keys }, (_, i) => [nameOf(i), i]));
  const toolCalls = Array.from({ length: calls }, (_, i) => ({ name: "note", input: { ...input, i } }));
  const model = scriptedModel(({ turn }) => (turn === 1 ? { toolCalls } : { text: "done" }));
  // Serialized in advance: that is the provider's work.
  const first = await model.doGenerate({ prompt: [] });
  const ask = model.doGenerate.bind(model);
  let asked = 0;
  model.doGenerate = (options) => (asked++ === 0 ? Promise.resolve(first) : ask(options));
  const clerk = agent({ name: "clerk", model, tools: { note } });
  return async () => {
    const store = await openStore(":memory:");
    try {
      return (await new Runner(clerk, { store, maxModelAttempts: 1 }).run("go")).output;
    } finally {
      await store.close({ graceMs: 0 });
    }
  };
}

/** Loads everything once in advance: loading takes time, but a stranger cannot repeat it. */
async function warmUp(): Promise<void> {
  await called(renderPdf, { path: "a.pdf", markdown: "# a" });
  await pageOf(Buffer.from("<p>a</p>"));
  await (await answered(1, 1))();
  await listed("tools", 1);
  await resultOf("keys", 1);
}

const only = process.argv[2] ?? "";
// Files of runs are written in the working directory.
const folder = mkdtempSync(join(tmpdir(), "pawl-hostile-"));
process.chdir(folder);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
await warmUp();
console.log("cpu ms  wall ms   took ms  what");
for (const { name, times, prepare } of CASES.filter((each) => each.name.includes(only))) {
  for (const factor of times) {
    const work = await prepare(factor);
    const begun = performance.now();
    const { result, longestBlockMs, longestCpuMs } = await watchEventLoop(async () => {
      try {
        return JSON.stringify(await work()).slice(0, 80);
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    });
    const figures = [longestCpuMs, longestBlockMs, performance.now() - begun].map((ms) => Math.round(ms));
    console.log(
      `${String(figures[0]).padStart(6)} ${String(figures[1]).padStart(8)} ${String(figures[2]).padStart(9)}  ${name}${factor === 1 ? "" : ` × ${factor}`}: ${result.slice(0, 110)}`,
    );
  }
}
process.exit();
