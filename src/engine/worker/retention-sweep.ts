import { parseDuration } from "../../core/job/duration.ts";
import { deleteRuns } from "../../store/delete-runs.ts";
import type { Store } from "../../store/store.ts";
import type { Retention } from "../definition/config.ts";
import type { Clock } from "../ports/clock.ts";

/** How often runs are deleted, and how many at a time: other work comes in between. */
const EVERY_MS = 30_000;
const AT_A_TIME = 50;

/** Deletes runs that ended longer ago than they are kept, some at a time. */
export class RetentionSweep {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #retention: Retention | null;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(store: Store, clock: Clock, retention: Retention | undefined) {
    this.#store = store;
    this.#clock = clock;
    this.#retention = retention ?? null;
  }

  /** Resolves to how many were deleted. */
  async sweep(): Promise<number> {
    if (this.#retention === null || this.#clock.monotonic() < this.#nextAt) return 0;
    const { runsOlderThan, statuses } = this.#retention;
    const endedBefore = this.#clock.now() - (parseDuration(runsOlderThan) ?? Number.POSITIVE_INFINITY);
    const why = `Runs are kept for ${runsOlderThan} (retention).`;
    const common = { endedBefore, why, limit: AT_A_TIME, by: { by: "retention" } };
    let deleted = 0;
    for (const status of statuses ?? [undefined])
      deleted += (await deleteRuns(this.#store, { ...common, ...(status === undefined ? {} : { status }) }))
        .runs;
    // There may be more of them.
    if (deleted < AT_A_TIME) this.#nextAt = this.#clock.monotonic() + EVERY_MS;
    return deleted;
  }
}
