import type { BigIntStats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { artifactNameProblem, RUN_MARK } from "../../core/artifact-name.ts";
import { WorkspaceError } from "../../core/errors.ts";
import {
  codeOf,
  type FileContent,
  holdingFolder,
  insideFolder,
  makeFolder,
  openFile,
  replaceFile,
} from "../../store/guarded-folder.ts";
import { isOwnedBy } from "./workspace-owner.ts";

/** The file access of a workspace. Files of the store must not be touched. */
export type WorkspaceAccess = {
  readonly replace: typeof replaceFile;
  readonly isStoreFile: (path: string) => Promise<boolean>;
};

/** The location of a run's files. */
export type RunFolder = {
  readonly path: string;
  /** The part of `path` that the operator chose; it may be a link. The folders below belong to the run, and may not. */
  readonly chosen: string;
};

/**
 * The folder of a run. Nothing in it is the only copy: the store is authoritative. A name never leads out of it, neither by
 * `..` nor by a symbolic link that was put there. If the folder is replaced by another one after its first use, that one is
 * neither read nor written.
 */
export class Workspace {
  readonly location: RunFolder;
  /** The names of the folders below the chosen one. */
  readonly #own: readonly string[];
  readonly #access: WorkspaceAccess;
  #usedFolder: FolderIdentity | null = null;

  /** The paths are absolute. The folder is created when the first file is written. */
  constructor(location: RunFolder, access: Partial<WorkspaceAccess> = {}) {
    this.location = location;
    this.#own = relative(location.chosen, location.path)
      .split(sep)
      .filter((part) => part !== "");
    this.#access = { replace: replaceFile, isStoreFile: () => Promise.resolve(false), ...access };
  }

  /** Throws if a file of that name would be a file of the store. */
  async assertFree(name: string): Promise<void> {
    if (await this.#access.isStoreFile(join(this.folder, name))) throw storeFileError(name);
  }

  get folder(): string {
    return this.location.path;
  }

  /** The real path. A link in the place of the run's own folder is not followed. */
  async realPath(): Promise<string> {
    const path = resolve(await realpath(this.location.chosen), ...this.#own);
    const found = await lstat(path, { bigint: true }).catch(() => null);
    if (found?.isDirectory() === true) this.#assertSame(found);
    else if (found !== null && this.#usedFolder !== null) throw this.#replaced();
    return path;
  }

  /** Writes the run's mark if the folder has none; throws if the folder belongs to another run. */
  async mark(runId: string): Promise<void> {
    await this.#within(RUN_MARK, async (path) => {
      if (!(await isOwnedBy(path, this.folder, runId))) await this.#access.replace(path, `${runId}\n`);
    });
  }

  /** Atomic: a concurrent reader sees the old file or the new one. */
  write(name: string, content: FileContent): Promise<void> {
    return this.#with(name, (path) => this.#access.replace(path, content));
  }

  /** Null if there is no such file. */
  read(name: string): Promise<Uint8Array | null> {
    return this.#with(name, async (path) => {
      try {
        const file = await openFile(path);
        try {
          const stats = await file.stat();
          // A hard link: the file may belong to something else.
          if (!stats.isFile() || stats.nlink > 1) throw leadsOutError(name);
          return await file.readFile();
        } finally {
          await file.close();
        }
      } catch (error) {
        if (codeOf(error) === "ENOENT") return null;
        if (codeOf(error) === "ELOOP") throw leadsOutError(name);
        throw error;
      }
    });
  }

  async #with<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    const problem = artifactNameProblem(name);
    if (problem !== null)
      throw new WorkspaceError(`${JSON.stringify(name)} cannot name a file of a run: ${problem}.`, {
        name: String(name),
      });
    return this.#within(name, async (path) => {
      if (await this.#access.isStoreFile(path)) throw storeFileError(name);
      return work(path);
    });
  }

  async #within<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    const { chosen } = this.location;
    const isMade = await makeFolder(chosen);
    const outcome = await holdingFolder(chosen, this.#own, async (at, isNew) => {
      const found = await stat(at("."), { bigint: true });
      // A folder that was removed is created again, and is empty: accept it as the new one.
      if (isNew || (isMade && this.#own.length === 0)) this.#usedFolder = found;
      this.#assertSame(found);
      return insideFolder(at("."), name, work);
    });
    if (!outcome.ok || !outcome.value.ok) throw leadsOutError(name);
    return outcome.value.value;
  }

  /** Throws if this is not the folder that the run used before. The first folder used is remembered. */
  #assertSame(found: FolderIdentity): void {
    this.#usedFolder ??= found;
    if (this.#usedFolder.dev !== found.dev || this.#usedFolder.ino !== found.ino) throw this.#replaced();
  }

  #replaced(): WorkspaceError {
    return new WorkspaceError(
      `The workspace ${this.folder} is not the folder that this run used before: restore that folder, and resume.`,
      { name: this.folder },
    );
  }
}

type FolderIdentity = Pick<BigIntStats, "dev" | "ino">;

function storeFileError(name: string): WorkspaceError {
  return new WorkspaceError(
    `${JSON.stringify(name)} is a file of Pawl's own store, which nothing else may open or replace: use another name.`,
    { name },
  );
}

function leadsOutError(name: string): WorkspaceError {
  return new WorkspaceError(
    `${JSON.stringify(name)} leads out of the workspace, or is not a file: a link or a folder is in its place. Remove it, and resume.`,
    { name },
  );
}
