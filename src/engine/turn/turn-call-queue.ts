/** The facts about a call that the queue needs. */
export type QueuedCall = {
  readonly callIndex: number;
  /** True if it runs alone. */
  readonly exclusive: boolean;
  /** An earlier call of the turn for the same effect: its outcome decides whether this one runs. */
  readonly follows: number | null;
};

/** The calls of one turn that still have work to do, in call order. As calls end, it releases the next ones. */
export class CallQueue<C extends QueuedCall> {
  readonly #limit: number;
  readonly #active = new Map<number, C>();
  #waiting: C[];

  constructor(calls: readonly C[], limit: number) {
    this.#waiting = [...calls];
    this.#limit = limit;
  }

  /** Takes the calls that may begin now. No call overtakes an exclusive one. */
  take(): readonly C[] {
    const taken: C[] = [];
    for (const call of this.#waiting) {
      if (this.#active.size >= this.#limit || this.#isExclusiveActive()) break;
      if (call.exclusive && this.#active.size > 0) break;
      if (call.follows !== null && this.#isUnfinished(call.follows)) continue;
      taken.push(call);
      this.#active.set(call.callIndex, call);
    }
    this.#waiting = this.#waiting.filter((call) => !taken.includes(call));
    return taken;
  }

  end(callIndex: number): void {
    this.#active.delete(callIndex);
  }

  /** True if no call is running or waiting. */
  get isDone(): boolean {
    return this.#active.size === 0 && this.#waiting.length === 0;
  }

  #isExclusiveActive(): boolean {
    const [first] = this.#active.values();
    return first?.exclusive === true;
  }

  #isUnfinished(callIndex: number): boolean {
    return this.#active.has(callIndex) || this.#waiting.some((call) => call.callIndex === callIndex);
  }
}
