import type { Life } from "../../account/story/life.ts";
import { lifeReach } from "../../account/story/life.ts";
import type { Timeline } from "../../account/story/timeline.ts";
import type { TimelineBlock, TimelineMark, TimelineSlice } from "../../account/story/timeline-items.ts";
import { isoTime } from "../../export/figures.ts";

/** A window of a run's story, as the API shows it. */
export function timelineDocument(timeline: Timeline, now: number) {
  const { bounds, lives, livesLeftOut, slices, marks, waits, waitsLeftOut } = timeline;
  return {
    from: bounds.from,
    to: bounds.to,
    lives: lives.map((life) => lifeDocument(life, now)),
    livesLeftOut,
    slices: slices.flatMap((slice) => (slice.kind === "slice" ? [sliceDocument(slice)] : [])),
    merged: slices.flatMap((slice) => (slice.kind === "block" ? [mergedDocument(slice)] : [])),
    marks: marks.map(markDocument),
    waits: waits.map(({ waitId, waitKind, toolCallId, status, from, to, people }) => ({
      waitId,
      kind: waitKind,
      toolCallId,
      status,
      start: from,
      end: to,
      people,
    })),
    waitsLeftOut,
    minMs: timeline.mergedBelowMs,
    eventSeq: timeline.lastSeq,
    isLive: timeline.isLive,
  };
}

function lifeDocument(life: Life, now: number) {
  const { number, epoch, owner, startedAt, end, endStatus, diedBetween, resumedFrom, reason } = life;
  return {
    number,
    epoch,
    owner: owner.name,
    startedAt: isoTime(startedAt),
    endedAt: isoTime(lifeReach(life, now)),
    end,
    goneBy: isoTime(diedBetween?.to ?? null),
    endStatus,
    resumedFrom,
    reason,
  };
}

/** The id is the same in every window, so that a link to it stays right. */
function sliceDocument(slice: TimelineSlice) {
  const { life, lane, category, name, from, to, isCut, isOpen, outcome, step, turn, toolCallId } = slice;
  const place = toolCallId ?? `${step ?? ""}#${turn ?? 0}`;
  return {
    id: `${life}:${category}:${place}:${slice.attempt ?? 0}`,
    life,
    lane,
    depth: slice.depth,
    category,
    name,
    start: from,
    end: to,
    isCut,
    isOpen,
    outcome,
    step,
    turn,
    toolCallId,
  };
}

function mergedDocument({ firstLife, lastLife, lane, category, count, cut, from, to }: TimelineBlock) {
  return { life: firstLife, lastLife, lane, category, count, cut, start: from, end: to };
}

function markDocument({ life, kind, name, at, until, count, step, turn, toolCallId }: TimelineMark) {
  return { life, kind, name, at, until, count, step, turn, toolCallId };
}
