// Every parser of untrusted input, with how to feed it.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { MessageLimit } from "../../../src/adapters/mcp/mcp-message-limit.ts";
import { loadMcp } from "../../../src/adapters/mcp/mcp-package.ts";
import { errorTextOf, resultOf, shownResult } from "../../../src/adapters/mcp/mcp-result.ts";
import { StdioTransport } from "../../../src/adapters/mcp/mcp-stdio.ts";
import { mcpToolInput } from "../../../src/adapters/mcp/mcp-tool-input.ts";
import { modelNames } from "../../../src/adapters/mcp/mcp-tool-names.ts";
import { parseJob } from "../../../src/cli/job/job-file.ts";
import { runCommandLine } from "../../../src/cli/program.ts";
import { artifactNameProblem } from "../../../src/core/artifact-name.ts";
import { renderBlobReference } from "../../../src/core/blob-reference.ts";
import { parseToolName } from "../../../src/core/call/tool-name.ts";
import { parseRunSpec } from "../../../src/core/job/run-spec.ts";
import { runIdOfKey } from "../../../src/core/run-key.ts";
import { assertRunId, parseToolCallId } from "../../../src/core/step-path.ts";
import { folderOf } from "../../../src/engine/run/run-folder.ts";
import { Workspace } from "../../../src/engine/run/workspace.ts";
import { exportRun } from "../../../src/export/export-run.ts";
import { agent, openStore, PawlError, Runner, Step, tool } from "../../../src/index.ts";
import { isBelow } from "../../../src/store/guarded-folder.ts";
import { pick } from "../../../src/testing/crash/seeded-random.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { recordingContext } from "../../cli/recording-context.ts";
import { anyValue, corrupted, corruptedText, type Random } from "./hostile.ts";

/** Feeds so many inputs; throws, or returns the problems, if one of them does harm. */
export type Parser = {
  readonly name: string;
  readonly feed: (random: Random, count: number) => Promise<readonly string[]>;
};

/** Short, so that most corruptions hit something that matters. */
const BLUEPRINT = `objective: Tell the members
pipeline:
  name: digest
  mcp_servers: { notes: { command: node, args: [notes.js] } }
  agents: { writer: { model: openai/gpt-5.2, tools: [notes/read] , output: { type: object } } }
  steps:
    - { name: draft, phase: write, agent: writer, prompt: "For {{ input.audience }}." }
    - { name: check, ask: "Keep {{ steps.draft }}?", choices: [keep, drop] }
    - { name: save, tool: notes/write, with: { path: a.md }, when: { step: check, equals: keep } }
`;
const JOB = `objective: Tell the members
pipeline: letter
input: { notes: [gearing.txt] }
constraints: { no_duplicate_external_actions: true, forbidden_actions: [delete_*] }
budgets: { max_tool_calls: 10, max_tokens: 20000 }
artifacts: { expected_outputs: [letter.md] }
`;

/** No input may take longer, or it could block a whole server. */
const LONGEST_MS = 1_000;

/** Feeds one input after the other; an error that is not a PawlError is a crash. */
function each<T>(
  make: (random: Random) => T,
  parse: (input: T) => string | null | undefined,
): Parser["feed"] {
  return async (random, count) => {
    const problems: string[] = [];
    for (let i = 0; i < count; i++) {
      const input = make(random);
      const started = performance.now();
      const problem = problemOf(() => parse(input));
      const took = performance.now() - started;
      if (problem !== null) problems.push(`${problem}: ${shown(input)}`);
      if (took > LONGEST_MS) problems.push(`took ${Math.round(took)} ms: ${shown(input)}`);
      // As in the product, other work gets its turn.
      if (i % 1_000 === 999) await new Promise((done) => setImmediate(done));
    }
    return problems;
  };
}

function problemOf(parse: () => string | null | undefined): string | null {
  try {
    return parse() ?? null;
  } catch (error) {
    return PawlError.isInstance(error) ? null : `threw ${String(error)}`;
  }
}

function shown(input: unknown): string {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? String(input));
  return JSON.stringify(text.length > 400 ? `${text.slice(0, 400)}…` : text);
}

const SPEC = {
  objective: "Tell the members",
  pipeline: "letter",
  input: { notes: ["a.txt"] },
  constraints: { allowed_domains: ["example.com"], forbidden_actions: ["delete_*"] },
  budgets: { max_tool_calls: 10, max_tokens: 20_000, max_wall_clock: "2h" },
  stop_conditions: ["letter_written"],
  artifacts: { workspace_dir: "out/<run_id>", expected_outputs: ["letter.md"] },
};

const IDS = [
  "q-1",
  "q-1/research#3.1",
  "q-1/polish[2]/pass#0.12",
  "key-0123456789abcdef0123456789abcdef",
  "a/b/c.txt",
];

