import { randomBytes } from "node:crypto";
import {
  chmodSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
} from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { hostname, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { OwnerLiveness, OwnerWatch } from "../sql/owners.ts";
import { bootId, NO_BOOT } from "./boot-id.ts";

/** How processes show each other that they live: by sockets, unless a test replaces them. */
export interface Doorbell {
  /** From now on every ring is answered, for as long as this process lives. */
  listen(file: string, mode: number): Promise<{ close(): Promise<void> }>;
  ring(file: string): Promise<RingAnswer>;
}

type RingAnswer = "accepted" | "refused" | "unclear";

/**
 * Shows that this process lives: a listening socket beside the database. The kernel accepts connections for as long
 * as the process lives, stopped or not, and refuses them once it is dead, however it died. Nothing that the process
 * does to files can lose it, while closing any descriptor of a file would lose a POSIX lock on it (decision 46).
 */
export class OwnerLock implements OwnerWatch {
  /** Names this store in leases, readable for people: host, process id, and the id of its socket. */
  readonly owner: string;
  readonly #files: OwnerFiles | null;
  readonly #doorbell: Doorbell;
  readonly #listening: Awaited<ReturnType<Doorbell["listen"]>> | null;
  /** Dead owners; they stay dead, since every store has an id of its own. */
  readonly #dead = new Set<string>();
  readonly #seen = new Map<string, OwnerLiveness>();

  private constructor(
    files: OwnerFiles | null,
    owner: string,
    doorbell: Doorbell,
    listening: Awaited<ReturnType<Doorbell["listen"]>> | null,
  ) {
    this.#files = files;
    this.owner = owner;
    this.#doorbell = doorbell;
    this.#listening = listening;
  }

  /**
   * Takes a lock for this store. If the file system does not support sockets, this process cannot be proven dead, and
   * its leases have to expire.
   */
  static async take(path: string, doorbell: Doorbell = SOCKETS): Promise<OwnerLock> {
    const id = `${bootId()}-${randomBytes(6).toString("hex")}`;
    const files = path === ":memory:" ? null : new OwnerFiles(realpathSync(path));
    const listening =
      files === null ? null : await doorbell.listen(files.lockFile(id), files.mode).catch(() => null);
    return new OwnerLock(files, `${hostname()}/${process.pid}/${id}`, doorbell, listening);
  }

  /** For readers, which hold nothing. */
  static watch(path: string): OwnerLock {
    const files = path === ":memory:" ? null : new OwnerFiles(realpathSync(path));
    return new OwnerLock(files, "", SOCKETS, null);
  }

  /** A socket is never lost as long as the process lives. */
  readonly generation = 1;

  held(): Promise<void> {
    return Promise.resolve();
  }

  /** True if others can see that this process lives. */
  get isHeld(): boolean {
    return this.#listening !== null;
  }

  /** The id of this store, which its files are named after. */
  get id(): string | null {
    return idOf(this.owner);
  }

  /** The last observation of an owner. */
  livenessOf(owner: string): OwnerLiveness {
    return this.#dead.has(owner) ? "dead" : (this.#seen.get(owner) ?? "unknown");
  }

  /** Checks whether the process behind `owner` lives. */
  async look(owner: string): Promise<OwnerLiveness> {
    if (this.#files === null || owner === this.owner || this.#dead.has(owner)) return this.livenessOf(owner);
    const id = idOf(owner);
    const liveness =
      id === null ? "unknown" : judge(owner, id, await this.#doorbell.ring(this.#files.lockFile(id)));
    if (liveness === "dead") this.#dead.add(owner);
    this.#seen.set(owner, liveness);
    return liveness;
  }

  /** Removes the files of dead processes, unless `isNeeded` finds a run that still refers to that owner. */
  async sweep(isNeeded: (id: string) => boolean): Promise<void> {
    if (this.#files === null) return;
    for (const { id, file, isOld } of await this.#files.left()) {
      if (id === this.id) continue;
      const isOwnBoot = bootOf(id) === bootId() && bootOf(id) !== NO_BOOT;
      // Files of another boot or machine are removed after a while; its processes cannot be asked from here.
      const isGone = isOwnBoot ? (await this.#doorbell.ring(this.#files.lockFile(id))) !== "accepted" : isOld;
      if (isGone && !isNeeded(id)) removeIfPossible(file);
    }
    await this.#files.removeHalfMade();
  }

  /** Called after this store's last effect has ended and its leases are released. */
  async release(): Promise<void> {
    if (this.#files !== null && this.id !== null) this.#files.remove(this.id);
    await this.vanish();
  }

  /** Ends as a killed process would: the socket no longer answers, and its file stays. */
  async vanish(): Promise<void> {
    await this.#listening?.close();
  }
}

/** The names of the files that owners keep beside a database. */
export class OwnerFiles {
  readonly #database: string;

  constructor(database: string) {
    this.#database = database;
  }

  /** Only users who may open the database may see who holds it. */
  get mode(): number {
    return statSync(this.#database).mode & 0o666;
  }

  lockFile(id: string): string {
    return `${this.#database}-owner-${id}`;
  }

  marksFile(id: string): string {
    return `${this.#database}-sent-${id}`;
  }

  remove(id: string): void {
    removeIfPossible(this.marksFile(id));
    removeIfPossible(this.lockFile(id));
  }

  /** The marks of an owner come before its lock: as long as one of its files exists, the lock can be asked. */
  async left(): Promise<readonly { readonly id: string; readonly file: string; readonly isOld: boolean }[]> {
    const folder = dirname(this.#database);
    const found = (await readdir(folder))
      .flatMap((name) => {
        const kind = ["-sent-", "-owner-"].find((each) =>
          name.startsWith(`${basename(this.#database)}${each}`),
        );
        const id = kind === undefined ? null : name.slice(basename(this.#database).length + kind.length);
        return id !== null && ID.test(id) ? [{ id, file: join(folder, name) }] : [];
      })
      .sort((a, b) => b.file.localeCompare(a.file));
    return Promise.all(
      found.map(async (each) => ({ ...each, isOld: await isOlderThan(each.file, LEFT_FOR_MS) })),
    );
  }

  /** A process that died while creating its socket leaves it under its temporary name. */
  async removeHalfMade(): Promise<void> {
    const folder = dirname(this.#database);
    for (const name of await readdir(folder))
      if (HALF_MADE.test(name) && (await isOlderThan(join(folder, name), HALF_MADE_FOR_MS)))
        removeIfPossible(join(folder, name));
  }
}

/** A file that cannot be removed does no harm. */
function removeIfPossible(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It belongs to another user, or is a folder.
  }
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{12}$/;
const HALF_MADE = /^\.pawl-[0-9a-f]{12}$/;
const HALF_MADE_FOR_MS = 60_000;
const LEFT_FOR_MS = 7 * 24 * 60 * 60_000;

async function isOlderThan(file: string, ms: number): Promise<boolean> {
  const found = await statOf(file);
  return found !== null && Date.now() - found.mtimeMs > ms;
}

/**
 * Null if there is no such file. Never `statSync`: after it has seen a socket, Node 22 resolves no links in the paths of
 * modules, and an import of a linked package fails (its realpath looks at the type of the last file that was asked for).
 */
function statOf(file: string): Promise<Stats | null> {
  return stat(file).catch(() => null);
}

export function idOf(owner: string): string | null {
  const id = owner.split("/").at(-1) ?? "";
  return ID.test(id) ? id : null;
}

function bootOf(id: string): string {
  return id.slice(0, NO_BOOT.length);
}

function judge(owner: string, id: string, answer: RingAnswer): OwnerLiveness {
  if (answer === "accepted") return "alive";
  // A socket of another machine, or of an earlier boot, refuses every connection from here.
  if (answer !== "refused" || bootOf(id) !== bootId() || bootOf(id) === NO_BOOT) return "unknown";
  return isSurelyGone(owner) ? "dead" : "unknown";
}

/**
 * Linux refuses a connection only if nothing listens. Other systems also refuse when the backlog of a stopped process
 * is full, so there the process must be gone, too. (On Linux the process id proves nothing: containers have ids of
 * their own.)
 */
function isSurelyGone(owner: string): boolean {
  if (process.platform === "linux") return true;
  const pid = Number(owner.split("/").at(-2));
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** Socket paths are limited to 103 bytes on some systems. */
const LONGEST_PATH = 100;

/** Listens under a temporary name and then renames the file: a socket that does not listen yet is never found. */
async function listenAt(file: string, mode: number): ReturnType<Doorbell["listen"]> {
  const folder = dirname(file);
  const made = `.pawl-${randomBytes(6).toString("hex")}`;
  const server = createServer((connection) => connection.destroy());
  await throughShortPath(join(folder, made), async (path) => {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      // Exclusive: otherwise the primary process of a cluster would listen in place of its worker, and outlive it.
      server.listen({ path, exclusive: true }, resolve);
    });
    server.unref();
    // A user who may not open the database may not see who holds it.
    chmodSync(join(folder, made), mode);
    renameSync(join(folder, made), file);
  });
  // A connection that cannot be accepted for lack of descriptors must not crash the process.
  server.on("error", () => undefined);
  return {
    close: async () => {
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function ringAt(file: string): Promise<RingAnswer> {
  // A file that is not a socket refuses connections as well.
  if ((await statOf(file))?.isSocket() !== true) return "unclear";
  return throughShortPath(
    file,
    (path) =>
      new Promise<RingAnswer>((resolve) => {
        const socket = connect({ path });
        const end = (answer: RingAnswer) => {
          socket.destroy();
          resolve(answer);
        };
        socket.once("connect", () => end("accepted"));
        socket.once("error", (error: NodeJS.ErrnoException) => end(ANSWERS[error.code ?? ""] ?? "unclear"));
      }),
  ).catch(() => "unclear");
}

const SOCKETS: Doorbell = { listen: listenAt, ring: ringAt };

/** A stopped process with a full backlog answers EAGAIN. */
const ANSWERS: { readonly [code: string]: RingAnswer } = { ECONNREFUSED: "refused", EAGAIN: "accepted" };

/** Uses a temporary link to its folder if the path is too long for a socket. */
async function throughShortPath<T>(file: string, use: (path: string) => Promise<T>): Promise<T> {
  if (Buffer.byteLength(file) <= LONGEST_PATH) return use(file);
  const folder = mkdtempSync(join(tmpdir(), "pawl-"));
  try {
    const link = join(folder, "l");
    // A new socket has a short name, so its folder is linked; an existing one is linked itself.
    const isNew = HALF_MADE.test(basename(file));
    symlinkSync(isNew ? dirname(file) : file, link);
    return await use(isNew ? join(link, basename(file)) : link);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
