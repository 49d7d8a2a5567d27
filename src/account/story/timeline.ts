import type { RunRecord } from "../../store/store.ts";
import { coarseMarks, coarseSlices } from "./coarse-timeline.ts";
import { type Life, lifeReach } from "./life.ts";
import type { TimelineBlock, TimelineMark, TimelineSlice, TimelineWait } from "./timeline-items.ts";

/** The part of a run that is drawn. Times are milliseconds since 1970. */
export type TimelineWindow = {
  readonly now: number;
  /** By default the beginning of the run. */
  readonly from?: number;
  /** By default the end of the run, or now if a worker has it. */
  readonly to?: number;
  /** Slices that are shorter than this are merged into counts; 0 by default, which merges none. */
  readonly minMs?: number;
  /** 1,500 by default. If there are more, shorter ones are merged. */
  readonly maxSlices?: number;
};

/** A part of a run, ready to be drawn. */
export type Timeline = {
  readonly runId: string;
  /** Of the whole run. */
  readonly bounds: { readonly from: number; readonly to: number };
  /** A worker has the run now. */
  readonly isLive: boolean;
  /** The last event that it covers. */
  readonly lastSeq: number;
  readonly lives: readonly Life[];
  /** How many of the shortest lives in the window are not listed. */
  readonly livesLeftOut: number;
  /** In the order of their beginnings. */
  readonly slices: readonly (TimelineSlice | TimelineBlock)[];
  /** Slices shorter than this were merged: more than was asked for, if there were too many. */
  readonly mergedBelowMs: number;
  readonly marks: readonly TimelineMark[];
  readonly waits: readonly TimelineWait[];
  readonly waitsLeftOut: number;
};

/** What is known of a run. Slices and marks are in the order of their beginnings. */
export type TimelineFacts = {
  readonly run: RunRecord;
  readonly lastSeq: number;
  readonly lives: readonly Life[];
  readonly slices: readonly (TimelineSlice | TimelineBlock)[];
  /** The slices of the last life that have not ended. */
  readonly unfinished: readonly TimelineSlice[];
  readonly marks: readonly TimelineMark[];
  readonly waits: readonly TimelineWait[];
};

const MOST_SLICES = 1_500;

/** Of lives, of waits and of marks: a page can draw no more of them. */
const MOST_BANDS = 500;

/** The part of a run in a window. */
export function timelineIn(facts: TimelineFacts, window: TimelineWindow): Timeline {
  const { run, lastSeq, lives } = facts;
  const { now, minMs = 0, maxSlices = MOST_SLICES } = window;
  const isLive = lives.at(-1)?.end === "open";
  const bounds = { from: run.createdAt, to: isLive ? Math.max(now, run.updatedAt) : run.updatedAt };
  const { from = bounds.from, to = bounds.to } = window;
  const isSeen = (start: number, end: number) => start <= to && end >= from;
  const seen = [...facts.slices, ...facts.unfinished].filter((slice) => isSeen(slice.from, slice.to));
  const slices = coarseSlices(seen.sort(byBeginning), minMs, maxSlices);
  const marks = facts.marks.filter((mark) => isSeen(mark.at, mark.until));
  const shownLives = longest(
    lives.filter((life) => isSeen(life.startedAt, lifeReach(life, now))),
    (life) => (life.end === "released" ? lifeReach(life, now) - life.startedAt : Number.POSITIVE_INFINITY),
  );
  const shownWaits = longest(
    facts.waits.filter((wait) => isSeen(wait.from, wait.to ?? now)),
    (wait) => (wait.to === null ? Number.POSITIVE_INFINITY : wait.to - wait.from),
  );
  return {
    runId: run.runId,
    bounds,
    isLive,
    lastSeq,
    lives: shownLives.items,
    livesLeftOut: shownLives.leftOut,
    slices: slices.items,
    mergedBelowMs: slices.mergedBelowMs,
    marks: coarseMarks(marks, minMs, MOST_BANDS).items,
    waits: shownWaits.items,
    waitsLeftOut: shownWaits.leftOut,
  };
}

export function byBeginning(one: { readonly from: number }, other: { readonly from: number }): number {
  return one.from - other.from;
}

/** The longest ones, in their order. A conversation may have thousands of lives, one for each message. */
function longest<T>(
  all: readonly T[],
  lengthOf: (item: T) => number,
): { readonly items: readonly T[]; readonly leftOut: number } {
  if (all.length <= MOST_BANDS) return { items: all, leftOut: 0 };
  const kept = new Set(all.toSorted((a, b) => byLength(lengthOf(a), lengthOf(b))).slice(0, MOST_BANDS));
  return { items: all.filter((item) => kept.has(item)), leftOut: all.length - kept.size };
}

/** The longer one first. Two lengths without an end are equal. */
function byLength(one: number, other: number): number {
  return one === other ? 0 : other - one;
}
