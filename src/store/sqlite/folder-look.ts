import { type BigIntStats, statSync } from "node:fs";

/** The coarsest clock of a file system: two changes within this time may get the same timestamp. */
const COARSEST_TICK_NS = 100_000_000n;
const SECOND_NS = 1_000_000_000n;

/**
 * Remembers that the files of a folder were in place. Every change of a name in a folder changes the folder's own
 * time, so one stat of the folder shows whether they still are, and the files themselves are left alone: asking for
 * the times of a file makes the next write to it record an exact one (Linux from 6.13 on), and the next commit would
 * wait for that, too.
 */
export class FolderLook {
  readonly #folder: string;
  /** The folder's stat when its files were last found in place, if any later change will show in it. */
  #known: string | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** True if the files are in place: known if no name has changed, otherwise as `look` finds them. */
  isInPlace(look: () => boolean): boolean {
    // Before the files: a change after this stat shows in the next one.
    const stat = statOf(this.#folder);
    const state = stat === undefined ? null : `${idOf(stat)} ${stat.ctimeNs}`;
    if (state !== null && state === this.#known) return true;
    const isInPlace = look();
    this.#known = isInPlace && stat !== undefined && showsNextChange(stat) ? state : null;
    return isInPlace;
  }
}

/** True if the next change gets a different time: not within one tick of the last, nor if only seconds are kept. */
function showsNextChange({ ctimeNs }: BigIntStats): boolean {
  return ctimeNs % SECOND_NS !== 0n && BigInt(Date.now()) * 1_000_000n - ctimeNs > COARSEST_TICK_NS;
}

export function statOf(file: string): BigIntStats | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false });
}

/** Device and inode: another file of the same name has a different id. */
export function idOf({ dev, ino }: Pick<BigIntStats, "dev" | "ino">): string {
  return `${dev}:${ino}`;
}
