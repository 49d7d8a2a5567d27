import type { Chapter, RunOutline } from "./run-outline.ts";
import type { Incident, StoryTeller } from "./run-story.ts";
import {
  ChapterSlices,
  MAIN_LANE,
  type SliceListener,
  type TraceMark,
  type TraceSlice,
} from "./trace-slices.ts";

/** A slice that so many others have begun in is one whose end is not waited for. */
const LONG = 64;

/**
 * The slices and marks of one attempt in the order in which they began. A slice is known when it ends, and the outer ones end
 * last: the chapter is told once to know the few that are long, again for the slices, and again for the marks.
 */
export class TraceChapter {
  /** Where it is shown, in their order. */
  readonly lanes: readonly number[];
  readonly #outline: RunOutline;
  readonly #chapter: Chapter;
  readonly #teller: StoryTeller;
  readonly #long: ReadonlyMap<number, TraceSlice>;

  private constructor(
    outline: RunOutline,
    chapter: Chapter,
    teller: StoryTeller,
    long: ReadonlyMap<number, TraceSlice>,
    lanes: ReadonlySet<number>,
  ) {
    this.#outline = outline;
    this.#chapter = chapter;
    this.#teller = teller;
    this.#long = long;
    this.lanes = [...lanes].sort((a, b) => a - b);
  }

  /** The teller goes on with the next chapter from here. */
  static async read(outline: RunOutline, chapter: Chapter, teller: StoryTeller): Promise<TraceChapter> {
    const again = teller.copy();
    const long = new Map<number, TraceSlice>();
    const lanes = new Set([MAIN_LANE]);
    const slices = new ChapterSlices(outline.run.runId, chapter, {
      onSlice: (order, slice) => {
        lanes.add(slice.lane);
        if (slices.begun - order > LONG) long.set(order, slice);
      },
    });
    for await (const incident of teller.tell(chapter)) slices.take(incident);
    slices.finish();
    return new TraceChapter(outline, chapter, again, long, lanes);
  }

  async *slices(): AsyncGenerator<TraceSlice, void, undefined> {
    const ended = new Map<number, TraceSlice>();
    let next = 0;
    const told = this.#told({
      onSlice: (order, slice) => {
        if (!this.#long.has(order)) ended.set(order, slice);
      },
    });
    for await (const _ of told) {
      for (let slice = this.#long.get(next) ?? ended.get(next); slice !== undefined; ) {
        yield slice;
        ended.delete(next);
        next += 1;
        slice = this.#long.get(next) ?? ended.get(next);
      }
    }
  }

  async *marks(): AsyncGenerator<TraceMark, void, undefined> {
    const marks: TraceMark[] = [];
    for await (const _ of this.#told({ onMark: (mark) => marks.push(mark) })) yield* marks.splice(0);
  }

  /** The chapter from its beginning, with a step after each incident and one after its end. */
  async *#told(listener: SliceListener): AsyncGenerator<Incident | null, void, undefined> {
    const slices = new ChapterSlices(this.#outline.run.runId, this.#chapter, listener);
    for await (const incident of this.#teller.copy().tell(this.#chapter)) {
      slices.take(incident);
      yield incident;
    }
    slices.finish();
    yield null;
  }
}
