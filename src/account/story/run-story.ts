import { requireRun } from "../../export/run-outline.ts";
import type { StoreReader } from "../../store/store.ts";
import { livesOf } from "./life.ts";
import { StoryLog } from "./story-log.ts";
import { type Timeline, type TimelineFacts, type TimelineWindow, timelineIn } from "./timeline.ts";

/** The part of a run in a window, read for this once. A server that is asked again keeps a `RunStory`. */
export function readTimeline(store: StoreReader, runId: string, window: TimelineWindow): Promise<Timeline> {
  return new RunStory(store, runId).timeline(window);
}

/**
 * The story of a run, for a page that asks for one window after another. The log is read once, and on from its last
 * event when the run has grown. A server keeps one for each run that is looked at.
 *
 * @example
 * const story = new RunStory(store, "q-1");
 * const all = await story.timeline({ now: Date.now() });
 * const start = await story.timeline({ now: Date.now(), to: all.bounds.from + 60_000, minMs: 100 });
 */
export class RunStory {
  readonly #store: StoreReader;
  readonly #runId: string;
  #log: { readonly createdAt: number; readonly story: StoryLog } | null = null;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(store: StoreReader, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /** A part of the run as it is now. Requests at the same time read the log one after the other, so that it is read once. */
  async timeline(window: TimelineWindow): Promise<Timeline> {
    const reading = this.#reading.then(() => this.#read(window.now));
    this.#reading = reading.catch(() => undefined);
    return timelineIn(await reading, window);
  }

  async #read(now: number): Promise<TimelineFacts> {
    try {
      return await this.#readOn(now);
    } catch (error) {
      // An event may have been read in part: the next request begins again.
      this.#log = null;
      throw error;
    }
  }

  /** The last event is asked for first, so that the run and its claims are at least as new. */
  async #readOn(now: number): Promise<TimelineFacts> {
    const progress = await this.#store.readProgress([this.#runId]);
    const run = await requireRun(this.#store, this.#runId);
    const attempts = await this.#store.listAttempts(this.#runId);
    const lastSeq = progress.get(this.#runId) ?? 0;
    const story = this.#storyOf(run.createdAt);
    await story.readOn(run, attempts, lastSeq);
    const lives = livesOf(run, story.chapters(run, attempts), now);
    const last = lives.at(-1);
    const end = last?.end ?? "released";
    const { slices, marks, waits } = story;
    const unfinished = story.unfinished(end === "open" ? now : (last?.lastSign ?? now), end);
    return { run, lastSeq: story.lastSeq, lives, slices, unfinished, marks, waits };
  }

  /** A run of the same id that was created later is another one. */
  #storyOf(createdAt: number): StoryLog {
    if (this.#log?.createdAt !== createdAt)
      this.#log = { createdAt, story: new StoryLog(this.#store, this.#runId) };
    return this.#log.story;
  }
}
