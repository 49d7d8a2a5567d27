import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, realpath, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

// Files in a folder that others may write to as well: a file is there whole or not at all, and a name never leads out of the
// folder, not by a symbolic link that somebody put there. Names are checked by `artifactNameProblem` before.

/** Where a file of that name is, or what is in the place of one of its folders. */
export type GuardedPath =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly obstacle: string };

/** Makes the folders on the way, one by one, so that a link in the place of one is seen before anything goes through it. */
export async function pathInside(folder: string, name: string): Promise<GuardedPath> {
  const parts = name.split("/");
  // Whoever names the folder itself may use a link.
  let place = await realpath(folder);
  for (const part of parts.slice(0, -1)) {
    place = join(place, part);
    await mkdir(place).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
    if (!(await lstat(place)).isDirectory()) return { ok: false, obstacle: place };
  }
  return { ok: true, path: join(place, parts.at(-1) ?? name) };
}

/** What a file is to hold; the text of a long one comes in pieces. */
export type FileContent = string | Uint8Array | AsyncIterable<string>;

/** Temporary file → fsync → rename → fsync of its folder. */
export async function replaceFile(target: string, content: FileContent): Promise<void> {
  const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await withFile(temporary, "wx", async (file) => {
      await writeFile(file, content);
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

/** What the file system calls an error; null for any other. */
export function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : null;
}
