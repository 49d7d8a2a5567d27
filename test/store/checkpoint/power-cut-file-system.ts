import * as plain from "node:fs/promises";
import { basename, dirname } from "node:path";
import type {
  CheckpointFile,
  CheckpointFileStatus,
  CheckpointFileSystem,
} from "../../../src/store/checkpoint/checkpoint-file-system.ts";

/** The possible content of a directory after a power cut: the text of each file, or null for no directory at all. */
export type Remains = ReadonlyMap<string, string> | null;

/** The content of one file on the disk: `synced` is certain, `text` possible, or half of it. */
type Content = { text: string; synced: string };

/** A change of the directory that may not be on the disk yet. */
type Change = { readonly removed: string | null; readonly added: readonly [string, Content] | null };

/**
 * The real file system for one directory, which remembers what a power cut could leave. Only fsynced data is certain:
 * of the changes of the directory since its last fsync, any may be lost, in any order; of a file that was not
 * fsynced, nothing, half or all may be there.
 */
export class PowerCutFileSystem implements CheckpointFileSystem {
  readonly #directory: string;
  readonly #live = new Map<string, Content>();
  readonly #durable = new Map<string, Content>();
  #pending: Change[] = [];
  /** Parents that have to be synced before the directory itself is durable. */
  readonly #unsyncedParents = new Set<string>();
  #moments: Remains[] = [];

  constructor(directory: string) {
    this.#directory = directory;
    this.#unsyncedParents.add(dirname(directory));
  }

  /** Forgets the moments before this one. */
  watch(): void {
    this.#moments = [];
  }

  /** The possible states after a power cut at any moment since `watch`. */
  get atAnyMoment(): readonly Remains[] {
    return this.#moments;
  }

  /** The possible states after a power cut right now. */
  remains(): readonly Remains[] {
    const remains: Remains[] = subsetsOf(this.#pending).flatMap((changes) => {
      const entries = new Map(this.#durable);
      for (const change of changes) apply(change, entries);
      return textsOf(entries);
    });
    return this.#unsyncedParents.size === 0 ? remains : [...remains, null];
  }

  async open(path: string, flags: string | number, mode?: number): Promise<CheckpointFile> {
    const file = await plain.open(path, flags, mode);
    const isDirectory = (await file.stat()).isDirectory();
    const name = basename(path);
    if (flags === "wx") this.#change({ removed: null, added: [name, { text: "", synced: "" }] });
    return {
      readFile: () => file.readFile(),
      writeFile: async (text) => {
        await file.writeFile(text);
        this.#contentOf(name).text = text;
        this.#note();
      },
      sync: async () => {
        await file.sync();
        if (isDirectory) this.#syncDirectory(path);
        else this.#contentOf(name).synced = this.#contentOf(name).text;
        this.#note();
      },
      close: () => file.close(),
    };
  }

  async rename(from: string, to: string): Promise<void> {
    await plain.rename(from, to);
    this.#change({ removed: basename(from), added: [basename(to), this.#contentOf(basename(from))] });
  }

  async unlink(path: string): Promise<void> {
    await plain.unlink(path);
    this.#change({ removed: basename(path), added: null });
  }

  async mkdir(path: string, options: { recursive: true; mode: number }): Promise<string | undefined> {
    const first = await plain.mkdir(path, options);
    if (first !== undefined)
      for (let made = path; made.length >= first.length; made = dirname(made))
        this.#unsyncedParents.add(dirname(made));
    this.#note();
    return first;
  }

  chmod(path: string, mode: number): Promise<void> {
    return plain.chmod(path, mode);
  }

  lstat(path: string): Promise<CheckpointFileStatus> {
    return plain.lstat(path);
  }

  readdir(path: string): Promise<readonly string[]> {
    return plain.readdir(path);
  }

  #syncDirectory(path: string): void {
    this.#unsyncedParents.delete(path);
    if (path !== this.#directory) return;
    for (const change of this.#pending) apply(change, this.#durable);
    this.#pending = [];
  }

  #change(change: Change): void {
    apply(change, this.#live);
    this.#pending.push(change);
    this.#note();
  }

  #note(): void {
    this.#moments.push(...this.remains());
  }

  #contentOf(name: string): Content {
    const content = this.#live.get(name);
    if (content === undefined) throw new Error(`There is no file ${name}.`);
    return content;
  }
}

function apply({ removed, added }: Change, entries: Map<string, Content>): void {
  if (removed !== null) entries.delete(removed);
  if (added !== null) entries.set(...added);
}

function subsetsOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  return items.reduce<(readonly T[])[]>(
    (subsets, item) => [...subsets, ...subsets.map((subset) => [...subset, item])],
    [[]],
  );
}

/** Every way in which the contents of these files may have reached the disk. */
function textsOf(entries: ReadonlyMap<string, Content>): ReadonlyMap<string, string>[] {
  return [...entries].reduce<ReadonlyMap<string, string>[]>(
    (maps, [name, { text, synced }]) => {
      const texts = text === synced ? [text] : [synced, text.slice(0, text.length / 2), text];
      return maps.flatMap((map) => texts.map((each) => new Map([...map, [name, each]])));
    },
    [new Map()],
  );
}
