const MEGABYTE = 1024 * 1024;

/** A larger message is none that anybody could use, and would be kept in memory until it ends. */
const LARGEST_MESSAGE = 10 * MEGABYTE;

/** All pages of a list of tools together: it is read in one go, and nothing else happens meanwhile. */
const LARGEST_LIST = MEGABYTE;

/** How much a server may send at a time. */
export class MessageLimit {
  /** What came since a list of tools was asked for; null while none is. */
  #listed: number | null = null;
  #wasExceeded = false;

  /** Whether a message of so many bytes, so far, may be taken. */
  allows(bytes: number): boolean {
    const isFine = bytes <= (this.#listed === null ? LARGEST_MESSAGE : LARGEST_LIST - this.#listed);
    if (!isFine) this.#wasExceeded = true;
    return isFine;
  }

  get wasExceeded(): boolean {
    return this.#wasExceeded;
  }

  received(bytes: number): void {
    if (this.#listed !== null) this.#listed += bytes;
  }

  /** What it did who sent more, as the end of a sentence. */
  get excess(): string {
    return this.#listed === null
      ? `sent a message of more than ${LARGEST_MESSAGE / MEGABYTE} MB`
      : `sent a list of tools of more than ${LARGEST_LIST / MEGABYTE} MB`;
  }

  async whileListing<T>(list: () => Promise<T>): Promise<T> {
    this.#listed = 0;
    try {
      return await list();
    } finally {
      this.#listed = null;
    }
  }
}
