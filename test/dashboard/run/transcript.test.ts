import { describe, expect, test } from "vitest";
import { type LiveAnswer, liveAnswerAfter } from "../../../dashboard/src/pages/run/transcript/live-answer.ts";
import type {
  TranscriptDocument,
  TranscriptItem,
} from "../../../dashboard/src/pages/run/transcript/transcript-content.ts";
import {
  rowAt,
  rowsOf,
  withEarlier,
  withLater,
  withNewest,
} from "../../../dashboard/src/pages/run/transcript/transcript-pages.ts";

function item(seq: number, given: Partial<TranscriptItem> = {}): TranscriptItem {
  return {
    id: `${seq}.1`,
    kind: "assistant",
    at: "2026-11-16T12:00:00.000Z",
    seq,
    step: "main",
    turn: seq,
    isAbandoned: false,
    data: {},
    ...given,
  };
}

function page(items: readonly TranscriptItem[], before: string | null, after = "end"): TranscriptDocument {
  return { items: [...items], before, after, isNewest: true };
}

const known = { items: [item(4), item(5)], before: "4", after: "5" };
const ids = ({
  items,
}: { readonly items: readonly TranscriptItem[] } | { readonly items: readonly TranscriptItem[] }) =>
  items.map(({ seq }) => seq);

describe("the pages of a transcript", () => {
  test("are put in front of what is known, each item once", () => {
    const joined = withEarlier(known, page([item(2), item(3), item(4)], "2"));
    expect(ids(joined)).toEqual([2, 3, 4, 5]);
    expect(joined.before).toBe("2");
  });

  test("that are newer replace what has changed and add what is new", () => {
    const joined = withNewest(known, page([item(5, { data: { status: "succeeded" } }), item(6)], "5", "6"));
    expect(joined === null ? [] : ids(joined)).toEqual([4, 5, 6]);
    expect(joined?.items[1]?.data).toEqual({ status: "succeeded" });
    expect(joined).toMatchObject({ before: "4", after: "6" });
  });

  test("with a gap before them are not joined until the gap is read", () => {
    const newest = page([item(9)], "9", "9");
    expect(withNewest(known, newest)).toBeNull();
    const filled = withLater(known, page([item(6), item(7), item(8), item(9)], null, "9"));
    const joined = withNewest(filled, newest);
    expect(joined === null ? [] : ids(joined)).toEqual([4, 5, 6, 7, 8, 9]);
  });
});

describe("the rows of a transcript", () => {
  const items = [item(1), item(2, { isAbandoned: true }), item(3, { isAbandoned: true }), item(4)];

  test("fold what was abandoned until it is opened", () => {
    const folded = rowsOf(items, new Set());
    expect(folded.map(({ id }) => id)).toEqual(["1.1", "abandoned 2.1", "4.1"]);
    const open = rowsOf(items, new Set(["abandoned 2.1"]));
    expect(open.map(({ id }) => id)).toEqual(["1.1", "abandoned 2.1", "2.1", "3.1", "4.1"]);
  });

  test("are found by an item or by a turn", () => {
    const rows = rowsOf(items, new Set());
    expect(rowAt(rows, "4.1")).toBe(2);
    expect(rowAt(rows, "turn:main#4")).toBe(2);
    expect(rowAt(rows, "turn:other#4")).toBe(-1);
  });
});

describe("the answer that is being written", () => {
  const piece = { type: "part", step: "main", turn: 3, attempt: 1, part: 0, kind: "text" } as const;
  const written = (answer: LiveAnswer | null) => answer?.parts.map(({ text }) => text) ?? null;

  test("grows piece by piece, and each part on its own", () => {
    let answer = liveAnswerAfter(null, { ...piece, delta: "Hel" });
    answer = liveAnswerAfter(answer, { ...piece, delta: "lo" });
    answer = liveAnswerAfter(answer, { ...piece, part: 1, kind: "tool_input", tool: "search", delta: "{" });
    expect(written(answer)).toEqual(["Hello", "{"]);
    expect(answer?.parts[1]?.tool).toBe("search");
  });

  test("is gone when its attempt is withdrawn, and begins again with the next one", () => {
    const first = liveAnswerAfter(null, { ...piece, delta: "wrong" });
    expect(liveAnswerAfter(first, { ...piece, type: "attempt.withdrawn" })).toBeNull();
    expect(written(liveAnswerAfter(first, { ...piece, attempt: 2, delta: "right" }))).toEqual(["right"]);
    expect(liveAnswerAfter(first, { ...piece, attempt: 2, type: "attempt.withdrawn" })).toBe(first);
  });

  test("is gone when it is journaled, or another worker takes the run", () => {
    const answer = liveAnswerAfter(null, { ...piece, delta: "text" });
    expect(liveAnswerAfter(answer, { type: "turn.journaled", step: "main", turn: 3 })).toBeNull();
    expect(liveAnswerAfter(answer, { type: "turn.journaled", step: "main", turn: 2 })).toBe(answer);
    expect(liveAnswerAfter(answer, { type: "run.claimed" })).toBeNull();
  });
});
