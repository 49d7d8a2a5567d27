/**
 * - `stop`: the exchange is to end.
 * - `interrupt`: a message is to be in the request.
 */
export type CutReason = "stop" | "interrupt";

/** A model call was cut short for the sake of its conversation. It is settled, and the mailbox says what follows. */
export class ModelCut extends Error {
  readonly why: CutReason;

  constructor(why: CutReason) {
    super(why === "stop" ? "The exchange is to stop." : "A message interrupts the answer.");
    this.name = "AbortError";
    this.why = why;
  }
}

/**
 * Cuts the model calls of a conversation short. A request that comes while no model is asked is no longer there when the
 * next one is: the caller looks into the mailbox first.
 */
export class ModelCuts {
  readonly #listeners = new Set<(reason: ModelCut) => void>();
  #requested: CutReason | null = null;

  /** The last request since `begin`. A stop outweighs a message. */
  get requested(): CutReason | null {
    return this.#requested;
  }

  /** A turn begins: what was requested before is known from the mailbox. */
  begin(): void {
    this.#requested = null;
  }

  request(why: CutReason): void {
    if (this.#requested === "stop" || this.#requested === why) return;
    this.#requested = why;
    for (const listener of this.#listeners) listener(new ModelCut(why));
  }

  /** Calls back when the call is to be cut; returns a function that unsubscribes. */
  onCut(listener: (reason: ModelCut) => void): () => void {
    if (this.#requested !== null) listener(new ModelCut(this.#requested));
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  throwIfCut(): void {
    if (this.#requested !== null) throw new ModelCut(this.#requested);
  }

  throwIfStopped(): void {
    if (this.#requested === "stop") throw new ModelCut("stop");
  }
}
