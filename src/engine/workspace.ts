import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { artifactNameProblem } from "../core/artifact-name.ts";
import { WorkspaceError } from "../core/errors.ts";
import { codeOf, type FileContent, pathInside, replaceFile } from "../store/guarded-folder.ts";

/**
 * The directory of a run. Nothing in it is the only copy: what counts is in the store. A name never leads out of it, not by
 * `..` and not by a symbolic link that somebody put there.
 */
export class Workspace {
  readonly folder: string;
  readonly #replace: typeof replaceFile;

  /** An absolute path. It is made when the first file is written. */
  constructor(folder: string, replace: typeof replaceFile = replaceFile) {
    this.folder = folder;
    this.#replace = replace;
  }

  /** Whole or not at all: whoever reads it meanwhile sees the old file or the new one. */
  async write(name: string, content: FileContent): Promise<void> {
    await this.#replace(await this.#target(name), content);
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
    return target.path;
  }
}

function leadsOut(name: string): WorkspaceError {
  return new WorkspaceError(
    `${JSON.stringify(name)} leads out of the workspace, or is no file: a symbolic link or a folder is in its place. Remove that, and resume.`,
    { name },
  );
}
