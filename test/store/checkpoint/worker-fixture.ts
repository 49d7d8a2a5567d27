import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { FileCheckpointStore } from "../../../src/store/checkpoint/file-checkpoint-store.ts";
import type { WorkerCheckpoint, WorkerRequest } from "../../../src/store/checkpoint-store.ts";
import { tempFolder } from "../sqlite/temp-folder.ts";
import type { Remains } from "./power-cut-file-system.ts";

/** A worker's directory that does not exist yet. */
export function workerDirectory(): string {
  return join(tempFolder(), "worker-1");
}

/** The n-th request. */
export function request(n: number): WorkerRequest {
  return { runId: `run-${n}`, request: { topic: `topic ${n}` }, createdAt: 1_000 + n, deadline: null };
}

/** The n-th checkpoint. */
export function checkpoint(n: number): WorkerCheckpoint {
  return {
    snapshot: { version: 1, session: { id: "s", tags: {} }, slices: { plan: { done: n, text: "π — done" } } },
    cursor: { turnIndex: n },
  };
}

/** A store that holds the worker until the test ends. */
export async function held(directory: string): Promise<FileCheckpointStore> {
  const store = new FileCheckpointStore(directory);
  onTestFinished(await store.acquire());
  return store;
}

/** Creates files with arbitrary content. */
export function plant(directory: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
}

/** The existing files, without the lock. */
export function filesIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name !== ".lock")
    .sort();
}

export function textIn(directory: string, name: string): string {
  return readFileSync(join(directory, name), "utf8");
}

/** The state that a store reads, in short: `run-1 2 completed`, with `-` for what is missing. */
export async function stateOf(store: FileCheckpointStore): Promise<string> {
  const [asked, latest] = [await store.loadRequest(), await store.loadCheckpoint()];
  const [n, turn] = [Number(asked?.runId.slice("run-".length)), Number(latest?.cursor["turnIndex"])];
  // Every bit of them: a mix of two would be neither.
  if (asked !== null) expect(asked).toEqual(request(n));
  if (latest !== null) expect(latest).toEqual(checkpoint(turn));
  const completed = (await store.isCompleted()) ? "completed" : "-";
  return `${asked?.runId ?? "-"} ${latest === null ? "-" : turn} ${completed}`;
}

/** The state that a new process finds; a file that it has to set aside was torn. */
export async function findState(directory: string): Promise<string> {
  const warnings: string[] = [];
  const store = new FileCheckpointStore(directory, { warn: (message) => warnings.push(message) });
  const release = await store.acquire();
  try {
    const state = await stateOf(store);
    return warnings.length === 0 ? state : `torn: ${warnings.join(" ")}`;
  } finally {
    await release();
  }
}

/** A new directory as a power cut left it. */
export function directoryOf(remains: Remains): string {
  const directory = workerDirectory();
  if (remains !== null) plant(directory, Object.fromEntries(remains));
  return directory;
}
