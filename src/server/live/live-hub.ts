import { isInScope } from "../../core/access/scope.ts";
import { PawlError } from "../../core/errors.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import { isoTime } from "../../export/figures.ts";
import type {
  EventRecord,
  RunChangeCursor,
  RunSummary,
  ShownStatus,
  StoreReader,
} from "../../store/store.ts";
import { runHeadDocument } from "../documents/run-head-document.ts";
import type { AccessScope } from "../principal.ts";
import type { LivePlace } from "./live-place.ts";
import { type FollowedRun, LiveStream, type NamedEvent } from "./live-stream.ts";
import { LiveTotals } from "./live-totals.ts";
import { RunningRuns } from "./running-runs.ts";

export type LiveHubParts = {
  readonly store: StoreReader;
  readonly clock: Clock;
  readonly version: string;
  readonly instance: string;
};

/** What a stream is opened for. */
export type LiveRequest = {
  readonly scope: AccessScope;
  /** The run whose log it has too. The caller has checked that it is in the scope. */
  readonly run: FollowedRun | null;
  /** Where a stream before this one ended; null for a new one. */
  readonly place: LivePlace | null;
};

/** A stream to read, and what to call once its reader has gone. */
export type OpenStream = {
  readonly events: AsyncGenerator<string, void, undefined>;
  readonly leave: () => void;
};

/** A page that was gone for longer than this many changes fetches everything again. */
const MOST_CHANGES = 1_000;
const EVENTS_AT_ONCE = 200;
/** Where a look costs next to nothing, since the file says whether it has changed. */
const FILE_MS = 100;
/** Where each look is a query; and after one that failed. */
const SERVER_MS = 250;

/**
 * Looks at the store for all streams of the server: their number does not change what that costs. Everything comes from the
 * store, so it does not matter which process works on a run, and a server that is started again continues where its pages are.
 */
export class LiveHub {
  readonly #parts: LiveHubParts;
  readonly #streams = new Set<LiveStream>();
  /** Streams that are being opened. */
  #opening = 0;
  #cursor: Promise<RunChangeCursor> | null = null;
  #seen: number | null = null;
  #cancelTimer: (() => void) | null = null;
  #isLooking = false;
  #running = new RunningRuns();
  readonly #totals: LiveTotals;
  /** Pages of logs that are being read: streams that follow the same run share them. */
  readonly #pages = new Map<string, Promise<readonly EventRecord[]>>();

  constructor(parts: LiveHubParts) {
    this.#parts = parts;
    this.#totals = new LiveTotals(parts.store);
  }

