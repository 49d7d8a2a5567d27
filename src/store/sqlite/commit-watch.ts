import { ReadyListeners } from "../sql/ready-listeners.ts";

/** How often the file is looked at: SQLite counts the commits of others, and reading that takes some microseconds. */
const EVERY_MS = 100;

/** Notices commits to a file: those of this process at once, those of others when it looks at the count of them. */
export class CommitWatch {
  readonly #listeners = new ReadyListeners();
  /** The number of commits of others so far; null if it cannot be read now. */
  readonly #count: () => number | null;
  #timer: NodeJS.Timeout | null = null;
  #last: number | null = null;

  constructor(count: () => number | null) {
    this.#count = count;
  }

  /** This process has committed something that concerns them. */
  announce(): void {
    this.#listeners.call();
  }

  watch(listener: () => void): () => void {
    const remove = this.#listeners.add(listener);
    this.#timer ??= this.#start();
    return () => {
      remove();
      if (this.#listeners.isEmpty) this.close();
    };
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #start(): NodeJS.Timeout {
    this.#last = this.#count();
    return setInterval(() => {
      const count = this.#count();
      if (count === null || count === this.#last) return;
      this.#last = count;
      this.#listeners.call();
    }, EVERY_MS);
  }
}
