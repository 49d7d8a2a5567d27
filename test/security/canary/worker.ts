// A process that works on a run whose secrets are given in every possible way, with tools and a server that leak them, and that
// kills itself at a given point. Its logs, traces and events go into files beside its store.

import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { z } from "zod";
import { logEvents } from "../../../src/adapters/event-log.ts";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import { otel } from "../../../src/adapters/otel/otel.ts";
import { httpRequest, notify } from "../../../src/adapters/tools/index.ts";
import { agent, type Json, openStore, Pipeline, Runner, Step, secret, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { CANARIES, spelled } from "./spellings.ts";

const [folder = "", service = "", server = "", killAt = ""] = process.argv.slice(2);
const record = (file: string, text: string) => appendFileSync(join(folder, file), `${text}\n`);

/** The command lines of this process and its children, which any user of the machine may read. */
function processList(): string {
  const own = readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const stat = read(`/proc/${pid}/stat`);
    return pid === String(process.pid) || stat.split(") ")[1]?.split(" ")[1] === String(process.pid);
  });
  return own.map((pid) => read(`/proc/${pid}/cmdline`).replaceAll("\0", " ")).join("\n");
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** It leaks all its arguments and secrets: in results, errors and ids. */
const parrot = tool({
  name: "parrot",
  description: "Says it again.",
  inputSchema: z.looseObject({ how: z.enum(["return", "throw", "retry"]) }),
  effect: "external",
  recovery: "keyed",
  dedupe: "call",
  secrets: [secret(CANARIES.tool)],
  execute: async ({ how, ...given }, call) => {
    record("processes.txt", processList());
    const known = Object.entries(given).filter(([name]) => name !== "password" || call.turnIndex === 0);
    const leak = [...known.map(([, value]) => String(value)), CANARIES.tool].map(spelled).join("\n");
    await call.correlate(`id ${leak}`);
    if (how === "throw") throw new Error(`It failed: ${leak}`, { cause: new Error(leak) });
    return { leak, password: given.password ?? null, [leak]: true };
  },
});

const calls = [
  { name: "parrot", input: { how: "return", password: CANARIES.model } },
  { name: "parrot", input: { how: "throw" } },
  { name: "http_request", input: { method: "GET", url: `${service}/echo` } },
  { name: "http_request", input: { method: "POST", url: `${service}/refuse`, body: "{}" } },
  { name: "notify", input: { text: "hello" } },
  { name: "canary__tell", input: {} },
  { name: "canary__err", input: {} },
  { name: "canary__refuse", input: {} },
  { name: "canary__end", input: {} },
];
const model = scriptedModel(({ turn }) => {
  const call = calls[turn - 1];
  return call === undefined ? { text: `Done, ${spelled(CANARIES.tool)}` } : { toolCalls: [call] };
});

const worker = agent({
  name: "worker",
  model,
  tools: {
    parrot,
    http_request: httpRequest({ credentials: { [service]: { authorization: `Bearer ${CANARIES.http}` } } }),
    notify: notify({ url: `${service}/hooks/${CANARIES.hook}` }),
    canary: mcpTools({
      command: process.execPath,
      args: [server],
      env: { CANARY_TOKEN: CANARIES.server },
      tools: { end: { inDoubt: "tell" } },
    }),
  },
});

const pipeline = Pipeline.of(
  "canary",
  Step.run("code", async (_input: Json, ctx) => {
    const given = { key: secret(CANARIES.code), password: CANARIES.named };
    const result = await ctx.call(parrot, { how: "return", ...given });
    const failure = await ctx.call(parrot, { how: "throw", ...given }).catch(String);
    ctx.context.kept = spelled(CANARIES.code);
    return [result, failure, spelled(CANARIES.code)] as Json;
  }),
  Step.granular("work", worker),
  Step.run("last", () =>
    Promise.reject(
      new Error(`The end of ${[CANARIES.policy, CANARIES.tool, CANARIES.http].map(spelled).join()}`),
    ),
  ),
);

const exporter = new InMemorySpanExporter();
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();

const [point = "", number = "1"] = killAt.split("@");
let reached = 0;
const log = (level: string) => (fields: object, message: string) =>
  record("log.txt", JSON.stringify({ level, message, ...fields }));
const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
const logged = logEvents({ ...logger, isLevelEnabled: () => true });
const store = await openStore(`file:${join(folder, "canary.db")}`);
const runner = new Runner(pipeline, {
  store,
  leaseMs: 2_000,
  maxRetriesPerToolCall: 0,
  policy: { secretKeys: ["password"], secrets: [secret(CANARIES.policy)], allowPrivateAddresses: true },
  telemetry: otel({ content: true }),
  onEvent: (event) => {
    record("events.txt", JSON.stringify(event));
    logged(event);
  },
  probe: (at) => {
    if (at !== point || ++reached < Number(number)) return;
    process.kill(process.pid, "SIGKILL");
  },
});
try {
  const isThere = (await store.getRun("canary")) !== null;
  await (isThere ? runner.resume("canary", { wait: true }) : runner.run("Go", { runId: "canary" }));
} catch (error) {
  console.error(error);
} finally {
  const spans = exporter.getFinishedSpans();
  const shown = spans.map(({ name, attributes, status, events }) => ({ name, attributes, status, events }));
  record("spans.txt", JSON.stringify(shown));
  await store.close();
}
