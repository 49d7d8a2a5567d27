import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { artifactNameProblem } from "../core/artifact-name.ts";
import { WorkspaceError } from "../core/errors.ts";

/**
 * The directory of a run. Nothing in it is the only copy: what counts is in the store. A name never leads out of it, not by
 * `..` and not by a symbolic link that somebody put there.
 */
export class Workspace {
  readonly folder: string;

  /** An absolute path. It is made when the first file is written. */
  constructor(folder: string) {
    this.folder = folder;
  }

  /** Whole or not at all: whoever reads it meanwhile sees the old file or the new one. */
  async write(name: string, bytes: Uint8Array): Promise<void> {
    const target = await this.#target(name);
    const temporary = `${target}.${randomUUID()}.tmp`;
    try {
      const file = await open(temporary, "wx");
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      // It takes the place of a symbolic link, and does not follow it.
      await rename(temporary, target);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
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
    const parts = name.split("/");
    let folder = await realpath(this.folder);
    for (const part of parts.slice(0, -1)) {
      folder = join(folder, part);
      await mkdir(folder).catch((error: unknown) => {
        if (codeOf(error) !== "EEXIST") throw error;
      });
      if (!(await lstat(folder)).isDirectory()) throw leadsOut(name);
    }
    return join(folder, parts.at(-1) ?? name);
  }
}

function leadsOut(name: string): WorkspaceError {
  return new WorkspaceError(
    `${JSON.stringify(name)} leads out of the workspace, or is no file: a symbolic link or a folder is in its place. Remove that, and resume.`,
    { name },
  );
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null;
}