  /** Opens a stream. The caller calls `leave` also if nobody reads it. */
  async open({ scope, run, place }: LiveRequest): Promise<OpenStream> {
    this.#opening += 1;
    try {
      const stream = new LiveStream(scope, await this.#begin());
      if (run !== null) await this.#follow(stream, run);
      this.#streams.add(stream);
      this.#totals.expire();
      await this.#greet(stream, place);
      this.#lookLater(0);
      return {
        events: stream.events((runId, after) => this.#readLog(runId, after)),
        leave: () => this.#leave(stream),
      };
    } finally {
      this.#opening -= 1;
      this.#restIfUnread();
    }
  }

  #leave(stream: LiveStream): void {
    stream.end();
    this.#streams.delete(stream);
    this.#restIfUnread();
  }

  /** Without a stream there is no look. The next one begins with the present, also after one that could not be opened. */
  #restIfUnread(): void {
    if (this.#streams.size > 0 || this.#opening > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#cursor = null;
  }

  /** The cursor of the hub. The first stream begins with the present. */
  #begin(): Promise<RunChangeCursor> {
    this.#cursor ??= this.#beginAgain().catch((error: unknown) => {
      this.#cursor = null;
      throw error;
    });
    return this.#cursor;
  }

  async #beginAgain(): Promise<RunChangeCursor> {
    const { store, clock } = this.#parts;
    this.#seen = store.commitsSeen();
    const { cursor } = await store.listChangedRuns({ after: null, limit: 1 });
    this.#running = new RunningRuns();
    for (const run of await listRunning(store)) this.#running.note(run, clock.now());
    await this.#totals.begin();
    return cursor;
  }

  async #follow(stream: LiveStream, run: FollowedRun): Promise<void> {
    const progress = await this.#parts.store.readProgress([run.runId]);
    stream.follow(run, progress.get(run.runId) ?? 0);
  }

  /**
   * What the page missed comes first, and what came while that was read after it. The place that it gave is only looked up:
   * every id is a cursor of the store, also if the text that was given is none.
   */
  async #greet(stream: LiveStream, place: LivePlace | null): Promise<void> {
    const { store, clock, version, instance } = this.#parts;
    const hello: NamedEvent = ["hello", { version, instance, asOf: isoTime(clock.now()) }];
    if (place === null) {
      stream.sendUpTo(await this.#begin(), [hello]);
      return;
    }
    stream.hold();
    try {
      const {
        runs,
        cursor: end,
        isReset,
      } = await store.listChangedRuns({
        after: place.cursor,
        limit: MOST_CHANGES,
      });
      stream.release(end, [hello, ...(isReset ? [RESET] : await this.#missedBy(stream, runs))]);
    } catch (error) {
      this.#leave(stream);
      throw error;
    }
  }

  /** That a worker has died or a run was deleted is no change of a run: a page that was away hears of all of them. */
  async #missedBy(stream: LiveStream, changed: readonly RunSummary[]): Promise<readonly NamedEvent[]> {
    const { store, clock } = this.#parts;
    const known = new Set(changed.map(({ runId }) => runId));
    const dead = (await listRuns(store, ["interrupted"])).filter(({ runId }) => !known.has(runId));
    const heads = [...changed, ...dead].map((run) => ({ run, head: runHeadDocument(run, clock.now()) }));
    const gone = await this.#totals.newestGone(stream.scope);
    return [...headsFor(stream, heads), ...gone.map((runId): NamedEvent => ["gone", { runId }])];
  }

  #lookLater(ms: number): void {
    if (this.#streams.size === 0 || this.#isLooking) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#parts.clock.after(ms, () => {
      this.#cancelTimer = null;
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    let ms = FILE_MS;
    try {
      const commits = this.#parts.store.commitsSeen();
      if (commits === null) ms = SERVER_MS;
      // Read before what it counts: what is committed meanwhile shows in the next one.
      if (commits === null || commits !== this.#seen) {
        this.#totals.lookForGone();
        await this.#readChanges();
      }
      this.#seen = commits;
      await this.#readLeases();
      await this.#totals.send([...this.#streams], this.#parts.clock.monotonic());
    } catch (error) {
      // The store does not answer. Pages keep what they have, and nothing is lost: the cursor stays where it is.
      this.#seen = null;
      ms = SERVER_MS;
      // Anything else would come again with every look: pages see it when they open another stream.
      if (!PawlError.isInstance(error) || !error.recoverable)
        for (const stream of this.#streams) stream.fail(error);
    } finally {
      this.#isLooking = false;
      this.#lookLater(ms);
    }
  }

  async #readChanges(): Promise<void> {
    const { store, clock } = this.#parts;
    const before = this.#begin();
    const { runs, cursor, isReset } = await store.listChangedRuns({
      after: await before,
      limit: MOST_CHANGES,
    });
    // The last stream was closed meanwhile: the next one begins with the present.
    if (this.#cursor !== before) return;
    this.#cursor = Promise.resolve(cursor);
    if (runs.length === 0 && !isReset) return;
    this.#totals.expire();
    const now = clock.now();
    for (const run of runs) this.#running.note(run, now);
    const heads = runs.map((run) => ({ run, head: runHeadDocument(run, now) }));
    for (const stream of this.#streams) {
      stream.sendUpTo(cursor, isReset ? [RESET] : headsFor(stream, heads));
      const own = runs.find(({ runId }) => runId === stream.runId);
      if (own !== undefined) stream.logGrew(own.eventSeq);
    }
  }

  /** Runs whose workers have died, and renewals. */
  async #readLeases(): Promise<void> {
    const { store, clock } = this.#parts;
    if (!this.#running.isDue(clock.now())) return;
    const running = await listRunning(store);
    const now = clock.now();
    for (const run of this.#running.update(running, now)) {
      this.#running.note(run, now);
      this.#totals.expire();
      const head = runHeadDocument(run, now);
      for (const stream of this.#streams) if (isInScope(stream.scope, run)) stream.send("head", head);
    }
  }

  #readLog(runId: string, after: number): Promise<readonly EventRecord[]> {
    const key = `${after} ${runId}`;
    const known = this.#pages.get(key);
    if (known !== undefined) return known;
    const page = this.#parts.store.listEvents(runId, { after, limit: EVENTS_AT_ONCE });
    this.#pages.set(key, page);
    const forget = () => this.#pages.delete(key);
    page.then(forget, forget);
    return page;
  }
}

const RESET: NamedEvent = ["reset", { why: "More has changed than is remembered: fetch everything again." }];

type Head = { readonly run: RunSummary; readonly head: ReturnType<typeof runHeadDocument> };

function headsFor({ scope }: LiveStream, heads: readonly Head[]): readonly NamedEvent[] {
  return heads.filter(({ run }) => isInScope(scope, run)).map(({ head }) => ["head", head]);
}

/** All runs that workers hold or have left. */
function listRunning(store: StoreReader): Promise<readonly RunSummary[]> {
  return listRuns(store, ["running", "interrupted"]);
}

async function listRuns(store: StoreReader, status: readonly ShownStatus[]): Promise<readonly RunSummary[]> {
  const running: RunSummary[] = [];
  for (let after: RunSummary | undefined; ; ) {
    const page = await store.listRunSummaries({
      status,
      ...(after === undefined ? {} : { after }),
    });
    running.push(...page);
    after = page.at(-1);
    if (page.length < 1_000) return running;
  }
}
