// Servers for tests, and helpers to use them without a run.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type McpOptions, mcpTools } from "../../src/adapters/mcp/mcp.ts";
import type { NetworkPolicy } from "../../src/core/network-policy.ts";
import { RunSecrets } from "../../src/engine/definition/run-secrets.ts";
import type { OpenTools, ToolSource } from "../../src/engine/definition/tool-source.ts";
import { RunToolSources } from "../../src/engine/run/run-tool-sources.ts";
import type { Tool } from "../../src/index.ts";
import type { RawOrder, RawTool } from "./servers/raw-server.ts";

const RAW_SERVER = fileURLToPath(new URL("./servers/raw-server.ts", import.meta.url));

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-mcp-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Seen = {
  readonly method: string;
  readonly pid?: number;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: unknown;
    readonly _meta?: { readonly [key: string]: unknown };
  };
};

/** A scripted server, and the messages that it received. */
export function rawServer(tools: RawOrder["tools"], start?: RawOrder["start"]) {
  const log = join(temporaryFolder(), "log");
  const order: RawOrder = { log, tools, ...(start === undefined ? {} : { start }) };
  const seen = (method: string): Seen[] =>
    linesIn(log)
      .map((line) => JSON.parse(line) as Seen)
      .filter((line) => line.method === method);
  return {
    server: { command: process.execPath, args: [RAW_SERVER, JSON.stringify(order)] },
    seen,
    calls: () => seen("tools/call"),
    pids: () => seen("(started)").map(({ pid = 0 }) => pid),
  };
}

/** The source of a raw server with one tool `act`. */
export function actingServer(does: RawTool["does"], options: McpOptions = {}) {
  const raw = rawServer({ act: { does } });
  return { ...raw, source: mcpTools({ ...raw.server, ...options }) };
}

const ANYWHERE: NetworkPolicy = { allowedDomains: [], allowPrivateAddresses: false };

export type Opened = OpenTools & {
  readonly warnings: string[];
  /** The secrets that the run hides. */
  readonly secrets: RunSecrets;
};

/** The mark of a hidden secret. */
export const HIDDEN = `[secret:${"0".repeat(12)}]`;

/** Opens a source as a run would; it is closed when the test ends. */
export async function opened(source: ToolSource, name = "raw", signal?: AbortSignal): Promise<Opened> {
  const warnings: string[] = [];
  const secrets = new RunSecrets(new Set(), () => "0".repeat(12));
  const sources = new RunToolSources(
    {
      signal: signal ?? new AbortController().signal,
      network: ANYWHERE,
      warn: (message) => warnings.push(secrets.hideText(message)),
    },
    secrets,
  );
  const tools = await sources.toolsOf({ [name]: source });
  const close = () => sources.close();
  onTestFinished(close);
  return { tools, close, warnings, secrets };
}

let calls = 0;

/** Calls a tool as the gateway would. */
export function call(
  { tools, secrets }: Pick<Opened, "tools" | "secrets">,
  name: string,
  input: unknown = {},
  context: {
    signal?: AbortSignal;
    toolCallId?: string;
    network?: NetworkPolicy;
    traceHeaders?: { [name: string]: string };
  } = {},
): Promise<unknown> {
  const tool: Tool | undefined = tools[name];
  if (tool === undefined) throw new Error(`There is no ${name} among ${Object.keys(tools).join(", ")}.`);
  calls += 1;
  const given = {
    runId: "run-1",
    stepId: "step-1",
    toolCallId: `call-${calls}`,
    idempotencyKey: `key-${calls}`,
    attempt: 1,
    traceHeaders: {},
    signal: new AbortController().signal,
    network: ANYWHERE,
    hide: (text: string) => secrets.hideText(text),
    ...context,
  };
  // A server's tool uses only this part of its context.
  const about = given as unknown as Parameters<Tool["execute"]>[1];
  return Promise.resolve(tool.execute(input as never, about)).catch((error: unknown) => {
    if (error instanceof Error) secrets.redactError(error);
    throw error;
  });
}

/** The error of a call. */
export async function failureOf(failing: Promise<unknown>): Promise<Error> {
  const error = await failing.then(
    (value) => new Error(`It should have failed: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error("It threw what is no error.");
  return error;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits until a condition holds, and fails if it never does. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 15_000; !isSo(); await sleep(5))
    if (Date.now() > deadline) throw new Error(`This never happened: ${what}.`);
}

/** The lines of a record file. */
export function linesIn(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}
