import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { dirname, join } from "node:path";
import { CheckpointStoreError, PawlError } from "../../core/errors.ts";
import { ProcessLock } from "../sqlite/process-lock.ts";
import type { CheckpointFile, CheckpointFileStatus, CheckpointFileSystem } from "./checkpoint-file-system.ts";

const WORKER_FILES = ["request.json", "checkpoint.json", "completed"] as const;
export type WorkerFile = (typeof WORKER_FILES)[number];

const LOCK_FILE = ".lock";
const TEMPORARY = /^\.(request\.json|checkpoint\.json|completed)\.[0-9a-f]{12}\.tmp$/;

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

/** Does not follow a link even if it appears after the check, and does not wait for a pipe. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The files of one worker, and the only code that touches them. A file is replaced whole (temporary file → fsync →
 * rename → fsync of the directory), so that a crash leaves the old one or the new one; and a change begins only when
 * the one before it is on the disk.
 */
export class WorkerDirectory {
  readonly path: string;
  readonly #fileSystem: CheckpointFileSystem;

  /** `path` is absolute: `workerPath` makes it so. */
  constructor(path: string, fileSystem: CheckpointFileSystem) {
    this.path = path;
    this.#fileSystem = fileSystem;
  }

  pathOf(name: string): string {
    return join(this.path, name);
  }

  /**
   * The existing files; none if the directory is missing. Refuses links, anything in their place that is not a
   * directory or a plain file, and files of another user.
   */
  async inspect(): Promise<ReadonlySet<WorkerFile>> {
    const directory = await this.#statusOf(this.path);
    if (directory === null) return new Set();
    assertOwnPlain(directory, this.path, "directory");
    const found = new Set<WorkerFile>();
    for (const name of [...WORKER_FILES, LOCK_FILE] as const) {
      const path = this.pathOf(name);
      const status = await this.#statusOf(path);
      if (status === null) continue;
      assertOwnPlain(status, path, "file");
      if (name !== LOCK_FILE) found.add(name);
    }
    return found;
  }

  /** A new directory is an entry of its parent: it is durable once the parent is synced. */
  async create(): Promise<void> {
    const options = { recursive: true, mode: DIRECTORY_MODE } as const;
    const first = await this.#trying(this.#fileSystem.mkdir(this.path, options), this.path, "be made");
    if (first === undefined) return;
    for (let made = this.path; ; made = dirname(made)) {
      await this.#sync(dirname(made));
      if (made === first || made === dirname(made)) return;
    }
  }

  /**
   * Null while another holder has it. The file stays when the lock is released: removing it would race with the next
   * holder.
   */
  async tryLock(): Promise<ProcessLock | null> {
    const file = this.pathOf(LOCK_FILE);
    const lock = tryTake(file);
    if (lock === null) return null;
    try {
      await this.#trying(this.#fileSystem.chmod(file, FILE_MODE), file, "be made private");
      await this.#tidy();
      return lock;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Null if there is none. */
  async read(name: WorkerFile): Promise<Uint8Array | null> {
    const path = this.pathOf(name);
    try {
      return await this.#withFile(path, READ, (file) => file.readFile());
    } catch (error) {
      if (codeOf(error) === "ENOENT") return null;
      throw asStoreError(error, path, "be read, and nothing was set aside");
    }
  }

  async replace(name: WorkerFile, text: string): Promise<void> {
    const path = this.pathOf(name);
    const temporary = this.pathOf(`.${name}.${randomBytes(6).toString("hex")}.tmp`);
    try {
      await this.#withFile(temporary, "wx", async (file) => {
        await file.writeFile(text);
        await file.sync();
      });
      await this.#fileSystem.rename(temporary, path);
    } catch (error) {
      // If it cannot be removed now, the next process that takes the worker removes it.
      await this.#fileSystem.unlink(temporary).catch(() => undefined);
      throw asStoreError(error, path, "be written, and what was there before still holds");
    }
    await this.#sync(this.path);
  }

