import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { artifactNameProblem } from "../core/artifact-name.ts";
import { PawlError } from "../core/errors.ts";

/** A file of an export cannot be written; what was there before still is. */
export class ExportError extends PawlError<{ path: string }> {
  readonly code = "export";
}

/**
 * The folder that a run is exported to. A file is there whole or not at all, and a name never leads out of the folder: not
 * by `..`, and not by a symbolic link that somebody put there.
 */
export class ExportFolder {
  /** As it was given, made absolute. */
  readonly path: string;
  /** Where that leads: whoever names the folder may use a link, and nothing inside of it is one. */
  readonly #place: string;

  private constructor(path: string, place: string) {
    this.path = path;
    this.#place = place;
  }

  /** Makes it where it is not there. */
  static async open(folder: string): Promise<ExportFolder> {
    const path = resolve(folder);
    return inSentence(path, async () => {
      await mkdir(path, { recursive: true });
      return new ExportFolder(path, await realpath(path));
    });
  }

  pathOf(name: string): string {
    return join(this.path, name);
  }

  /** Temporary file → fsync → rename → fsync of its folder. Resolves to the path of the file. */
  async write(name: string, content: string | Uint8Array): Promise<string> {
    const path = this.pathOf(name);
    const problem = artifactNameProblem(name);
    if (problem !== null)
      throw new ExportError(`${path} cannot be a file of an export: ${problem}.`, { path });
    await inSentence(path, async () => replaceFile(await this.#target(name, path), content));
    return path;
  }

  /** Folder by folder, so that a link in the place of one is seen before anything is written through it. */
  async #target(name: string, path: string): Promise<string> {
    const parts = name.split("/");
    let folder = this.#place;
    for (const part of parts.slice(0, -1)) {
      folder = join(folder, part);
      await mkdir(folder).catch((error: unknown) => {
        if (codeOf(error) !== "EEXIST") throw error;
      });
      if ((await lstat(folder)).isDirectory()) continue;
      throw new ExportError(
        `${path} was not written, because ${folder} is a link or a file and no folder: remove it, or export to another folder.`,
        { path },
      );
    }
    return join(folder, parts.at(-1) ?? name);
  }
}

async function replaceFile(target: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await withFile(temporary, "wx", async (file) => {
      await file.writeFile(content);
      await file.sync();
    });
    // It takes the place of a symbolic link, and does not follow it.
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await withFile(dirname(target), "r", (folder) => folder.sync());
}

async function withFile(
  path: string,
  flags: "r" | "wx",
  work: (file: Awaited<ReturnType<typeof open>>) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags);
  try {
    await work(file);
  } finally {
    await file.close();
  }
}

/** What the file system says, in one sentence with what to do. */
async function inSentence<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === null || PawlError.isInstance(error)) throw error;
    throw new ExportError(
      `${path} could not be written (${code}): ${ADVICE[code] ?? "check the path and the disk"}, or export to another folder.`,
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

function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : null;
}
