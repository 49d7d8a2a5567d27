import type { LiveState } from "../live/live-store.ts";

/** Notices waits that opened since it was made: those that were open before are no news, whenever the page hears of them. */
export class NewWaits {
  /** Null until the stream has said how many are open. */
  #known: number | null;

  constructor({ openWaits }: Pick<LiveState, "openWaits">) {
    this.#known = openWaits;
  }

  /** How many are open now, if that is more than before; else null. */
  more({ openWaits }: Pick<LiveState, "openWaits">): number | null {
    // The head of a run may come before the first number.
    if (openWaits === null) return null;
    const isMore = this.#known !== null && openWaits > this.#known;
    this.#known = openWaits;
    return isMore ? openWaits : null;
  }
}
