import { type KnownTranscript, withEarlier } from "./transcript-pages.ts";
import { PAGE, type ReadPage, readAgain, readNewest } from "./transcript-reading.ts";

/** What fails is asked for again after this time, until it is there. */
const AGAIN_MS = 5_000;

export type TranscriptState = {
  readonly known: KnownTranscript;
  readonly isRead: boolean;
  /** Why its end could not be read. What is known stays. */
  readonly error: Error | null;
  readonly isReadingEarlier: boolean;
  /** Why what is before could not be read. */
  readonly earlierError: Error | null;
};

/** Reads a transcript from its end backwards. What is known stays, and keeps its place. Outside of React. */
export class TranscriptReader {
  readonly #read: ReadPage;
  readonly #listeners = new Set<() => void>();
  #state: TranscriptState = {
    known: { items: [], before: null, after: null },
    isRead: false,
    error: null,
    isReadingEarlier: false,
    earlierError: null,
  };
  #isReading = false;
  /** It has moved while it was read. */
  #isStale = false;
  #isDoubted = false;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(read: ReadPage) {
    this.#read = read;
  }

  readonly state = (): TranscriptState => this.#state;

  /** Nothing is asked for again after the last one has left. */
  readonly onState = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#forgetAgain();
    };
  };

  /** Reads its end. One reader at a time: what moves while it reads makes it read again. */
  readonly follow = (): void => {
    if (this.#isReading) this.#isStale = true;
    else void this.#readWhileStale();
  };

  /** After a reset nothing that is known is certain: calls may have changed on any page. */
  readonly doubt = (): void => {
    this.#isDoubted = true;
    this.follow();
  };

  /** Reads the page before what is known. If that has failed, only `retry` asks again: a reader who scrolls would do so without an end. */
  readonly readEarlier = (): void => {
    const { isRead, isReadingEarlier, earlierError } = this.#state;
    if (isRead && !isReadingEarlier && earlierError === null) void this.#readBefore();
  };

  /** Asks again for what has failed. */
  readonly retry = (): void => {
    this.#forgetAgain();
    const { error, earlierError } = this.#state;
    if (error !== null) this.follow();
    if (earlierError === null) return;
    this.#change({ earlierError: null });
    this.readEarlier();
  };

  async #readWhileStale(): Promise<void> {
    this.#isReading = true;
    try {
      do {
        this.#isStale = false;
        await this.#readEnd();
        this.#change({ error: null, isRead: true });
      } while (this.#isStale);
    } catch (thrown) {
      this.#fail({ error: asError(thrown) });
    } finally {
      this.#isReading = false;
    }
  }

  async #readEnd(): Promise<void> {
    const wasDoubted = this.#isDoubted;
    this.#isDoubted = false;
    try {
      await (wasDoubted ? readAgain : readNewest)(
        () => this.#state.known,
        this.#read,
        (known) => this.#change({ known }),
      );
    } catch (thrown) {
      this.#isDoubted ||= wasDoubted;
      throw thrown;
    }
  }

  async #readBefore(): Promise<void> {
    const { before } = this.#state.known;
    if (before === null) return;
    this.#change({ isReadingEarlier: true });
    try {
      const page = await this.#read({ before, limit: PAGE });
      const { known } = this.#state;
      const isBefore = known.before === before;
      this.#change({ isReadingEarlier: false, ...(isBefore ? { known: withEarlier(known, page) } : {}) });
      // What was doubted is read again, and may begin elsewhere since.
      if (!isBefore) this.readEarlier();
    } catch (thrown) {
      this.#fail({ isReadingEarlier: false, earlierError: asError(thrown) });
    }
  }

  #fail(part: Partial<TranscriptState>): void {
    this.#change(part);
    if (this.#listeners.size > 0) this.#again ??= setTimeout(this.retry, AGAIN_MS);
  }

  #forgetAgain(): void {
    clearTimeout(this.#again);
    this.#again = undefined;
  }

  #change(part: Partial<TranscriptState>): void {
    this.#state = { ...this.#state, ...part };
    for (const listener of this.#listeners) listener();
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
