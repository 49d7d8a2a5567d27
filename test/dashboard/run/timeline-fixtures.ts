import type {
  Life,
  Slice,
  Timeline,
  TimelineWait,
} from "../../../dashboard/src/pages/run/timeline/timeline-documents.ts";

export function life(number: number, from: number, to: number): Life {
  return {
    number,
    epoch: number,
    owner: `web-1/41${number}/x`,
    startedAt: new Date(from).toISOString(),
    endedAt: new Date(to).toISOString(),
    end: "released",
    goneBy: null,
    endStatus: "waiting",
    resumedFrom: null,
    reason: null,
  };
}

export function slice(given: Partial<Slice> & Pick<Slice, "id">): Slice {
  return {
    life: 1,
    lane: 1,
    depth: 1,
    category: "step",
    name: given.id,
    start: 0,
    end: 1_000,
    isCut: false,
    isOpen: false,
    outcome: null,
    step: "main",
    turn: null,
    toolCallId: null,
    ...given,
  };
}

export function wait(waitId: string, start: number, end: number | null): TimelineWait {
  return { waitId, kind: "approval", toolCallId: null, status: "answered", start, end, people: ["ana"] };
}

export function timeline(given: Partial<Timeline>): Timeline {
  return {
    from: 0,
    to: 100_000,
    lives: [],
    livesLeftOut: 0,
    slices: [],
    merged: [],
    marks: [],
    waits: [],
    waitsLeftOut: 0,
    minMs: 0,
    eventSeq: 1,
    isLive: false,
    ...given,
  };
}
