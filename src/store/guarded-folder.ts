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
import { dirname, isAbsolute, join, relative, sep } from "node:path";

// Files in a folder that others may write to as well: a file is there whole or not at all, and a name never leads out of the
// folder, not by a link that somebody put there, and not by a folder that is exchanged for a link between the look and the
// deed. Names are checked by `artifactNameProblem` before. What is made is for its owner alone.

/** For whoever runs Pawl, and nobody else. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** What came of it, or what is in the place of one of the folders on the way. */
export type GuardedOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly obstacle: string };

/** Makes the folder, and those above it, where they are missing; whether it was. */
export async function makeFolder(folder: string): Promise<boolean> {
  return (await mkdir(folder, { recursive: true, mode: FOLDER_MODE })) !== undefined;
}

/** Does something to the file of that name, by a path that is good for that work only. */
export function insideFolder<T>(
  folder: string,
  name: string,
  work: (path: string) => Promise<T>,
): Promise<GuardedOutcome<T>> {
  const parts = name.split("/");
  return holdingFolder(folder, parts.slice(0, -1), (at) => work(at(parts.at(-1) ?? name)));
}

/**
 * Does something in a folder below another one. Each folder on the way is made where it is missing, and held open while the
 * next is looked for in it, so that a link is seen, and what is exchanged meanwhile is not met. The work is told whether the last
 * one was made now.
 */
export async function holdingFolder<T>(
  folder: string,
  way: readonly string[],
  work: (at: (name: string) => string, isNew: boolean) => Promise<T>,
): Promise<GuardedOutcome<T>> {
  // Whoever names the folder itself may use a link.
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

/** Where Linux shows what a process has open: a path through it leads into the folder that is open, whatever has its name now. */
const DESCRIPTORS = "/proc/self/fd";
const HAS_DESCRIPTORS = process.platform === "linux" && existsSync(DESCRIPTORS);

/** Work that never ends, as that of a process which the crash explorer has let die, leaves folders open that nobody can close. */
const left = new FinalizationRegistry<number>((descriptor) => closeSync(descriptor));

/** A folder that is held open. Where the system shows no descriptors, an exchange of it is noticed afterwards. */
class HeldFolder {
  readonly #place: string;
  readonly #descriptor: number | null;
  /** It was made to be held. */
  readonly isNew: boolean;

  private constructor(place: string, descriptor: number | null, isNew: boolean) {
    this.#place = place;
    this.isNew = isNew;
    this.#descriptor = descriptor;
    if (descriptor !== null) left.register(this, descriptor, this);
  }

  /** Null where something else than a folder is in its place. */
  static async open(
    path: string,
    { mayBeLink, isNew = false }: { readonly mayBeLink: boolean; readonly isNew?: boolean },
  ): Promise<HeldFolder | null> {
    if (!HAS_DESCRIPTORS) {
      if (!mayBeLink && !(await lstat(path)).isDirectory()) return null;
      return new HeldFolder(await realpath(path), null, isNew);
    }
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | (mayBeLink ? 0 : constants.O_NOFOLLOW);
    try {
      return new HeldFolder(path, openSync(path, flags), isNew);
    } catch (error) {
      if (codeOf(error) === "ENOTDIR" || codeOf(error) === "ELOOP") return null;
      throw error;
    }
  }

  at(name: string): string {
    return this.#descriptor === null
      ? join(this.#place, name)
      : join(DESCRIPTORS, String(this.#descriptor), name);
  }

  /** A folder in it, made where it is missing; null where something else is in its place. */
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
    return this.#descriptor !== null || (await realpath(this.#place).catch(() => null)) === this.#place;
  }

  close(): void {
    if (this.#descriptor === null) return;
    left.unregister(this);
    closeSync(this.#descriptor);
  }
}

/**
 * Whether a file that was opened by its name is really below the folder: the name may have led elsewhere by the time it was
 * opened. Both are real paths.
 */
export async function isOpenedBelow(folder: string, place: string, file: FileHandle): Promise<boolean> {
  if (HAS_DESCRIPTORS) return isBelow(folder, await readlink(join(DESCRIPTORS, String(file.fd))));
  const [opened, found] = [await file.stat({ bigint: true }), await lstat(place, { bigint: true })];
  const isSame = opened.dev === found.dev && opened.ino === found.ino;
  return isSame && isBelow(folder, await realpath(place));
}

/** Whether a place is a folder or in it. Both are real paths. */
export function isBelow(folder: string, place: string): boolean {
  const way = relative(folder, place);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Opens a file for reading: no link, and without waiting for a writer, for something else may stand there, a pipe for instance. */
export function openFile(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
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
  work: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags, FILE_MODE);
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
