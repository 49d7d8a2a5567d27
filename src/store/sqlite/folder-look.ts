import { type BigIntStats, statSync } from "node:fs";

/** How far the clock of a file system may lag: a change within this time of the one before it may leave the same time. */
const COARSEST_TICK_NS = 100_000_000n;
const SECOND_NS = 1_000_000_000n;

/**
 * Remembers that the files of a folder were in place. Every change of a name in a folder changes the folder's own time, so
 * one look at the folder tells that they still are, and the files themselves are left alone: asking for the times of a file
 * makes the next write to it note an exact one (Linux from 6.13 on), and the next commit would wait for that, too.
 */
export class FolderLook {
  readonly #folder: string;
  /** The folder when its files were last found in place, if any later change in it will show. */
  #known: string | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Whether the files are in place: known if no name has changed, otherwise as `look` finds them. */
  isInPlace(look: () => boolean): boolean {
    // Before the files: what changes after this look shows in the next one.
    const stat = statOf(this.#folder);
    const state = stat === undefined ? null : `${idOf(stat)} ${stat.ctimeNs}`;
    if (state !== null && state === this.#known) return true;
    const isInPlace = look();
    this.#known = isInPlace && stat !== undefined && showsNextChange(stat) ? state : null;
    return isInPlace;
  }
}

/** Whether the next change gets another time: not within one tick of the last, nor where only seconds are kept. */
function showsNextChange({ ctimeNs }: BigIntStats): boolean {
  return ctimeNs % SECOND_NS !== 0n && BigInt(Date.now()) * 1_000_000n - ctimeNs > COARSEST_TICK_NS;
}

export function statOf(file: string): BigIntStats | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false });
}

/** Device and inode: another file of the same name is not this one. */
export function idOf({ dev, ino }: Pick<BigIntStats, "dev" | "ino">): string {
  return `${dev}:${ino}`;
}
