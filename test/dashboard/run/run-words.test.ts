import { describe, expect, test } from "vitest";
import { typedJson } from "../../../dashboard/src/pages/run/json-field.ts";
import { AskedChunks } from "../../../dashboard/src/pages/run/log/asked-chunks.ts";
import { checkLink, chunksOf, isBehind, seqIn } from "../../../dashboard/src/pages/run/log/log-chunks.ts";
import {
  type ModelCall,
  spendPoints,
  thinned,
  turnSpends,
} from "../../../dashboard/src/pages/run/money/spending.ts";
import { type Forecast, forecastWords } from "../../../dashboard/src/pages/run/next/forecast-words.ts";

import { milestoneWords, resumePlaces } from "../../../dashboard/src/pages/run/next/resume-places.ts";

const FORECAST: Forecast = {
  runId: "q-1",
  status: "interrupted",
  eventSeq: 12,
  refusal: null,
  skipped: ["plan", "crawl[1]"],
  next: { step: "report", phase: "main", isBegun: true },
  accepts: null,
  turn: { index: 14, response: "replayed", mayCost: { tokens: 4_000, microDollars: 31_000 } },
  calls: [{ toolCallId: "q-1/report#14.1", tool: "send_email", action: "look_up" }],
  waits: [],
  later: ["review"],
};

describe("a forecast in words", () => {
  test("says what is skipped, replayed, looked up and asked, in the order in which it would happen", () => {
    expect(forecastWords(FORECAST)).toEqual([
      "skip plan, crawl[1]",
      "continue report",
      "replay turn 14 (not asked, not paid)",
      "look up send_email",
      "ask the model, at most $0.0310",
      "then review",
    ]);
  });

  test("counts what is many, and shows what nobody would see in a name", () => {
    const call = { toolCallId: "x", tool: "se\u202end", action: "run_again" };
    const words = forecastWords({
      ...FORECAST,
      skipped: Array.from({ length: 9 }, (_, index) => `s${index}`),
      turn: { index: 2, response: "asked", mayCost: null },
      calls: [call, call],
      waits: ["q-1~1"],
    });
    expect(words[0]).toBe("skip s0, s1, s2, s3 and 5 more");
    expect(words).toContain("run se\\u202end again (2×)");
    expect(words).toContain("ask the model for turn 2");
    expect(words).toContain("leave 1 question open");
  });
});

describe("the places to continue a run from", () => {
  const milestone = {
    checkpoint: 3,
    type: "milestone",
    stepPath: "crawl[2]",
    turnIndex: 14,
    at: "2026-01-01T00:00:00Z",
  };

  test("have its last milestone if it has one", () => {
    expect(resumePlaces({ milestone })).toEqual(["turn", "milestone", "beginning"]);
    expect(resumePlaces({ milestone: null })).toEqual(["turn", "beginning"]);
  });

  test("say which milestone that is: a turn of a step, or the end of a step or a phase", () => {
    expect(milestoneWords(milestone)).toBe("crawl[2], turn 14");
    expect(milestoneWords({ ...milestone, type: "step_boundary" })).toBe("the end of crawl[2]");
    expect(milestoneWords({ ...milestone, type: "phase_boundary" })).toBe(
      "the end of a phase, with crawl[2]",
    );
  });
});

