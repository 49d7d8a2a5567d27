import { RunMovedError } from "../../core/errors.ts";
import { assertRunId } from "../../core/step-path.ts";
import type { EventRecord, StoreReader } from "../../store/store.ts";
import type { Clock } from "../ports/clock.ts";
import { systemClock } from "../ports/system-clock.ts";
import { assertWatchOptions, leavable } from "./leavable.ts";
import { lastSeqOf } from "./present-cursor.ts";
import { RunFold } from "./run-fold.ts";
import { ShownParts } from "./shown-parts.ts";
import { Viewer } from "./viewer.ts";
import { assertKnown, BEGINNING, cursorOf, placeOf, type WatchPlace } from "./watch-cursor.ts";
import type { DurableWatchEvent, WatchEvent, WatchOptions } from "./watch-event.ts";
import { WatchHub } from "./watch-hub.ts";
import { draftsOf } from "./watched-facts.ts";
import type { WatchedRun } from "./watched-run.ts";

const EVENTS_AT_ONCE = 200;

/**
 * Watches a run from any process that can open its store, from its beginning or from the cursor of an event: what is
 * durable, in order, and between that the pieces of the answer that is being written. Ends after the run has ended. Leaving
 * it changes nothing.
 *
 * @example
 * const store = await openStore("file:./pawl.db", { readOnly: true });
 * for await (const event of watchRun(store, "q-1")) {
 *   if (event.type === "part" && event.kind === "text") process.stdout.write(event.delta);
 *   if (event.type === "attempt.withdrawn") console.log("(taken back)");
 *   if (event.type === "turn.committed") console.log(event.text);
 * }
 */
export function watchRun(
  store: StoreReader,
  runId: string,
  options: WatchOptions = {},
): AsyncGenerator<WatchEvent, void, undefined> {
  assertWatchOptions("third argument of watchRun", options);
  return leavable(options.signal, (over) => watchEvents({ store, runId }, options, systemClock, over));
}

/** What a viewer is given, until `over` aborts or the run has ended. */
export function watchEvents(
  run: WatchedRun,
  options: WatchOptions,
  clock: Clock,
  over: AbortSignal,
): AsyncGenerator<WatchEvent, void, undefined> {
  return new RunWatch(run, options, clock).events(over);
}

class RunWatch {
  readonly #run: WatchedRun;
  readonly #options: WatchOptions;
  readonly #hub: WatchHub;
  readonly #viewer: Viewer;
  readonly #shown: ShownParts;
  #fold = new RunFold();
  /** The last event that was read. */
  #seq = 0;

  constructor(run: WatchedRun, options: WatchOptions, clock: Clock) {
    this.#run = run;
    this.#options = options;
    this.#hub = WatchHub.of(run.store, clock);
    this.#viewer = new Viewer(run.runId, options.live !== false, () => clock.monotonic());
    this.#shown = new ShownParts(run.runId);
  }

  async *events(over: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    const { skip, lastSeq } = await this.#begin();
    if (this.#options.follow === false) {
      this.#viewer.deliver([], lastSeq);
      yield* this.#durable(skip, over);
      return;
    }
    const leave = this.#hub.join(this.#viewer);
    try {
      while (!over.aborted) {
        // Taken before the log is read: so the log has the attempt of each of them.
        const rows = this.#viewer.take();
        yield* this.#durable(skip, over);
        for (const event of this.#shown.show(rows, this.#fold)) {
          if (over.aborted) return;
          yield event;
        }
        if (this.#fold.isEnded) return;
        await this.#viewer.news(over);
      }
    } finally {
      leave();
    }
  }

  /** Checks the run and the cursor, and restores the state that the viewer had there. */
  async #begin(): Promise<{ readonly skip: WatchPlace; readonly lastSeq: number }> {
    const { store, runId } = this.#run;
    assertRunId(runId);
    const skip = this.#options.after === undefined ? BEGINNING : placeOf(runId, this.#options.after);
    // Rejects for a run that does not exist or was deleted.
    await store.listEvents(runId, { limit: 1 });
    const lastSeq = await lastSeqOf(store, runId);
    assertKnown(runId, skip, lastSeq);
    await this.#assertHere();
    this.#seq = Math.max(0, skip.seq - 1);
    this.#fold = await foldUpTo(this.#run, this.#seq);
    return { skip, lastSeq };
  }

  async #assertHere(): Promise<void> {
    const { store, runId } = this.#run;
    const run = await store.getRun(runId);
    if (run?.status !== "moved") return;
    const to = run.moved?.to ?? "";
    throw new RunMovedError(`Run ${runId} was moved to the store ${to}: watch it there.`, { runId, to });
  }

  /** Everything that the log has now, behind what was seen. */
  async *#durable(skip: WatchPlace, over: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    const { store, runId } = this.#run;
    while (this.#seq !== this.#viewer.lastSeq) {
      const events = await store.listEvents(runId, { after: this.#seq, limit: EVENTS_AT_ONCE });
      for (const event of events) {
        if (event.type === "run.moved") await this.#assertHere();
        for (const withdrawn of this.#shown.withdraw(this.#fold.apply(event))) yield withdrawn;
        this.#seq = event.seq;
        this.#shown.forgetClosed(this.#fold);
        this.#viewer.isHeld = this.#fold.isHeld;
        for await (const fact of this.#factsOf(event, skip)) {
          if (over.aborted) return;
          yield fact;
        }
      }
      if (events.length < EVENTS_AT_ONCE || over.aborted) return;
    }
  }

  async *#factsOf(event: EventRecord, skip: WatchPlace): AsyncGenerator<DurableWatchEvent, void, undefined> {
    const { runId } = this.#run;
    for (const [i, draft] of draftsOf(event).entries()) {
      const place = { seq: event.seq, index: i + 1 };
      if (place.seq < skip.seq || (place.seq === skip.seq && place.index <= skip.index)) continue;
      const fact = await draft(this.#run);
      if (fact !== null) yield { ...fact, runId, cursor: cursorOf(runId, place), at: event.at };
    }
  }
}

/** The state after an event. A claim settles everything before it, so the log is read backwards to the last one. */
async function foldUpTo({ store, runId }: WatchedRun, seq: number): Promise<RunFold> {
  const fold = new RunFold();
  const events: EventRecord[] = [];
  for (let last = seq; last > 0; last -= EVENTS_AT_ONCE) {
    const after = Math.max(0, last - EVENTS_AT_ONCE);
    const page = await store.listEvents(runId, { after, limit: last - after });
    const known = page.findLastIndex((event) => RunFold.isKnownAfter(event));
    events.unshift(...page.slice(Math.max(0, known)));
    if (known !== -1) break;
  }
  for (const event of events) fold.apply(event);
  return fold;
}
