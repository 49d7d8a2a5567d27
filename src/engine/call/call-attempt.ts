import { ABORT_GRACE_MS, type ActiveRun } from "../run/active-run.ts";
import { enforceNetwork } from "../run/network-enforcement.ts";

export type BoundedEnd =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  /** It does not listen to its signal; `late` is what it comes to, if ever. */
  | { readonly kind: "given_up"; readonly late: Promise<unknown> };

/** Work of a tool, within the hosts that it may reach, and with an end: told to stop when its time is up or the run stops, and given up on a moment later. */
export class BoundedAttempt {
  readonly #run: ActiveRun;
  readonly #stop = new AbortController();
  readonly #timers: (() => void)[];
  #giveUp: () => void = () => undefined;

  constructor(run: ActiveRun, limitMs: number) {
    this.#run = run;
    this.#timers = [
      run.time.clock.after(limitMs, () => this.#timeUp(limitMs)),
      // Cancelled or taken over: an effect under way is awaited all the same, up to its time.
      run.stop.onAbort((reason) => this.#stop.abort(reason)),
    ];
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  settle(work: () => unknown): Promise<BoundedEnd> {
    return new Promise((resolve) => {
      const end = (how: BoundedEnd) => {
        for (const cancel of this.#timers) cancel();
        resolve(how);
      };
      // In a function of its own, so that a tool that throws at once is a rejection like any other.
      const running = (async () => await enforceNetwork(this.#run.policy.rules, work))();
      this.#giveUp = () => end({ kind: "given_up", late: running });
      running.then(
        (value) => end({ kind: "returned", value }),
        (error: unknown) => end({ kind: "threw", error }),
      );
    });
  }

  #timeUp(limitMs: number): void {
    this.#stop.abort(new DOMException(`It took longer than ${Math.round(limitMs)} ms.`, "TimeoutError"));
    this.#timers.push(this.#run.time.clock.after(ABORT_GRACE_MS, () => this.#giveUp()));
  }
}
