import { ABORT_GRACE_MS, type RunWith } from "../run/active-run.ts";
import { enforceNetwork } from "../run/network-enforcement.ts";

type AttemptRun = RunWith<"time" | "stop" | "policy">;

export type BoundedEnd =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  /** The tool ignored its signal; `late` settles if it ever ends. */
  | { readonly kind: "given_up"; readonly late: Promise<unknown> };

/**
 * Runs a tool within its network rules and its time limit. Its signal aborts when the time is up or the run stops. A tool
 * that ignores its timeout is given up on after `ABORT_GRACE_MS`.
 */
export class BoundedAttempt {
  readonly #run: AttemptRun;
  readonly #stop = new AbortController();
  readonly #timers: (() => void)[];
  #giveUp: () => void = () => undefined;

  constructor(run: AttemptRun, limitMs: number) {
    this.#run = run;
    this.#timers = [
      run.time.clock.after(limitMs, () => this.#timeUp(limitMs)),
      // A run that is cancelled or lost still waits for the tool, up to its time limit.
      run.stop.onAbort((reason) => this.#stop.abort(reason)),
    ];
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  run(work: () => unknown): Promise<BoundedEnd> {
    return new Promise((resolve) => {
      const end = (how: BoundedEnd) => {
        for (const cancel of this.#timers) cancel();
        resolve(how);
      };
      // An async function, so that a tool that throws synchronously rejects like any other.
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
