import type { Incident, IncidentReader } from "./run-incidents.ts";
import type { Chapter, RunOutline } from "./run-outline.ts";
import {
  ChapterSlices,
  MAIN_LANE,
  type SliceListener,
  type TraceMark,
  type TraceSlice,
} from "./trace-slices.ts";

/** A slice inside which more slices than this have begun counts as long: its end is not waited for. */
const LONG = 64;

/**
 * The slices and marks of one attempt in the order in which they began. A slice is known when it ends, and the outer ones end
 * last: so the chapter is read once to find the few long ones, again for the slices, and again for the marks.
 */
export class TraceChapter {
  /** The lanes that it uses, in order. */
  readonly lanes: readonly number[];
  readonly #outline: RunOutline;
  readonly #chapter: Chapter;
  readonly #incidents: IncidentReader;
  readonly #long: ReadonlyMap<number, TraceSlice>;

  private constructor(
    outline: RunOutline,
    chapter: Chapter,
    incidents: IncidentReader,
    long: ReadonlyMap<number, TraceSlice>,
    lanes: ReadonlySet<number>,
  ) {
    this.#outline = outline;
    this.#chapter = chapter;
    this.#incidents = incidents;
    this.#long = long;
    this.lanes = [...lanes].sort((a, b) => a - b);
  }

  /** Afterwards `incidents` is at the start of the next chapter. */
  static async read(outline: RunOutline, chapter: Chapter, incidents: IncidentReader): Promise<TraceChapter> {
    const again = incidents.copy();
    const long = new Map<number, TraceSlice>();
    const lanes = new Set([MAIN_LANE]);
    const slices = new ChapterSlices(outline.run.runId, chapter, {
      onSlice: (order, slice) => {
        lanes.add(slice.lane);
        if (slices.begun - order > LONG) long.set(order, slice);
      },
    });
    for await (const incident of incidents.read(chapter)) slices.take(incident);
    slices.finish(chapter);
    return new TraceChapter(outline, chapter, again, long, lanes);
  }

  async *slices(): AsyncGenerator<TraceSlice, void, undefined> {
    const ended = new Map<number, TraceSlice>();
    let next = 0;
    const replay = this.#replay({
      onSlice: (order, slice) => {
        if (!this.#long.has(order)) ended.set(order, slice);
      },
    });
    for await (const _ of replay) {
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
    for await (const _ of this.#replay({ onMark: (mark) => marks.push(mark) })) yield* marks.splice(0);
  }

  /** Reads the chapter from its beginning; yields after each incident and once after its end. */
  async *#replay(listener: SliceListener): AsyncGenerator<Incident | null, void, undefined> {
    const slices = new ChapterSlices(this.#outline.run.runId, this.#chapter, listener);
    for await (const incident of this.#incidents.copy().read(this.#chapter)) {
      slices.take(incident);
      yield incident;
    }
    slices.finish(this.#chapter);
    yield null;
  }
}
