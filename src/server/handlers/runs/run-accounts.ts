import { type LostWork, readLostWork } from "../../../account/story/lost-work.ts";
import { RunStory } from "../../../account/story/run-story.ts";
import type { Clock } from "../../../engine/ports/clock.ts";
import { factsOf, numberIn, textIn } from "../../../export/event-facts.ts";
import { betweenPages } from "../../../export/record-pages.ts";
import type { EventRecord, StoreReader } from "../../../store/store.ts";

/** A run that a page shows: its story, and figures that take a look at all of its log. */
type SeenRun = {
  readonly story: RunStory;
  readonly figures: RunFigures;
};

/** What a run has done, counted from its log. */
export type RunCount = {
  readonly turns: number;
  /** The last turn that was committed. */
  readonly lastTurn: { readonly stepPath: string; readonly turnIndex: number } | null;
  readonly lostWork: LostWork;
};

/** A story of a long run has some megabytes. */
const MOST_RUNS = 32;
/** While a run grows, what was lost before is shown for so long. */
const FRESH_MS = 5_000;
const EVENTS_AT_ONCE = 500;

/** The accounts of the runs that were looked at last. Logs are read once, and on from their last event. */
export class RunAccounts {
  readonly #store: StoreReader;
  readonly #clock: Clock;
  /** In the order of their last use. */
  readonly #accounts = new Map<string, SeenRun>();

  constructor(store: StoreReader, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  storyOf(runId: string): RunStory {
    return this.#account(runId).story;
  }

  countsOf(runId: string, eventSeq: number): Promise<RunCount> {
    return this.#account(runId).figures.read(eventSeq, this.#clock.monotonic());
  }

  #account(runId: string): SeenRun {
    const account = this.#accounts.get(runId) ?? {
      story: new RunStory(this.#store, runId),
      figures: new RunFigures(this.#store, runId),
    };
    this.#accounts.delete(runId);
    this.#accounts.set(runId, account);
    const [oldest] = this.#accounts.keys();
    if (this.#accounts.size > MOST_RUNS && oldest !== undefined) this.#accounts.delete(oldest);
    return account;
  }
}

class RunFigures {
  readonly #store: StoreReader;
  readonly #runId: string;
  #turns = 0;
  #lastTurn: RunCount["lastTurn"] = null;
  /** The last event that was counted. */
  #seq = 0;
  #lost: { readonly seq: number; readonly at: number; readonly work: LostWork } | null = null;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(store: StoreReader, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /** One request after the other, so that no event is counted twice. */
  read(eventSeq: number, now: number): Promise<RunCount> {
    const reading = this.#reading.then(() => this.#readOn(eventSeq, now));
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #readOn(eventSeq: number, now: number): Promise<RunCount> {
    // A run of the same id that was created later is another one.
    if (eventSeq < this.#seq) {
      this.#seq = 0;
      this.#turns = 0;
      this.#lastTurn = null;
      this.#lost = null;
    }
    while (this.#seq < eventSeq) {
      const events = await this.#store.listEvents(this.#runId, { after: this.#seq, limit: EVENTS_AT_ONCE });
      const commits = events.filter(({ type }) => type === "turn.committed");
      this.#turns += commits.length;
      this.#lastTurn = committedTurn(commits.at(-1)) ?? this.#lastTurn;
      this.#seq = events.at(-1)?.seq ?? eventSeq;
      await betweenPages();
    }
    return { turns: this.#turns, lastTurn: this.#lastTurn, lostWork: await this.#readLost(eventSeq, now) };
  }

  async #readLost(seq: number, now: number): Promise<LostWork> {
    if (this.#lost !== null && (this.#lost.seq === seq || now - this.#lost.at < FRESH_MS))
      return this.#lost.work;
    const work = await readLostWork(this.#store, this.#runId);
    this.#lost = { seq, at: now, work };
    return work;
  }
}

function committedTurn(event: EventRecord | undefined): RunCount["lastTurn"] {
  if (event === undefined) return null;
  const facts = factsOf(event);
  const [stepPath, turnIndex] = [textIn(facts, "step"), numberIn(facts, "turn")];
  return stepPath === null || turnIndex === null ? null : { stepPath, turnIndex };
}