describe("the log", () => {
  test("is fetched in parts that hold what is in sight; the last one grows", () => {
    expect(chunksOf(195, 205, 318)).toEqual([
      { after: 0, upTo: 200 },
      { after: 200, upTo: 318 },
    ]);
    expect(chunksOf(1, 1, 0)).toEqual([]);
  });

  test("is fetched again where it has grown, and only there", () => {
    const events = (count: number, after = 0) =>
      Array.from({ length: count }, (_, index) => ({ seq: after + index + 1 }));
    const [whole, last] = chunksOf(195, 205, 318);
    if (whole === undefined || last === undefined) throw new Error("There are not two chunks.");
    expect(isBehind(whole, events(200))).toBe(false);
    expect(isBehind(whole, events(150)), "it was the last one").toBe(true);
    expect(isBehind(last, events(117, 200))).toBe(true);
    expect(isBehind(last, events(118, 200))).toBe(false);
    expect(isBehind(last, events(119, 200)), "it is ahead of the head").toBe(false);
    expect(isBehind(last, [])).toBe(true);
  });

  test("is asked for again where a request failed, when that part comes back into sight", () => {
    const asked = new AskedChunks();
    const half = {
      chunk: { after: 0, upTo: 200 },
      held: Array.from({ length: 150 }, (_, i) => ({ seq: i + 1 })),
      isFetching: false,
    };
    const next = { chunk: { after: 200, upTo: 300 }, held: [{ seq: 300 }], isFetching: false };
    expect(asked.due([half])).toEqual([half.chunk]);
    expect(asked.due([{ ...half, isFetching: true }])).toEqual([]);
    expect(asked.due([half]), "it failed").toEqual([]);
    expect(asked.due([next])).toEqual([]);
    expect(asked.due([half, next])).toEqual([half.chunk]);
  });

  test("is the one of a link if the event has the same hash", () => {
    const link = { seq: 12, hash: "9f3c" };
    expect(checkLink(link, 20, "9f3c1d7e")).toEqual({ kind: "same", seq: 12 });
    expect(checkLink(link, 20, "aaaa1d7e")).toEqual({ kind: "other", seq: 12 });
    expect(checkLink(link, 11, undefined)).toEqual({ kind: "missing", seq: 12 });
    expect(checkLink({ seq: 12, hash: null }, 20, "9f3c")).toEqual({ kind: "none" });
    expect(checkLink({ seq: 12, hash: "" }, 20, "9f3c")).toEqual({ kind: "none" });
  });

  test("is jumped in by a number, as people write it", () => {
    expect([seqIn("318"), seqIn("#318"), seqIn("x"), seqIn("0"), seqIn(null)]).toEqual([
      318,
      318,
      null,
      null,
      null,
    ]);
  });
});

function modelCall(
  turnIndex: number,
  second: number,
  microDollars: number,
  basis: "provider" | "baseline" = "provider",
): ModelCall {
  return {
    stepPath: "main",
    turnIndex,
    attempt: 1,
    reserved: { tokens: 10, microDollars: 10 },
    charge: {
      basis,
      amount: { tokens: 1, microDollars },
      usage: { inputTokens: 5, outputTokens: 2, cachedInputTokens: 1, reasoningTokens: 0 },
    },
    openedAt: new Date(0).toISOString(),
    settledAt: new Date(second * 1_000).toISOString(),
  };
}

describe("the money of a run", () => {
  const open: ModelCall = { ...modelCall(2, 0, 0), charge: null, settledAt: null };
  const calls = [modelCall(1, 3, 100), modelCall(1, 1, 50, "baseline"), modelCall(2, 4, 10), open];

  test("adds up in the order in which requests were settled", () => {
    expect(spendPoints(calls, "microDollars")).toEqual([
      { at: 1_000, spent: 50 },
      { at: 3_000, spent: 150 },
      { at: 4_000, spent: 160 },
    ]);
  });

  test("is that of each turn, with what each figure is based on", () => {
    const [first, second] = turnSpends(calls);
    expect(first).toMatchObject({ turnIndex: 1, requests: 2, open: 0, bases: ["provider", "baseline"] });
    expect(first?.charged.microDollars).toBe(150);
    expect(second).toMatchObject({ turnIndex: 2, requests: 2, open: 1, bases: ["provider"] });
  });

  test("is drawn with fewer points that end at the same sum", () => {
    const points = Array.from({ length: 5_000 }, (_, index) => ({ at: index, spent: index }));
    const drawn = thinned(points, 400);
    expect(drawn.length).toBeLessThanOrEqual(401);
    expect(drawn.length).toBeGreaterThan(300);
    expect(drawn.at(-1)).toEqual({ at: 4_999, spent: 4_999 });
  });
});

test("what is typed as JSON is a value, or says what is wrong", () => {
  expect(typedJson('{"id": 1}')).toEqual({ kind: "value", value: { id: 1 } });
  expect(typedJson("null")).toEqual({ kind: "value", value: null });
  expect(typedJson(" ").kind).toBe("invalid");
  expect(typedJson("{id}").kind).toBe("invalid");
});
