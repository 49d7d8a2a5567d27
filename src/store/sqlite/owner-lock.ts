import { randomBytes } from "node:crypto";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { hostname, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { bootId, NO_BOOT } from "./boot-id.ts";

/** What is known of an owner's process. `dead` is for good, the others are what was seen last. */
export type OwnerLiveness = "dead" | "alive" | "unknown";

/** How processes show each other that they live: sockets, unless a test stands in for the system. */
export interface Doorbell {
  /** From now on whoever rings there is answered, for as long as this process lives. */
  listen(file: string, mode: number): Promise<{ close(): Promise<void> }>;
  ring(file: string): Promise<Answer>;
}

export type Answer = "accepted" | "refused" | "unclear";

/**
 * Shows that this process lives: a listening socket beside the database. Whoever connects is accepted by the kernel for as
 * long as the process lives, stopped or not, and refused once it is dead, however it died. Nothing that the process does
 * to files can lose it, as closing any descriptor of a file would lose a POSIX lock on it (decision 0046).
 */
export class OwnerLock {
  /** Names this store in leases, for people too: host, process id, and the id of its socket. */
  readonly owner: string;
  readonly #files: OwnerFiles | null;
  readonly #doorbell: Doorbell;
  readonly #listening: Awaited<ReturnType<Doorbell["listen"]>> | null;
  /** Owners that are dead; they stay so, since every store has an id of its own. */
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
   * Takes a lock of its own. Without one, where the file system takes no sockets, nobody can prove this process dead, and
   * its leases have to run out.
   */
  static async take(path: string, doorbell: Doorbell = SOCKETS): Promise<OwnerLock> {
    const id = `${bootId()}-${randomBytes(6).toString("hex")}`;
    const files = path === ":memory:" ? null : new OwnerFiles(realpathSync(path));
    const listening =
      files === null ? null : await doorbell.listen(files.lockFile(id), files.mode).catch(() => null);
    return new OwnerLock(files, `${hostname()}/${process.pid}/${id}`, doorbell, listening);
  }

  /** For those who only look, and hold nothing. */
  static watch(path: string): OwnerLock {
    const files = path === ":memory:" ? null : new OwnerFiles(realpathSync(path));
    return new OwnerLock(files, "", SOCKETS, null);
  }

  /** Whether others can see that this process lives. */
  get isHeld(): boolean {
    return this.#listening !== null;
  }

  /** The id of this store: its files are named after it. */
  get id(): string | null {
    return idOf(this.owner);
  }

  /** What was seen of an owner when it was looked at last. */
  livenessOf(owner: string): OwnerLiveness {
    return this.#dead.has(owner) ? "dead" : (this.#seen.get(owner) ?? "unknown");
  }

  /** Looks whether the process behind `owner` lives. */
  async look(owner: string): Promise<OwnerLiveness> {
    if (this.#files === null || owner === this.owner || this.#dead.has(owner)) return this.livenessOf(owner);
    const id = idOf(owner);
    const sighting =
      id === null ? "unknown" : judge(owner, id, await this.#doorbell.ring(this.#files.lockFile(id)));
    if (sighting === "dead") this.#dead.add(owner);
    this.#seen.set(owner, sighting);
    return sighting;
  }

  /** Removes what dead processes left, unless `isNeeded` says that a run still refers to that owner. */
  async sweep(isNeeded: (id: string) => boolean): Promise<void> {
    if (this.#files === null) return;
    for (const { id, file, isOld } of this.#files.left()) {
      if (id === this.id) continue;
      const isOwnBoot = bootOf(id) === bootId() && bootOf(id) !== NO_BOOT;
      // What another boot or machine left is nobody's after a while; its processes cannot be asked from here.
      const isGone = isOwnBoot ? (await this.#doorbell.ring(this.#files.lockFile(id))) !== "accepted" : isOld;
      if (isGone && !isNeeded(id)) removeIfPossible(file);
    }
    this.#files.removeHalfMade();
  }

  /** This store's last effect has ended, and its leases are given up. */
  async release(): Promise<void> {
    if (this.#files !== null && this.id !== null) this.#files.remove(this.id);
    await this.vanish();
  }

  /** As the death of the process does: the socket answers no more, and its file stays. */
  async vanish(): Promise<void> {
    await this.#listening?.close();
  }
}

/** The names of what owners leave beside a database. */
export class OwnerFiles {
  readonly #database: string;

  constructor(database: string) {
    this.#database = database;
  }

  /** Who may open the database may see who has it, and nobody else. */
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

  /** The marks of an owner come before its lock: as long as a file of it is there, the lock can be asked. */
  left(): { readonly id: string; readonly file: string; readonly isOld: boolean }[] {
    const folder = dirname(this.#database);
    return readdirSync(folder)
      .flatMap((name) => {
        const kind = ["-sent-", "-owner-"].find((each) =>
          name.startsWith(`${basename(this.#database)}${each}`),
        );
        const id = kind === undefined ? null : name.slice(basename(this.#database).length + kind.length);
        return id !== null && ID.test(id) ? [{ id, file: join(folder, name) }] : [];
      })
      .sort((a, b) => b.file.localeCompare(a.file))
      .map((each) => ({ ...each, isOld: isOlderThan(each.file, LEFT_FOR_MS) }));
  }

  /** A process that died while it made its socket leaves it under its first name. */
  removeHalfMade(): void {
    const folder = dirname(this.#database);
    for (const name of readdirSync(folder))
      if (HALF_MADE.test(name) && isOlderThan(join(folder, name), HALF_MADE_FOR_MS))
        removeIfPossible(join(folder, name));
  }
}

/** What cannot be removed harms nobody. */
function removeIfPossible(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Another user's, or a folder.
  }
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{12}$/;
const HALF_MADE = /^\.pawl-[0-9a-f]{12}$/;
const HALF_MADE_FOR_MS = 60_000;
const LEFT_FOR_MS = 7 * 24 * 60 * 60_000;

function isOlderThan(file: string, ms: number): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > ms;
}

export function idOf(owner: string): string | null {
  const id = owner.split("/").at(-1) ?? "";
  return ID.test(id) ? id : null;
}

export function bootOf(id: string): string {
  return id.slice(0, NO_BOOT.length);
}

function judge(owner: string, id: string, answer: Answer): OwnerLiveness {
  if (answer === "accepted") return "alive";
  // A socket of another machine, or of an earlier boot, refuses everybody here.
  if (answer !== "refused" || bootOf(id) !== bootId() || bootOf(id) === NO_BOOT) return "unknown";
  return isSurelyGone(owner) ? "dead" : "unknown";
}

/**
 * Linux refuses only where nobody listens. Other systems refuse as well when a process that stands still has been knocked
 * at too often: there its process has to be gone, too. (On Linux it cannot be asked: containers have ids of their own.)
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

/** Sockets have short names: 103 bytes on some systems. */
const LONGEST_PATH = 100;

/** Listens under a name of the moment, and only then has the real one: nobody finds a socket that does not listen yet. */
async function listenAt(file: string, mode: number): ReturnType<Doorbell["listen"]> {
  const folder = dirname(file);
  const made = `.pawl-${randomBytes(6).toString("hex")}`;
  const server = createServer((connection) => connection.destroy());
  await throughShortPath(join(folder, made), async (path) => {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      // Exclusive: the primary process of a cluster would listen in place of its worker, and outlive it.
      server.listen({ path, exclusive: true }, resolve);
    });
    server.unref();
    // Who may not open the database need not know who has it.
    chmodSync(join(folder, made), mode);
    renameSync(join(folder, made), file);
  });
  // Somebody who cannot be accepted for want of descriptors is no reason to fall.
  server.on("error", () => undefined);
  return {
    close: async () => {
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function ringAt(file: string): Promise<Answer> {
  // Whatever is no socket refuses as well.
  if (statSync(file, { throwIfNoEntry: false })?.isSocket() !== true) return "unclear";
  return throughShortPath(
    file,
    (path) =>
      new Promise<Answer>((resolve) => {
        const socket = connect({ path });
        const end = (answer: Answer) => {
          socket.destroy();
          resolve(answer);
        };
        socket.once("connect", () => end("accepted"));
        socket.once("error", (error: NodeJS.ErrnoException) => end(ANSWERS[error.code ?? ""] ?? "unclear"));
      }),
  ).catch(() => "unclear");
}

const SOCKETS: Doorbell = { listen: listenAt, ring: ringAt };

/** A process that stands still, and that many have knocked at, lets them wait. */
const ANSWERS: { readonly [code: string]: Answer } = { ECONNREFUSED: "refused", EAGAIN: "accepted" };

/** Through a link to its folder, for the moment, where the path is too long for a socket. */
async function throughShortPath<T>(file: string, use: (path: string) => Promise<T>): Promise<T> {
  if (Buffer.byteLength(file) <= LONGEST_PATH) return use(file);
  const folder = mkdtempSync(join(tmpdir(), "pawl-"));
  try {
    const link = join(folder, "l");
    // The first name is short; one to be knocked at is linked to itself.
    const isNew = HALF_MADE.test(basename(file));
    symlinkSync(isNew ? dirname(file) : file, link);
    return await use(isNew ? join(link, basename(file)) : link);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
