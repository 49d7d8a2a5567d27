// Helpers for the tests of built-in tools: one turn that calls them, and services on the loopback interface.

import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { Json, RunnerOptions, RunResult, Store, Tool, ToolCallRecord } from "../../../src/index.ts";
import { asking, runnerOf } from "../../engine/call/call-fixture.ts";
import { memoryStore, sleeplessClock, toolResults } from "../../engine/run-fixture.ts";

export type Called = {
  /** The result of each call as the model got it, in order, or the text of the error. */
  readonly results: readonly unknown[];
  readonly calls: readonly ToolCallRecord[];
  readonly store: Store;
  readonly folder: string;
  readonly status: RunResult<unknown>["status"];
};

export type Turn = readonly (readonly [name: string, input: Json])[];

export type CallOptions = RunnerOptions & {
  /** Files to create in the workspace first. */
  readonly files?: { readonly [name: string]: string | Uint8Array };
  /** Prepares the folder before anything runs. */
  readonly prepare?: (folder: string) => void;
};

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-tools-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs an agent that makes these calls, one turn each, and then answers. */
export async function callTools(
  tools: { readonly [name: string]: Tool },
  turns: readonly Turn[],
  { files = {}, prepare, ...options }: CallOptions = {},
): Promise<Called> {
  const store = await memoryStore();
  const root = temporaryFolder();
  const folder = join(root, "pawl-runs", "r-1");
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  prepare?.(folder);
  const { runner, prompts } = runnerOf(
    store,
    tools,
    turns.map((turn) => asking(...turn)),
    { workspaceRoot: root, clock: sleeplessClock(), ...options },
  );
  const { status } = await runner.run("Go", { runId: "r-1" });
  const calls = await store.listToolCalls("r-1");
  // As the model saw them: large ones are stored elsewhere, with a reference in their place.
  const seen = toolResults(prompts.at(-1)) as readonly { readonly value: unknown }[];
  return { results: seen.map(({ value }) => value), calls, store, folder, status };
}

/** One call and its result. */
export async function callTool(tool: Tool, input: Json, options: CallOptions = {}) {
  const name = tool.name ?? "";
  const called = await callTools({ [name]: tool }, [[[name, input]]], options);
  const [call] = called.calls;
  if (call === undefined) throw new Error("Nothing was called.");
  return { ...called, call, result: called.results[0] };
}

export type SeenRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type Service = {
  readonly url: string;
  readonly host: string;
  readonly seen: SeenRequest[];
  readonly close: () => Promise<void>;
};

/** A web server with scripted responses that records its requests. */
export async function openService(
  answer: (response: ServerResponse, request: SeenRequest, n: number) => void,
): Promise<Service> {
  const seen: SeenRequest[] = [];
  const server = createServer((incoming, response) => {
    const { method = "", url: path = "", headers } = incoming;
    readText(incoming).then(
      (body) => {
        const request = { method, path, headers, body };
        seen.push(request);
        answer(response, request, seen.length);
      },
      () => undefined,
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  let closed: Promise<unknown> | null = null;
  const close = async () => {
    closed ??= once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(close);
  const host = `127.0.0.1:${port}`;
  return { url: `http://${host}`, host, seen, close };
}

/** The loopback interface is private: a run reaches it only if it is allowed by name. */
export const LOOPBACK: CallOptions = { constraints: { allowedDomains: ["127.0.0.1:*"] } };
