/** What the queue has to know of a call. */
export type Queued = {
  readonly callIndex: number;
  /** Runs while nothing else does. */
  readonly exclusive: boolean;
  /** The call before it that is after the same effect: only its outcome says whether this one runs. */
  readonly follows: number | null;
};

/** The calls of one turn that have something to do: which of them may begin, in their order, as others end. */
export class CallQueue<C extends Queued> {
  readonly #limit: number;
  readonly #active = new Map<number, C>();
  #waiting: C[];

  constructor(calls: readonly C[], limit: number) {
    this.#waiting = [...calls];
    this.#limit = limit;
  }

  /** Takes what may begin now. Nothing overtakes a call that has to be alone. */
  take(): readonly C[] {
    const taken: C[] = [];
    for (const call of this.#waiting) {
      if (this.#active.size >= this.#limit || this.#isTakenAlone()) break;
      if (call.exclusive && this.#active.size > 0) break;
      if (call.follows !== null && this.#isUnderWay(call.follows)) continue;
      taken.push(call);
      this.#active.set(call.callIndex, call);
    }
    this.#waiting = this.#waiting.filter((call) => !taken.includes(call));
    return taken;
  }

  end(callIndex: number): void {
    this.#active.delete(callIndex);
  }

  /** Whether nothing is under way and nothing waits. */
  get isDone(): boolean {
    return this.#active.size === 0 && this.#waiting.length === 0;
  }

  #isTakenAlone(): boolean {
    const [first] = this.#active.values();
    return first?.exclusive === true;
  }

  #isUnderWay(callIndex: number): boolean {
    return this.#active.has(callIndex) || this.#waiting.some((call) => call.callIndex === callIndex);
  }
}
