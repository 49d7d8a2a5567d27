import { describe, expect, test } from "vitest";
import {
  type LiveAnswer,
  liveAnswerAfter,
  showAnswer,
} from "../../../dashboard/src/pages/run/transcript/live-answer.ts";
import {
  jsonDocument,
  type TranscriptDocument,
  type TranscriptItem,
} from "../../../dashboard/src/pages/run/transcript/transcript-content.ts";
import { contentOf } from "../../../dashboard/src/pages/run/transcript/transcript-forms.ts";
import {
  type KnownTranscript,
  rowAt,
  rowsOf,
  withEarlier,
  withLater,
  withNewest,
} from "../../../dashboard/src/pages/run/transcript/transcript-pages.ts";
import {
  readAgain,
  readNewest,
  type TranscriptPlace,
} from "../../../dashboard/src/pages/run/transcript/transcript-reading.ts";

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

describe("a transcript that is read again after a reset", () => {
  /** A stored transcript of these items, read in pages of three. */
  function stored(items: readonly TranscriptItem[]) {
    return ({ before }: TranscriptPlace) => {
      const end = before === undefined ? items.length : items.findIndex(({ id }) => id === before);
      const start = Math.max(0, end - 3);
      const cursor = start === 0 ? null : (items[start]?.id ?? null);
      return Promise.resolve(page(items.slice(start, end), cursor, "end"));
    };
  }

  test("is what is stored, as far back as it was read, and what was changed or lost is gone", async () => {
    const items = Array.from({ length: 9 }, (_, at) => item(at + 1, { data: { status: "succeeded" } }));
    const old = { items: [item(4), item(5), item(6), item(7), item(99)], before: "4.1", after: "old" };
    const learned: KnownTranscript[] = [];
    await readAgain(
      () => old,
      stored(items),
      (next) => learned.push(next),
    );
    expect(learned).toEqual([{ items: items.slice(3), before: "4.1", after: "end" }]);
  });

  test("would keep what is on screen if only its newest page was read", async () => {
    const items = Array.from({ length: 9 }, (_, at) => item(at + 1, { data: { status: "succeeded" } }));
    let now: KnownTranscript = { items: [item(6), item(7)], before: "6.1", after: "7" };
    await readNewest(
      () => now,
      stored(items),
      (next) => {
        now = next;
      },
    );
    expect(now.items.map(({ data }) => data)).toEqual([{}, ...Array(3).fill({ status: "succeeded" })]);
  });
});

describe("an answer that is JSON", () => {
  const shown = (text: string, characters = text.length) => jsonDocument({ text, characters });

  test("is shown as JSON if all of it is an object or a list", () => {
    expect(shown(' {"url":"https://a.example"}\n')).toEqual({ url: "https://a.example" });
    expect(shown("[1, 2]")).toEqual([1, 2]);
  });

  test("is text if it is a word, has words around it, or is not known to its end", () => {
    for (const text of ["12", "null", '"a"', "{a}", '{"a":1} is it', "[link](https://a.example)", ""])
      expect(shown(text)).toBeNull();
    expect(shown("[1, 2]", 900)).toBeNull();
  });
});

describe("what an item is about", () => {
  const call = {
    toolCallId: "q-1/main#1.1",
    tool: "send",
    effect: "external",
    recovery: "ask",
    status: "succeeded",
    attempt: 1,
    request: { kind: "whole", value: { to: "anna" } },
    result: null,
  };
  const parts = [
    { kind: "text", text: { text: "Hi.", characters: 3 } },
    { kind: "call", call },
  ];

  test("is read by its kind", () => {
    expect(contentOf(item(1, { data: { parts } }))).toEqual({ kind: "assistant", parts });
    expect(contentOf(item(1, { kind: "dropped", data: {} }))).toEqual({ kind: "dropped" });
  });

  test.each([
    {},
    { parts: "Hi." },
    { parts: [{ kind: "text", text: "Hi." }] },
    { parts: [{ kind: "call", call: { ...call, request: null } }] },
    { parts: [{ kind: "call", call: { ...call, result: { value: 1 } } }] },
    { parts: [{ kind: "picture" }] },
    null,
    "text",
  ])("is not known if a newer server has sent another form: %j", (data) => {
    expect(contentOf(item(1, { data }))).toBeNull();
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

  test("is shown no more when it is not watched any more, half as it is", async () => {
    async function* watched() {
      yield { ...piece, delta: "Hal" };
      yield { ...piece, delta: "f" };
      throw new DOMException("The tab is hidden.", "AbortError");
    }
    const shown: (readonly string[] | null)[] = [];
    await showAnswer(watched(), (answer) => shown.push(written(answer)));
    expect(shown).toEqual([["Hal"], ["Half"], null]);
  });
});
