import { LeaseLostError } from "../../core/errors.ts";
import type { Fence, Store } from "../../store/store.ts";
import type { Clock } from "../ports/clock.ts";

/** Both clocks at one moment. */
export type ClockReading = { readonly wall: number; readonly monotonic: number };

export function readClock(clock: Clock): ClockReading {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

/** A worker's lease, as seen by code that is about to cause an effect. */
export interface Lease {
  /** Called right before every effect; throws if another worker may have claimed the run. */
  assertHeld(): void;
}

/** The length of a lease, and the time of the claim. */
export type LeaseTime = {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly claimedAt: ClockReading;
};

/** A lease is renewed three times before it would expire. */
const RENEWALS_PER_LEASE = 3;

/**
 * Renews the lease of a run while a worker holds it. A worker that could not renew in time, by its wall clock or by its
 * monotonic clock, stops before its next effect: another worker may have claimed the run.
 */
export class LeaseKeeper implements Lease {
  readonly #store: Store;
  readonly #fence: Fence;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #onLost: (error: LeaseLostError) => void;
  readonly #stop: () => void;
  #renewedAt: ClockReading;
  #lost: LeaseLostError | null = null;

  constructor(
    store: Store,
    fence: Fence,
    { clock, leaseMs, claimedAt }: LeaseTime,
    onLost: (error: LeaseLostError) => void,
  ) {
    this.#store = store;
    this.#fence = fence;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#onLost = onLost;
    this.#renewedAt = claimedAt;
    this.#stop = clock.every(leaseMs / RENEWALS_PER_LEASE, () => void this.#renew());
  }

  assertHeld(): void {
    if (this.#lost !== null) throw this.#lost;
    const wall = this.#clock.now() - this.#renewedAt.wall;
    const monotonic = this.#clock.monotonic() - this.#renewedAt.monotonic;
    // Both clocks: a wall clock that was set back does not show the age of the lease, but the monotonic one does.
    if (Math.max(wall, monotonic) < this.#leaseMs) return;
    throw this.#lose(
      `Run ${this.#fence.runId}: the lease could not be renewed for ${Math.round(Math.max(wall, monotonic))} ms; another worker may have the run. Stopped before the next effect; resume it.`,
    );
  }

  stop(): void {
    this.#stop();
  }

  async #renew(): Promise<void> {
    // Read before the write, so that the lease in the store expires no earlier than assumed here.
    const renewedAt = readClock(this.#clock);
    try {
      await this.#store.renewLease(this.#fence, this.#leaseMs);
      if (this.#lost === null) this.#renewedAt = renewedAt;
    } catch (error) {
      // A store that is busy or full may work next time; the clocks decide when it is too late.
      if (LeaseLostError.isInstance(error)) this.#lose(error.message);
    }
  }

  #lose(message: string): LeaseLostError {
    this.#lost ??= new LeaseLostError(message, { runId: this.#fence.runId, epoch: this.#fence.epoch });
    this.stop();
    this.#onLost(this.#lost);
    return this.#lost;
  }
}
