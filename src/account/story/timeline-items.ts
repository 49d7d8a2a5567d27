import type { SlicePlace, TraceMark, TraceSlice } from "../../export/trace-slices.ts";
import type { WaitRecord } from "../../store/store.ts";
import type { LifeEnd } from "./life.ts";

// What is drawn of a run. Times are milliseconds since 1970.

/** Something that a worker did, with a duration. */
export type TimelineSlice = SlicePlace & {
  readonly kind: "slice";
  /** The number of the life that it belongs to. */
  readonly life: number;
  /** Parallel calls have a lane each. Slices on one lane are nested or follow each other. */
  readonly lane: number;
  readonly depth: number;
  readonly category: "step" | "turn" | "model" | "tool";
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** The status of a step or a receipt, the outcome of an attempt, the basis of a charge; null if there is none. */
  readonly outcome: string | null;
  /** Its worker is busy with it now. */
  readonly isOpen: boolean;
  /** Its worker died in it: how long it took is unknown. */
  readonly isCut: boolean;
};

/** Short slices of one lane and category that follow each other closely, as a count. */
export type TimelineBlock = {
  readonly kind: "block";
  readonly lane: number;
  readonly category: TimelineSlice["category"];
  readonly count: number;
  /** How many of them were cut. */
  readonly cut: number;
  readonly from: number;
  readonly to: number;
  readonly firstLife: number;
  readonly lastLife: number;
};

/** Something that happened at one moment; with a `count` above 1, several of a kind from `at` to `until`. */
export type TimelineMark = SlicePlace & {
  readonly kind: TraceMark["kind"];
  readonly name: string;
  readonly life: number;
  readonly at: number;
  readonly until: number;
  readonly count: number;
};

/** Something that the run waited for, or waits for. */
export type TimelineWait = Pick<WaitRecord, "waitId" | "toolCallId" | "status"> & {
  readonly waitKind: WaitRecord["kind"];
  readonly from: number;
  /** Null while it is open. */
  readonly to: number | null;
  /** Those who answered it. */
  readonly people: readonly string[];
};

/** The slice of a life that ended like this; null for the life itself, which is no slice of it. */
export function timelineSlice(life: number, slice: TraceSlice, lifeEnd: LifeEnd): TimelineSlice | null {
  const { category, lane, depth, name, start, end, place, outcome, isUnfinished } = slice;
  if (category === "attempt" || category === "wait") return null;
  return {
    kind: "slice",
    life,
    lane,
    depth,
    category,
    name,
    from: start,
    to: end,
    ...place,
    outcome,
    isOpen: isUnfinished && lifeEnd === "open",
    isCut: isUnfinished && lifeEnd === "died",
  };
}

export function timelineMark(life: number, { kind, name, at, place }: TraceMark): TimelineMark {
  return { kind, name, life, at, until: at, count: 1, ...place };
}

export function timelineWait(wait: WaitRecord): TimelineWait {
  const { waitId, toolCallId, status, kind, createdAt, answeredAt, people } = wait;
  return {
    waitId,
    toolCallId,
    status,
    waitKind: kind,
    from: createdAt,
    to: status === "open" ? null : (answeredAt ?? createdAt),
    people: people.map(({ name }) => name),
  };
}
