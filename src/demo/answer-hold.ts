/** What the outside can be made to do. */
export type Effect = "page" | "upload" | "mail" | "notification";

/**
 * Stands in every service between having an effect and answering: the moment after which a client that dies cannot know
 * whether it happened. An answer is held back there when somebody waits for it.
 */
export class AnswerHold {
  #awaited: { readonly effect: Effect; readonly reached: (what: string) => void } | null = null;
  #held: (() => void)[] = [];

  /** Resolves once the next effect of this kind was had. Whoever asked for it gets no answer before `release`. */
  next(effect: Effect): Promise<string> {
    return new Promise((reached) => {
      this.#awaited = { effect, reached };
    });
  }

  /** Called by a service after the effect and before its answer. */
  async pass(effect: Effect, what: string): Promise<void> {
    if (this.#awaited?.effect !== effect) return;
    const { reached } = this.#awaited;
    this.#awaited = null;
    await new Promise<void>((letGo) => {
      this.#held.push(letGo);
      reached(what);
    });
  }

  /** Nobody waits any more, and every answer that was held back goes out. */
  release(): void {
    this.#awaited = null;
    for (const letGo of this.#held.splice(0)) letGo();
  }
}