  async remove(name: WorkerFile): Promise<void> {
    const path = this.pathOf(name);
    await this.#trying(this.#fileSystem.unlink(path), path, "be removed");
    await this.#sync(this.path);
  }

  /** Uses a name that is still free; resolves to the new path. */
  async setAside(name: WorkerFile, as: "corrupt" | "aside"): Promise<string> {
    const [path, taken] = [this.pathOf(name), await this.#list()];
    let n = 1;
    while (taken.includes(`${name}.${as}-${n}`)) n++;
    const target = this.pathOf(`${name}.${as}-${n}`);
    await this.#trying(this.#fileSystem.rename(path, target), path, "be set aside");
    await this.#sync(this.path);
    return target;
  }

  /** Cleans up after a killed process: its temporary files are removed, and its last rename is synced to the disk. */
  async #tidy(): Promise<void> {
    for (const name of await this.#list()) {
      if (!TEMPORARY.test(name)) continue;
      const path = this.pathOf(name);
      await this.#trying(this.#fileSystem.unlink(path), path, "be removed");
    }
    await this.#sync(this.path);
  }

  #list(): Promise<readonly string[]> {
    return this.#trying(this.#fileSystem.readdir(this.path), this.path, "be listed");
  }

  async #statusOf(path: string): Promise<CheckpointFileStatus | null> {
    try {
      return await this.#fileSystem.lstat(path);
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") return null;
      if (code === "ENOTDIR")
        throw refused(path, "is inside something that is no directory", "not_a_directory");
      throw asStoreError(error, path, "be looked at");
    }
  }

  async #sync(directory: string): Promise<void> {
    const synced = this.#withFile(directory, "r", (file) => file.sync());
    await this.#trying(synced, directory, "be synced, so that its last change may not survive a power cut");
  }

  async #withFile<T>(
    path: string,
    flags: string | number,
    work: (file: CheckpointFile) => Promise<T>,
  ): Promise<T> {
    const file = await this.#fileSystem.open(path, flags, FILE_MODE);
    try {
      return await work(file);
    } finally {
      await file.close();
    }
  }

  async #trying<T>(work: Promise<T>, path: string, what: string): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw asStoreError(error, path, what);
    }
  }
}

function tryTake(file: string): ProcessLock | null {
  try {
    return ProcessLock.tryTake(file);
  } catch (error) {
    throw new CheckpointStoreError(
      `The lock file ${file} cannot be used: make its directory writable, and remove the file if it is not empty.`,
      { reason: "lock", paths: [file] },
      { cause: error },
    );
  }
}

function assertOwnPlain(status: CheckpointFileStatus, path: string, kind: "directory" | "file"): void {
  if (status.isSymbolicLink()) throw refused(path, "is a symbolic link", "symlink");
  const isKind = kind === "directory" ? status.isDirectory() : status.isFile();
  if (!isKind) throw refused(path, `is no ${kind}`, `not_a_${kind}`);
  const user = process.geteuid?.();
  if (user !== undefined && status.uid !== user)
    throw refused(
      path,
      `belongs to user ${status.uid} and not to user ${user}, who runs this process`,
      "owner",
    );
}

function refused(path: string, what: string, reason: string): CheckpointStoreError {
  return new CheckpointStoreError(
    `${path} ${what}: nothing was written; remove it, or use another directory for this worker.`,
    { reason, paths: [path] },
  );
}

function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : null;
}

/** Turns a file system error into one sentence; other errors are returned unchanged. */
function asStoreError(error: unknown, path: string, what: string): unknown {
  const code = codeOf(error);
  if (code === null || PawlError.isInstance(error)) return error;
  const { reason, advice } = adviceFor(code);
  return new CheckpointStoreError(
    `${path} could not ${what} (${code}): ${advice}.`,
    { reason, paths: [path] },
    { cause: error },
  );
}

function adviceFor(code: string): { readonly reason: string; readonly advice: string } {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return { reason: "full", advice: "the disk is full; free some space" };
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return { reason: "permission", advice: "this process may not do that; give it the right to" };
    default:
      return { reason: "io", advice: "the file system refused; check the disk and the path" };
  }
}
