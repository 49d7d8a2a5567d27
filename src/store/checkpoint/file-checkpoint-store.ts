import * as nodeFileSystem from "node:fs/promises";
import { assertJson, isJson } from "../../core/canonical-json.ts";
import { CheckpointStoreError, ConfigurationError, WorkerBusyError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import type { CheckpointStore, WorkerCheckpoint, WorkerRequest } from "../checkpoint-store.ts";
import type { ProcessLock } from "../sqlite/process-lock.ts";
import type { CheckpointFileSystem } from "./checkpoint-file-system.ts";
import { WorkerDirectory, type WorkerFile } from "./worker-directory.ts";
import { workerPath, workerPathIn } from "./worker-path.ts";

/** Options of a `FileCheckpointStore`. */
export type FileCheckpointStoreOptions = {
  readonly fileSystem?: CheckpointFileSystem;
  /**
   * Called with one sentence for each file that is set aside, like the `warn` passed to `acquire`. Without either,
   * the process emits a warning.
   */
  readonly warn?: (message: string) => void;
};

const OPTION_NAMES = { fileSystem: true, warn: true } satisfies OptionNames<FileCheckpointStoreOptions>;

type Stored<T> = { readonly kind: "absent" | "corrupt" } | { readonly kind: "whole"; readonly value: T };

type Loaded = { readonly request: WorkerRequest | null; readonly checkpoint: WorkerCheckpoint | null };

/**
 * A worker in a directory of its own: `request.json`, `checkpoint.json` (the snapshot as it is, with the `cursor` beside
 * its keys) and the empty file `completed`. Operations are performed one at a time, in the order of the calls.
 *
 * A corrupt file is never deleted. A corrupt checkpoint is set aside, and the worker starts again from its request. A
 * corrupt request is set aside, and its checkpoint, whose session has the run's id, stays. If both are corrupt, something
 * is wrong with the disk or the directory: that is an error, and nothing is moved. A file that merely cannot be read is
 * an error too, and is left alone.
 *
 * @example
 * const store = new FileCheckpointStore("/var/lib/pawl/workers/worker-001");
 */
export class FileCheckpointStore implements CheckpointStore {
  readonly #directory: WorkerDirectory;
  readonly #listener: ((message: string) => void) | undefined;
  #holder: ((message: string) => void) | undefined;
  #lock: ProcessLock | null = null;
  #last: Promise<void> = Promise.resolve();

  /** The last part of the path may not exist yet. `CheckpointStoreError` for a path that a worker must not use. */
  constructor(directory: string, options: FileCheckpointStoreOptions = {}) {
    assertOptions("The second argument of FileCheckpointStore", options, OPTION_NAMES);
    this.#directory = new WorkerDirectory(workerPath(directory), options.fileSystem ?? nodeFileSystem);
    this.#listener = options.warn;
  }

  /** The worker of that name under a shared root. The name may be untrusted: it cannot leave the root. */
  static forWorker(
    root: string,
    workerId: string,
    options: FileCheckpointStoreOptions = {},
  ): FileCheckpointStore {
    return new FileCheckpointStore(workerPathIn(root, workerId), options);
  }

  /** The directory's absolute path. */
  get worker(): string {
    return this.#directory.path;
  }

  acquire(warn?: (message: string) => void): Promise<() => Promise<void>> {
    return this.#inTurn(async () => {
      await this.#directory.inspect();
      await this.#directory.create();
      // Checked again: a link may have been created in its place.
      await this.#directory.inspect();
      const lock = await this.#directory.tryLock();
      if (lock === null) throw busy(this.worker);
      this.#lock = lock;
      this.#holder = warn;
      return () => this.#inTurn(async () => this.#release(lock));
    });
  }

  loadRequest(): Promise<WorkerRequest | null> {
    return this.#inTurn(async () => (await this.#load()).request);
  }

  loadCheckpoint(): Promise<WorkerCheckpoint | null> {
    return this.#inTurn(async () => (await this.#load()).checkpoint);
  }

  isCompleted(): Promise<boolean> {
    return this.#inTurn(async () => (await this.#directory.inspect()).has("completed"));
  }

  hasIncomplete(): Promise<boolean> {
    return this.#inTurn(async () => {
      const files = await this.#directory.inspect();
      return files.has("checkpoint.json") && !files.has("completed");
    });
  }

  async begin(request: WorkerRequest): Promise<void> {
    const text = requestText(request);
    await this.#writing(async (files) => {
      // The marker goes last: without it, an old checkpoint that still exists would be resumed.
      if (files.has("checkpoint.json")) await this.#directory.remove("checkpoint.json");
      await this.#directory.replace("request.json", text);
      if (files.has("completed")) await this.#directory.remove("completed");
    });
  }

  async persistCheckpoint(checkpoint: WorkerCheckpoint): Promise<void> {
    const text = checkpointText(checkpoint);
    await this.#writing(() => this.#directory.replace("checkpoint.json", text));
  }

  async markCompleted(runId: string): Promise<void> {
    await this.#writing(async (files) => {
      const kept = wholeOf(await this.#read(files, "request.json", asRequest));
      if (kept === null || kept.runId === runId) await this.#directory.replace("completed", "");
    });
  }

  setCheckpointAside(): Promise<string | null> {
    return this.#writing(async (files) =>
      files.has("checkpoint.json") ? this.#directory.setAside("checkpoint.json", "aside") : null,
    );
  }

  /** Checks both files before it moves either, so that it does not matter which of them is read first. */
  async #load(): Promise<Loaded> {
    const files = await this.#directory.inspect();
    const request = await this.#read(files, "request.json", asRequest);
    const checkpoint = await this.#read(files, "checkpoint.json", asCheckpoint);
    if (request.kind === "corrupt") {
      if (checkpoint.kind === "corrupt") throw this.#bothCorrupt();
      await this.#setCorruptRequestAside();
      return { request: null, checkpoint: wholeOf(checkpoint) };
    }
    if (checkpoint.kind === "corrupt") await this.#setCorruptCheckpointAside();
    return { request: wholeOf(request), checkpoint: wholeOf(checkpoint) };
  }

  async #read<T>(
    files: ReadonlySet<WorkerFile>,
    name: WorkerFile,
    parse: (value: unknown) => T | null,
  ): Promise<Stored<T>> {
    const bytes = files.has(name) ? await this.#directory.read(name) : null;
    if (bytes === null) return { kind: "absent" };
    const value = parse(jsonIn(bytes));
    return value === null ? { kind: "corrupt" } : { kind: "whole", value };
  }

  async #setCorruptCheckpointAside(): Promise<void> {
    this.#assertHeld();
    const kept = await this.#directory.setAside("checkpoint.json", "corrupt");
    this.#warn(
      `The checkpoint of worker ${this.worker} is corrupt: it is kept as ${kept}, and the worker starts again from its request.`,
    );
  }

  async #setCorruptRequestAside(): Promise<void> {
    this.#assertHeld();
    const kept = await this.#directory.setAside("request.json", "corrupt");
    this.#warn(
      `The request of worker ${this.worker} is corrupt: it is kept as ${kept}. Without a checkpoint that says which run it was, the worker starts fresh.`,
    );
  }

  #warn(message: string): void {
    if (this.#listener === undefined && this.#holder === undefined) process.emitWarning(message);
    this.#listener?.(message);
    this.#holder?.(message);
  }

  #bothCorrupt(): CheckpointStoreError {
    const paths = [this.#directory.pathOf("request.json"), this.#directory.pathOf("checkpoint.json")];
    return new CheckpointStoreError(
      `${paths.join(" and ")} are both corrupt: nothing was moved; check the disk, then restore them or move them away.`,
      { reason: "corrupt", paths },
    );
  }

  #writing<T>(work: (files: ReadonlySet<WorkerFile>) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const files = await this.#directory.inspect();
      this.#assertHeld();
      return work(files);
    });
  }

  #assertHeld(): void {
    if (this.#lock !== null) return;
    throw new ConfigurationError(
      `Worker ${this.worker} is not held by this store, so its files were left alone: call acquire() first.`,
      { worker: this.worker },
    );
  }

  #release(lock: ProcessLock): void {
    if (this.#lock !== lock) return;
    this.#lock = null;
    this.#holder = undefined;
    lock.release();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }
}

