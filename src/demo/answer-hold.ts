/** The effects that the job has on the services. */
export type DemoEffect = "page" | "upload" | "mail" | "notification";

/**
 * Sits in every service between an effect and its answer: the moment after which a client that dies cannot know whether
 * it happened. The answer is held back there if the demo has asked for it.
 */
export class AnswerHold {
  #awaited: { readonly effect: DemoEffect; readonly reached: (what: string) => void } | null = null;
  #held: (() => void)[] = [];

  /** Resolves after the next effect of this kind. Its client gets no answer before `release`. */
  next(effect: DemoEffect): Promise<string> {
    return new Promise((reached) => {
      this.#awaited = { effect, reached };
    });
  }

  /** Called by a service after the effect and before its answer. */
  async pass(effect: DemoEffect, what: string): Promise<void> {
    if (this.#awaited?.effect !== effect) return;
    const { reached } = this.#awaited;
    this.#awaited = null;
    await new Promise<void>((release) => {
      this.#held.push(release);
      reached(what);
    });
  }

  /** Sends every answer that was held back, and holds back no more. */
  release(): void {
    this.#awaited = null;
    for (const release of this.#held.splice(0)) release();
  }
}