/** Checks that a name leads nowhere but below its folder. */
function escapeProblem(id: string): string | null {
  const root = resolve("/project");
  parseToolCallId(id);
  parseToolName(id);
  runIdOfKey("pipeline", id);
  if (artifactNameProblem(id) === null && !isBelow(root, resolve(root, id))) return "a name leads out";
  assertRunId(id);
  return isBelow(join(root, "pawl-runs"), folderOf(id, null, root).path) ? null : "a run id leads out";
}

const COMMANDS: readonly (readonly string[])[] = [
  ["ls", "--json"],
  ["ls", "--status", "running", "--limit", "5"],
  ["show", "q-1"],
  ["waits", "--json"],
  ["approve", "q-1/research#3.1", "--by", "maria"],
  ["answer", "q-1", "yes"],
  ["settle", "q-1/research#3.1", "--as", "succeeded", "--result", '{"a":1}'],
  ["run", "job.yaml", "--key", "a", "--budget", "maxTokens=5"],
  ["resume", "q-1", "--budget", "maxToolCalls=300"],
  ["receipts", "q-1", "--json"],
  ["export", "q-1", "--out", "exported"],
  ["verify", "--json"],
  ["policy", "explain", "send_mail"],
  ["cancel", "q-1"],
  ["fork", "q-1", "--turn", "3"],
];

async function commandLines(random: Random, count: number): Promise<readonly string[]> {
  const cwd = mkdtempSync(join(tmpdir(), "pawl-fuzz-"));
  const before = readdirSync(tmpdir()).length;
  const problems: string[] = [];
  try {
    for (let i = 0; i < count; i++) {
      const words = [...pick(random, COMMANDS)];
      const at = Math.floor(random() * (words.length + 1));
      if (random() < 0.3) words.splice(at, 0, String(anyValue(random, 1)));
      else words[at % words.length] = corruptedText(random, words[at % words.length] ?? "");
      const { context, stdout, stderr } = recordingContext({ cwd });
      const code = await runCommandLine([...words, "--store", "file:./none/pawl.db"], context).catch(String);
      const output = stdout() + stderr();
      if (![0, 1, 2, 3].includes(Number(code)) || output.includes("This error was not expected"))
        problems.push(`${code} ${output.slice(0, 300)}: ${shown(words)}`);
    }
    if (readdirSync(tmpdir()).length > before + 50) problems.push("files were left outside of its folder");
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
  return problems;
}

const MESSAGES = [
  {
    jsonrpc: "2.0",
    id: 1,
    result: { content: [{ type: "text", text: "yes" }], structuredContent: { a: 1 } },
  },
  {
    jsonrpc: "2.0",
    id: 2,
    result: {
      content: [
        { type: "image", data: "aGk=", mimeType: "image/png" },
        { type: "resource_link", uri: "file:///a", name: "a" },
        { type: "resource", resource: { uri: "file:///a", text: "a" } },
      ],
      isError: true,
    },
  },
  { jsonrpc: "2.0", method: "notifications/tools/list_changed" },
  { jsonrpc: "2.0", id: "a", error: { code: -32_000, message: "no", data: { a: 1 } } },
];

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1, pattern: "^[a-z]+$", format: "uri" },
    tags: { type: "array", items: { $ref: "#/$defs/tag" } },
  },
  required: ["path"],
  $defs: { tag: { enum: ["a", "b"] } },
  additionalProperties: false,
};

/** Feeds lines of a real process, as a server writes them, and uses the messages. */
async function mcpMessages(random: Random, count: number): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-fuzz-"));
  const lines = Array.from({ length: count }, () => {
    const text = JSON.stringify(corrupted(random, pick(random, MESSAGES))) ?? "";
    return random() < 0.3 ? corruptedText(random, text).replaceAll(/[\r\n]/g, " ") : text;
  });
  writeFileSync(join(folder, "lines"), `${lines.join("\n")}\n`);
  const mcp = await loadMcp();
  const problems: string[] = [];
  let seen = 0;
  const transport = new StdioTransport(
    mcp,
    // It runs until it is closed: the lines are read no faster than a server's are.
    { command: "sh", args: ["-c", 'cat "$0"; exec >&-; cat >/dev/null', join(folder, "lines")] },
    { limit: new MessageLimit(), hide: (text) => text, onIgnored: () => seen++ },
  );
  const ended = new Promise<void>((done) => {
    transport.onclose = done;
  });
  transport.onerror = () => seen++;
  transport.onmessage = (message) => {
    seen++;
    const problem = problemOf(() => {
      const { result } = message as { result?: unknown };
      if (!mcp.isCallToolResult(result)) return;
      shownResult({ result: resultOf(result) } as never);
      errorTextOf(result);
    });
    if (problem !== null) problems.push(`${problem}: ${shown(message)}`);
  };
  await transport.start();
  await ended;
  await transport.close();
  rmSync(folder, { recursive: true });
  if (seen < count * 0.9) problems.push(`only ${seen} of ${count} lines were seen`);
  const listed = each(
    (chance) => corrupted(chance, SCHEMA),
    (schema) => {
      modelNames("files", [String(anyValue(random, 0)), "read"]);
      const { schema: read } = mcpToolInput(schema, "files") as unknown as { schema?: z.ZodType };
      read?.safeParse({ path: "a", tags: ["a"] });
    },
  );
  problems.push(...(await listed(random, Math.ceil(count / 10))));
  return problems;
}