function busy(worker: string): WorkerBusyError {
  return new WorkerBusyError(
    `Worker ${worker} is at work in another process, or in another part of this one: wait until it has ended, or use another worker.`,
    { worker },
  );
}

function wholeOf<T>(stored: Stored<T>): T | null {
  return stored.kind === "whole" ? stored.value : null;
}

/** `undefined` for anything but JSON. Invalid UTF-8 is refused too: it would silently turn into other text. */
function jsonIn(bytes: Uint8Array): Json | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isJson(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function asRequest(value: unknown): WorkerRequest | null {
  if (!isJsonObject(value)) return null;
  const { runId, request, createdAt, deadline } = value;
  if (typeof runId !== "string" || runId === "" || request === undefined) return null;
  if (typeof createdAt !== "number") return null;
  if (deadline !== null && typeof deadline !== "number") return null;
  return { runId, request, createdAt, deadline };
}

/** The shape of the snapshot itself is checked when it is restored: an older version is not corrupt. */
function asCheckpoint(value: unknown): WorkerCheckpoint | null {
  if (!isJsonObject(value)) return null;
  const { cursor, ...snapshot } = value;
  return isJsonObject(cursor) ? { snapshot, cursor } : null;
}

function requestText(request: WorkerRequest): string {
  assertJson(request, "The worker's request");
  const checked = asRequest(request);
  if (checked === null)
    throw new ConfigurationError(
      "The worker's request needs a run id, the request, the time it was made and a deadline or null.",
    );
  return JSON.stringify(checked);
}

function checkpointText({ snapshot, cursor }: WorkerCheckpoint): string {
  if (Object.hasOwn(snapshot, "cursor"))
    throw new ConfigurationError(
      "A snapshot cannot have a key `cursor`: the checkpoint's own has that name.",
    );
  assertJson(snapshot, "The snapshot");
  assertJson(cursor, "The cursor");
  return JSON.stringify({ ...snapshot, cursor });
}
