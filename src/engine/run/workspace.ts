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

/** How files are written, and which ones are not to be touched. */
export type WorkspaceDoors = {
  readonly replace: typeof replaceFile;
  readonly isStoreFile: (path: string) => Promise<boolean>;
};

/** Where the files of a run are. */
export type RunFolder = {
  readonly path: string;
  /** What of it whoever runs Pawl has chosen, and may be a link. The rest is the run's, and is none. */
  readonly chosen: string;
};

/**
 * The directory of a run. Nothing in it is the only copy: what counts is in the store. A name never leads out of it, not by
 * `..` and not by a symbolic link that somebody put there. Once the folder was used, it stays that one: another in its place is
 * neither read nor written.
 */
export class Workspace {
  readonly place: RunFolder;
  /** The folders below what was chosen. */
  readonly #own: readonly string[];
  readonly #doors: WorkspaceDoors;
  #taken: FolderIdentity | null = null;

  /** Absolute paths. It is made when the first file is written. */
  constructor(place: RunFolder, doors: Partial<WorkspaceDoors> = {}) {
    this.place = place;
    this.#own = relative(place.chosen, place.path)
      .split(sep)
      .filter((part) => part !== "");
    this.#doors = { replace: replaceFile, isStoreFile: () => Promise.resolve(false), ...doors };
  }

  /** Throws where a file of that name would be one of the store's own. */
  async assertFree(name: string): Promise<void> {
    if (await this.#doors.isStoreFile(join(this.folder, name))) throw ofStore(name);
  }

  get folder(): string {
    return this.place.path;
  }

  /** Where it really is: a link that was put in the place of a run's own folder is not followed. */
  async realPath(): Promise<string> {
    const path = resolve(await realpath(this.place.chosen), ...this.#own);
    const found = await lstat(path, { bigint: true }).catch(() => null);
    if (found?.isDirectory() === true) this.#assertSame(found);
    else if (found !== null && this.#taken !== null) throw this.#exchanged();
    return path;
  }

  /** Says whose folder it is, where nothing says so yet; throws where it is another run's. */
  async mark(runId: string): Promise<void> {
    await this.#within(RUN_MARK, async (path) => {
      if (!(await isOwnedBy(path, this.folder, runId))) await this.#doors.replace(path, `${runId}\n`);
    });
  }

  /** Whole or not at all: whoever reads it meanwhile sees the old file or the new one. */
  write(name: string, content: FileContent): Promise<void> {
    return this.#with(name, (path) => this.#doors.replace(path, content));
  }

  /** Null where there is no such file. */
  read(name: string): Promise<Uint8Array | null> {
    return this.#with(name, async (path) => {
      try {
        const file = await openFile(path);
        try {
          const stats = await file.stat();
          // A second name of the same file may be anywhere, and with it what the file is for.
          if (!stats.isFile() || stats.nlink > 1) throw leadsOut(name);
          return await file.readFile();
        } finally {
          await file.close();
        }
      } catch (error) {
        if (codeOf(error) === "ENOENT") return null;
        if (codeOf(error) === "ELOOP") throw leadsOut(name);
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
      if (await this.#doors.isStoreFile(path)) throw ofStore(name);
      return work(path);
    });
  }

  async #within<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    const { chosen } = this.place;
    const isMade = await makeFolder(chosen);
    const outcome = await holdingFolder(chosen, this.#own, async (at, isNew) => {
      const found = await stat(at("."), { bigint: true });
      // One that was removed is made again: nobody else can have put anything into it.
      if (isNew || (isMade && this.#own.length === 0)) this.#taken = found;
      this.#assertSame(found);
      return insideFolder(at("."), name, work);
    });
    if (!outcome.ok || !outcome.value.ok) throw leadsOut(name);
    return outcome.value.value;
  }

  /** The folder is the one that this run has used before; from now on it is, where it has used none. */
  #assertSame(found: FolderIdentity): void {
    this.#taken ??= found;
    if (this.#taken.dev !== found.dev || this.#taken.ino !== found.ino) throw this.#exchanged();
  }

  #exchanged(): WorkspaceError {
    return new WorkspaceError(
      `The workspace ${this.folder} is another folder than the one that this run has used: put that back, and resume.`,
      { name: this.folder },
    );
  }
}

type FolderIdentity = Pick<BigIntStats, "dev" | "ino">;

function ofStore(name: string): WorkspaceError {
  return new WorkspaceError(
    `${JSON.stringify(name)} is a file of Pawl's own store, which nothing else may open or replace: use another name.`,
    { name },
  );
}

function leadsOut(name: string): WorkspaceError {
  return new WorkspaceError(
    `${JSON.stringify(name)} leads out of the workspace, or is no file: a link or a folder is in its place. Remove that, and resume.`,
    { name },
  );
}
