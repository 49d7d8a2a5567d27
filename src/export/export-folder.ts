import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { artifactNameProblem } from "../core/artifact-name.ts";
import { PawlError } from "../core/errors.ts";
import { ownProperty } from "../core/own-property.ts";
import { codeOf, type FileContent, insideFolder, makeFolder, replaceFile } from "../store/guarded-folder.ts";

/** A file of an export cannot be written; an existing file is unchanged. */
export class ExportError extends PawlError<{ path: string }> {
  readonly code = "export";
}

/**
 * The folder that a run is exported to. A file is written whole or not at all, and a name never leads out of the folder: not
 * with `..`, and not through a symbolic link.
 */
export class ExportFolder {
  /** The absolute path. */
  readonly path: string;
  readonly #isStoreFile: (path: string) => Promise<boolean>;

  private constructor(path: string, isStoreFile: (path: string) => Promise<boolean>) {
    this.path = path;
    this.#isStoreFile = isStoreFile;
  }

  /** Creates the folder if needed. A file of the store is never replaced. */
  static async open(
    folder: string,
    isStoreFile: (path: string) => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<ExportFolder> {
    const path = resolve(folder);
    return inSentence(path, async () => {
      await makeFolder(path);
      return new ExportFolder(path, isStoreFile);
    });
  }

  pathOf(name: string): string {
    return join(this.path, name);
  }

  /** Resolves to the size of the file. */
  async write(name: string, content: FileContent): Promise<number> {
    const path = this.pathOf(name);
    const problem = artifactNameProblem(name);
    if (problem !== null)
      throw new ExportError(`${path} cannot be a file of an export: ${problem}.`, { path });
    return inSentence(path, async () => {
      const written = await insideFolder(this.path, name, async (target) => {
        if (await this.#isStoreFile(target))
          throw new ExportError(
            `${path} was not written, because it is a file of the store: export to another folder.`,
            { path },
          );
        await replaceFile(target, content);
        return (await stat(target)).size;
      });
      if (written.ok) return written.value;
      throw new ExportError(
        `${path} was not written, because ${written.obstacle} is a link or a file and no folder: remove it, or export to another folder.`,
        { path },
      );
    });
  }
}

/** Turns an error of the file system into one sentence with what to do. */
async function inSentence<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === null || PawlError.isInstance(error)) throw error;
    throw new ExportError(
      `${path} could not be written (${code}): ${ownProperty(ADVICE, code) ?? "check the path and the disk"}, or export to another folder.`,
      { path },
      { cause: error },
    );
  }
}

const ADVICE: { readonly [code: string]: string } = {
  ENOSPC: "free some space",
  EDQUOT: "free some space",
  EACCES: "give this process the right to",
  EPERM: "give this process the right to",
  EROFS: "the disk is read-only; give this process the right to",
  EISDIR: "remove the folder that is in its place",
  EEXIST: "remove the file that is in its place",
  ENOTDIR: "remove the file that is in its way",
};