/** Feeds results of a tool in real runs, a hundred per turn. */
function results(make: (random: Random) => unknown, isKept: boolean): Parser["feed"] {
  return async (random, count) => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-fuzz-"));
    const problems: string[] = [];
    try {
      for (let done = 0; done < count; done += A_RUN)
        problems.push(...(await oneRun(random, make, isKept, Math.min(A_RUN, count - done), folder)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    return problems;
  };
}

const A_TURN = 100;
const A_RUN = 200;

async function oneRun(
  random: Random,
  make: (random: Random) => unknown,
  isKept: boolean,
  count: number,
  folder: string,
): Promise<readonly string[]> {
  const given = new Map<string, unknown>();
  const say = tool({
    name: "say",
    description: "Says something.",
    inputSchema: z.object({ n: z.number() }),
    effect: "read_only",
    execute: (_input, { toolCallId }) => {
      const value = make(random);
      given.set(toolCallId, value);
      return value;
    },
  });
  const model = scriptedModel(({ turn }) =>
    (turn - 1) * A_TURN < count
      ? { toolCalls: Array.from({ length: A_TURN }, (_, n) => ({ name: "say", input: { n } })) }
      : { text: "Done." },
  );
  const step = Step.granular("say", agent({ name: "talker", model, tools: { say } }), {
    blobThresholdBytes: 200,
  });
  const store = await openStore(":memory:");
  const problems: string[] = [];
  const { status } = await new Runner(step, { store, workspaceRoot: folder }).run("Go", { runId: "r-1" });
  if (status !== "succeeded") problems.push(`the run is ${status}`);
  if (given.size < count) problems.push(`${given.size} of ${count} results were returned`);
  if (isKept)
    for (const { receipt, toolCallId } of await store.listToolCalls("r-1")) {
      const kept = receipt?.blob ? await store.readBlob("r-1", receipt.blob.blobId) : null;
      const text = kept === null ? receipt?.output.value : JSON.parse(Buffer.from(kept).toString("utf8"));
      if (text !== given.get(toolCallId))
        problems.push(`the stored text differs from the returned one: ${shown(given.get(toolCallId))}`);
    }
  await exportRun(store, "r-1", join(folder, "export"));
  await store.close();
  return problems;
}

const MARKER = renderBlobReference({ blobId: "0".repeat(64), size: 7 });

async function files(random: Random, count: number): Promise<readonly string[]> {
  const root = mkdtempSync(join(tmpdir(), "pawl-fuzz-"));
  const path = join(root, "project/pawl-runs/r-1");
  const workspace = new Workspace({ path, chosen: join(root, "project") });
  const problems: string[] = [];
  try {
    for (let i = 0; i < count; i++) {
      const name = corruptedText(random, random() < 0.5 ? pick(random, IDS) : String(anyValue(random, 0)));
      const failure = await workspace.write(name, "x").then(
        () => null,
        (error: unknown) =>
          PawlError.isInstance(error) || typeof (error as { code?: unknown }).code === "string"
            ? null
            : String(error),
      );
      if (failure !== null) problems.push(`${failure}: ${shown(name)}`);
    }
    for (const [folder, only] of [
      [root, ["project"]],
      [join(root, "project"), ["pawl-runs"]],
      [join(root, "project/pawl-runs"), ["r-1"]],
    ] as const)
      if (readdirSync(folder).join() !== only.join())
        problems.push(`${readdirSync(folder).join()} in ${folder}`);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  return problems;
}

export const PARSERS: readonly Parser[] = [
  {
    name: "a RunSpec",
    feed: each(
      (random) => corrupted(random, SPEC),
      (value) => void parseRunSpec(value),
    ),
  },
  {
    name: "a job file",
    feed: each(
      (random) => corruptedText(random, random() < 0.5 ? JOB : JSON.stringify(SPEC)),
      (text) => void parseJob(text, text.startsWith("{") ? "json" : "yaml", "job"),
    ),
  },
  {
    name: "a blueprint",
    feed: each(
      (random) => corruptedText(random, BLUEPRINT),
      (text) => void parseJob(text, "yaml", "job.yaml"),
    ),
  },
  { name: "the command line", feed: commandLines },
  { name: "an id", feed: each((random) => corruptedText(random, pick(random, IDS)), escapeProblem) },
  { name: "the name of a file", feed: files },
  { name: "a message of an MCP server", feed: mcpMessages },
  {
    name: "a blob marker in a result",
    feed: results((random) => corruptedText(random, MARKER).toWellFormed(), true),
  },
  { name: "the result of a tool", feed: results((random) => anyValue(random, 4), false) },
];
