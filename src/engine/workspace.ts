import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { artifactNameProblem } from "../core/artifact-name.ts";
import { WorkspaceError } from "../core/errors.ts";
import { codeOf, type FileContent, pathInside, replaceFile } from "../store/guarded-folder.ts";

/** How files are written, and which ones are not to be touched. */
export type WorkspaceDoors = {
  readonly replace: typeof replaceFile;
  readonly isStoreFile: (path: string) => Promise<boolean>;
};

/**
 * The directory of a run. Nothing in it is the only copy: what counts is in the store. A name never leads out of it, not by
 * `..` and not by a symbolic link that somebody put there.
 */
export class Workspace {
  readonly folder: string;
  readonly #doors: WorkspaceDoors;

  /** An absolute path. It is made when the first file is written. */
  constructor(folder: string, doors: Partial<WorkspaceDoors> = {}) {
    this.folder = folder;
    this.#doors = { replace: replaceFile, isStoreFile: () => Promise.resolve(false), ...doors };
  }

  /** Throws where a file of that name would be one of the store's own. */
  async assertFree(name: string): Promise<void> {
    if (await this.#doors.isStoreFile(join(this.folder, name))) throw ofStore(name);
  }

  /** Whole or not at all: whoever reads it meanwhile sees the old file or the new one. */
  async write(name: string, content: FileContent): Promise<void> {
    await this.#doors.replace(await this.#target(name), content);
  }

  /** Null where there is no such file. */
  async read(name: string): Promise<Uint8Array | null> {
    const target = await this.#target(name);
    try {
      const file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW);
      try {
        if (!(await file.stat()).isFile()) throw leadsOut(name);
        return await file.readFile();
      } finally {
        await file.close();
      }
    } catch (error) {
      if (codeOf(error) === "ENOENT") return null;
      if (codeOf(error) === "ELOOP") throw leadsOut(name);
      throw error;
    }
  }

  async #target(name: string): Promise<string> {
    const problem = artifactNameProblem(name);
    if (problem !== null)
      throw new WorkspaceError(`${JSON.stringify(name)} cannot name a file of a run: ${problem}.`, {
        name: String(name),
      });
    await mkdir(this.folder, { recursive: true });
    const target = await pathInside(this.folder, name);
    if (!target.ok) throw leadsOut(name);
    if (await this.#doors.isStoreFile(target.path)) throw ofStore(name);
    return target.path;
  }
}

function ofStore(name: string): WorkspaceError {
  return new WorkspaceError(
    `${JSON.stringify(name)} is a file of Pawl's own store, which nothing else may open or replace: use another name.`,
    { name },
  );
}

function leadsOut(name: string): WorkspaceError {
  return new WorkspaceError(
    `${JSON.stringify(name)} leads out of the workspace, or is no file: a symbolic link or a folder is in its place. Remove that, and resume.`,
    { name },
  );
}
