import { coarseMarks, coarseSlices } from "./coarse-timeline.ts";
import { byBeginning } from "./timeline.ts";
import type { TimelineBlock, TimelineMark, TimelineSlice } from "./timeline-items.ts";

/** A longer run is kept in less detail, so that memory has a limit: some 400 bytes each. */
const MOST_KEPT = 60_000;

/**
 * What has ended in a run so far. If it is too much, the shortest of it is merged, evenly over the whole run: each part of a long
 * run can still be looked at from near.
 */
export class KeptItems {
  #slices: (TimelineSlice | TimelineBlock)[] = [];
  #marks: TimelineMark[] = [];
  #isSorted = true;
  /** What is shorter than this was merged. The next time begins there. */
  #mergedMs = { slices: 0, marks: 0 };

  /** In the order of their beginnings. */
  get slices(): readonly (TimelineSlice | TimelineBlock)[] {
    // They come in the order of their ends.
    if (!this.#isSorted) this.#slices.sort(byBeginning);
    this.#isSorted = true;
    return this.#slices;
  }

  get marks(): readonly TimelineMark[] {
    return this.#marks;
  }

  addSlice(slice: TimelineSlice): void {
    this.#slices.push(slice);
    this.#isSorted = false;
    if (this.#slices.length <= MOST_KEPT) return;
    const { items, mergedBelowMs } = coarseSlices(this.slices, this.#mergedMs.slices, MOST_KEPT / 2, "even");
    this.#slices = [...items];
    this.#mergedMs.slices = mergedBelowMs;
  }

  addMark(mark: TimelineMark): void {
    this.#marks.push(mark);
    if (this.#marks.length <= MOST_KEPT) return;
    const { items, mergedBelowMs } = coarseMarks(this.#marks, this.#mergedMs.marks, MOST_KEPT / 2, "even");
    this.#marks = [...items];
    this.#mergedMs.marks = mergedBelowMs;
  }
}
