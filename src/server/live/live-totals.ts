import type { StoreReader, Tombstone } from "../../store/store.ts";
import type { AccessScope } from "../principal.ts";
import { runFilterIn } from "../scope/run-filter.ts";
import { hasPipeline, scopeKey } from "../scope/run-scope.ts";
import type { LiveStream } from "./live-stream.ts";

/** Figures change with every commit. People read them once a second at the most. */
const EVERY_MS = 1_000;
/** Of runs that were deleted since the last look. More than this are noticed when they are looked for. */
const MOST_GONE = 100;

/**
 * What concerns all runs of a scope: how many there are, how many waits ask people, and which are gone. Read once for all
 * streams of the same scope, and sent if it has changed.
 */
export class LiveTotals {
  readonly #store: StoreReader;
  readonly #sent = new WeakMap<LiveStream, { readonly counts: string; readonly waits: string }>();
  #isStale = false;
  #mayBeGone = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #lastGone: Pick<Tombstone, "deletedAt" | "runId"> | null = null;

  constructor(store: StoreReader) {
    this.#store = store;
  }

  /** What is gone before now is no news. */
  async begin(): Promise<void> {
    const [last] = await this.#store.listTombstones({ limit: 1 });
    this.#lastGone = last ?? null;
  }

  /** The runs that were deleted last, for a page that was away: it ignores those that it does not show. */
  async newestGone(scope: AccessScope): Promise<readonly string[]> {
    const newest = await this.#store.listTombstones({ limit: MOST_GONE });
    return newest.filter((stone) => mayKnow(scope, stone)).map(({ runId }) => runId);
  }

  /** Runs have changed, or a stream is new. */
  expire(): void {
    this.#isStale = true;
  }

  /** Something was committed, perhaps a deletion: that is no change of a run. */
  lookForGone(): void {
    this.#mayBeGone = true;
  }

  async send(streams: readonly LiveStream[], now: number): Promise<void> {
    if (!(this.#isStale || this.#mayBeGone) || now - this.#readAt < EVERY_MS) return;
    this.#readAt = now;
    this.#mayBeGone = false;
    if (await this.#sendGone(streams)) this.#isStale = true;
    if (!this.#isStale) return;
    for (const group of Map.groupBy(streams, ({ scope }) => scopeKey(scope)).values())
      await this.#sendFigures(group);
    this.#isStale = false;
  }

  async #sendFigures(group: readonly LiveStream[]): Promise<void> {
    const scope = group[0]?.scope;
    const filter = scope === undefined ? null : runFilterIn(scope);
    if (scope === undefined || filter === null) return;
    const counts = await this.#store.countRuns(filter);
    const asking = await this.#store.listRunSummaries({ ...filter, needsPerson: true });
    const waits = { open: asking.reduce((sum, { openWaits }) => sum + openWaits, 0) };
    const sent = { counts: JSON.stringify(counts), waits: JSON.stringify(waits) };
    for (const stream of group) {
      const before = this.#sent.get(stream);
      this.#sent.set(stream, sent);
      if (before?.counts !== sent.counts) stream.send("counts", counts);
      if (before?.waits !== sent.waits) stream.send("waits", waits);
    }
  }

  /** True if there were any. */
  async #sendGone(streams: readonly LiveStream[]): Promise<boolean> {
    const newest = await this.#store.listTombstones({ limit: MOST_GONE });
    const last = this.#lastGone;
    const known = newest.findIndex((stone) => last !== null && !isLater(stone, last));
    const gone = known === -1 ? newest : newest.slice(0, known);
    this.#lastGone = newest[0] ?? null;
    for (const stone of gone.toReversed())
      for (const stream of streams)
        if (mayKnow(stream.scope, stone)) stream.send("gone", { runId: stone.runId });
    return gone.length > 0;
  }
}

function isLater(stone: Tombstone, other: Pick<Tombstone, "deletedAt" | "runId">): boolean {
  if (stone.deletedAt !== other.deletedAt) return stone.deletedAt > other.deletedAt;
  return stone.runId !== other.runId;
}

/** A tombstone has no labels, so a scope with labels hears of no deletion: its pages notice when they look for the run. */
function mayKnow(scope: AccessScope, { pipeline }: Tombstone): boolean {
  return hasPipeline(scope, pipeline) && Object.keys(scope.labels ?? {}).length === 0;
}
