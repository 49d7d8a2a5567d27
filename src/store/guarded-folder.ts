import { randomBytes } from "node:crypto";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readlink,
  realpath,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";

// Files in a folder that others may write to as well. A file exists whole or not at all, and a name never leads out
// of the folder: not through a planted link, and not through a folder that is swapped for a link between check and
// use. Names are checked by `artifactNameProblem` first. Everything created is readable by its owner only.

/** For the user who runs Pawl, and no other. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** The result, or the path of what is in the way of one of the folders. */
export type GuardedOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly obstacle: string };

/** Creates the folder and missing parents. True if it was missing. */
export async function makeFolder(folder: string): Promise<boolean> {
  return (await mkdir(folder, { recursive: true, mode: FOLDER_MODE })) !== undefined;
}

/** Runs `work` on the file of that name, with a path that is valid only during the work. */
export function insideFolder<T>(
  folder: string,
  name: string,
  work: (path: string) => Promise<T>,
): Promise<GuardedOutcome<T>> {
  const parts = name.split("/");
  return holdingFolder(folder, parts.slice(0, -1), (at) => work(at(parts.at(-1) ?? name)));
}

/**
 * Runs `work` in a folder below another one. Each folder on the path is created if missing, and held open while the
 * next one is opened in it, so that links are detected and a swapped folder has no effect. `isNew` is true if the
 * last folder was just created.
 */
export async function holdingFolder<T>(
  folder: string,
  way: readonly string[],
  work: (at: (name: string) => string, isNew: boolean) => Promise<T>,
): Promise<GuardedOutcome<T>> {
  // The top folder itself may be a link: the caller named it.
  const first = await HeldFolder.open(folder, { mayBeLink: true });
  if (first === null) return { ok: false, obstacle: folder };
  const held = [first];
  try {
    for (const part of way) {
      const next = await held.at(-1)?.folder(part);
      if (!next) return { ok: false, obstacle: join(folder, ...way.slice(0, held.length)) };
      held.push(next);
    }
    const last = held.at(-1) ?? first;
    const value = await work((name) => last.at(name), last.isNew);
    return (await last.isStillThere()) ? { ok: true, value } : { ok: false, obstacle: join(folder, ...way) };
  } finally {
    for (const each of held) each.close();
  }
}

/**
 * Linux lists the open descriptors of a process here: a path through one leads into the open folder, whatever has its
 * name now.
 */
const DESCRIPTORS = "/proc/self/fd";
const HAS_DESCRIPTORS = process.platform === "linux" && existsSync(DESCRIPTORS);

/**
 * Work that never ends, such as that of a process killed by the crash explorer, leaves folders open: these are closed
 * when collected.
 */
const left = new FinalizationRegistry<number>((descriptor) => closeSync(descriptor));

/** A folder that is held open. On systems without descriptor paths, a swap is detected afterwards. */
class HeldFolder {
  readonly #path: string;
  readonly #descriptor: number | null;
  /** True if it was created by the caller. */
  readonly isNew: boolean;

  private constructor(path: string, descriptor: number | null, { isNew }: { readonly isNew: boolean }) {
    this.#path = path;
    this.isNew = isNew;
    this.#descriptor = descriptor;
    if (descriptor !== null) left.register(this, descriptor, this);
  }

  /** Null if something other than a folder is in its place. */
  static async open(
    path: string,
    { mayBeLink, isNew = false }: { readonly mayBeLink: boolean; readonly isNew?: boolean },
  ): Promise<HeldFolder | null> {
    if (!HAS_DESCRIPTORS) {
      if (!mayBeLink && !(await lstat(path)).isDirectory()) return null;
      return new HeldFolder(await realpath(path), null, { isNew });
    }
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | (mayBeLink ? 0 : constants.O_NOFOLLOW);
    try {
      return new HeldFolder(path, openSync(path, flags), { isNew });
    } catch (error) {
      if (codeOf(error) === "ENOTDIR" || codeOf(error) === "ELOOP") return null;
      throw error;
    }
  }

  at(name: string): string {
    return this.#descriptor === null
      ? join(this.#path, name)
      : join(DESCRIPTORS, String(this.#descriptor), name);
  }

  /** A subfolder, created if missing; null if something else is in its place. */
  async folder(name: string): Promise<HeldFolder | null> {
    const isNew = await mkdir(this.at(name), { mode: FOLDER_MODE }).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) !== "EEXIST") throw error;
        return false;
      },
    );
    return HeldFolder.open(this.at(name), { mayBeLink: false, isNew });
  }

  async isStillThere(): Promise<boolean> {
    return this.#descriptor !== null || (await realpath(this.#path).catch(() => null)) === this.#path;
  }

  close(): void {
    if (this.#descriptor === null) return;
    left.unregister(this);
    closeSync(this.#descriptor);
  }
}

/**
 * True if a file that was opened by name is really below the folder: the name may have led elsewhere when it was
 * opened. Both are real paths.
 */
export async function isOpenedBelow(folder: string, path: string, file: FileHandle): Promise<boolean> {
  if (HAS_DESCRIPTORS) return isBelow(folder, await readlink(join(DESCRIPTORS, String(file.fd))));
  const [opened, found] = [await file.stat({ bigint: true }), await lstat(path, { bigint: true })];
  const isSame = opened.dev === found.dev && opened.ino === found.ino;
  return isSame && isBelow(folder, await realpath(path));
}

/** True if the path is the folder itself or below it. Both are real paths. */
export function isBelow(folder: string, path: string): boolean {
  const steps = relative(folder, path);
  return steps !== ".." && !steps.startsWith(`..${sep}`) && !isAbsolute(steps);
}

/**
 * Opens a file for reading. Follows no link, and does not wait for a writer, in case something else, such as a pipe,
 * has its name.
 */
export function openFile(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

/** The content of a file; a long text comes in pieces. */
export type FileContent = string | Uint8Array | AsyncIterable<string>;

/** Temporary file → fsync → rename → fsync of its folder. */
export function replaceFile(target: string, content: FileContent): Promise<void> {
  return replaceCheckedFile(target, content, () => Promise.resolve());
}

/** The same, if the check accepts the temporary file; if it throws, the target stays as it was. */
export async function replaceCheckedFile(
  target: string,
  content: FileContent | AsyncIterable<Uint8Array>,
  check: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await withFile(temporary, "wx", async (file) => {
      await writeFile(file, content);
      await file.sync();
    });
    await check(temporary);
    // Replaces a symbolic link instead of following it.
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
  work: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags, FILE_MODE);
  try {
    await work(file);
  } finally {
    await file.close();
  }
}

/** The code of a file system error; null for any other error. */
export function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : null;
}

/**
 * The real path with all symlinks resolved; segments that do not exist yet are appended as written. Null for a dangling
 * symlink: a file created through it could be anywhere.
 */
export async function realPath(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch {
    if ((await exists(path)) || dirname(path) === path) return null;
    const above = await realPath(dirname(path));
    return above === null ? null : join(above, basename(path));
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
