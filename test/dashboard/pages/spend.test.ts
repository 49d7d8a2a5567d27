import { describe, expect, it } from "vitest";
import { type Spend, spendBars, spendQuery } from "../../../dashboard/src/pages/spend/spend-bars.ts";
import { axisWords, figureWords, shareWords } from "../../../dashboard/src/pages/spend/spend-words.ts";

const DAY = 86_400_000;
const NOON = Date.parse("2026-11-18T12:00:00.000Z");
const amount = (microDollars: number) => ({ tokens: microDollars / 10, microDollars });
const spent = (microDollars: number, requests = 1) => ({ charged: amount(microDollars), requests });

function bucket(at: string, pipeline: string | null, provider: number, baseline = 0) {
  return { at, pipeline, provider: spent(provider), baseline: spent(baseline, 0), none: spent(0, 0) };
}

function spendOf(part: Partial<Spend>): Spend {
  return {
    since: "2026-11-16T00:00:00.000Z",
    until: new Date(NOON).toISOString(),
    bucketMs: DAY,
    buckets: [],
    pipelines: [],
    costly: [],
    nearLimit: [],
    lostWork: amount(0),
    total: amount(0),
    ...part,
  };
}

describe("the query of a period", () => {
  it("has as many bars as the period names, the last one being now's", () => {
    const { since, bucketMs } = spendQuery("7d", NOON);
    expect([since, bucketMs]).toEqual(["2026-11-12T00:00:00.000Z", DAY]);
  });

  it("asks for hours of the last day", () => {
    expect(spendQuery("24h", NOON).since).toBe("2026-11-17T13:00:00.000Z");
  });
});

describe("the bars of spend", () => {
  it("are one for each day, also for days on which no model was asked", () => {
    const { bars } = spendBars(
      spendOf({ buckets: [bucket("2026-11-17T00:00:00.000Z", null, 70, 30)] }),
      "basis",
      "money",
    );
    expect(bars.map(({ at, values, requests }) => [at.slice(0, 10), values, requests])).toEqual([
      ["2026-11-16", [0, 0, 0], 0],
      ["2026-11-17", [70, 30, 0], 1],
      ["2026-11-18", [0, 0, 0], 0],
    ]);
  });

  it("are made of the pipelines that cost most, and of all others together", () => {
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    const { series, bars } = spendBars(
      spendOf({
        pipelines: names.map((pipeline, at) => ({ pipeline, charged: amount(100 - at), requests: 1 })),
        buckets: names.map((name) => bucket("2026-11-18T00:00:00.000Z", name, 10)),
      }),
      "pipeline",
      "money",
    );
    expect(series).toEqual(["a", "b", "c", "d", "e", "others"]);
    expect(bars.at(-1)?.values).toEqual([10, 10, 10, 10, 10, 20]);
  });

  it("are in tokens where there is no money", () => {
    const { bars } = spendBars(
      spendOf({ buckets: [bucket("2026-11-18T00:00:00.000Z", null, 70)] }),
      "basis",
      "tokens",
    );
    expect(bars.at(-1)?.values).toEqual([7, 0, 0]);
  });
});

describe("the words of spend", () => {
  it("have the digits that say something", () => {
    expect([
      figureWords(131_561_234, "money"),
      figureWords(42_100, "money"),
      figureWords(1_234, "tokens"),
    ]).toEqual(["$131.56", "$0.0421", "1,234"]);
  });

  it("have the same digits at all ticks of an axis", () => {
    expect([0, 5_000_000, 10_000_000].map((tick) => axisWords(tick, 5_000_000, "money"))).toEqual([
      "$0",
      "$5",
      "$10",
    ]);
    expect([0, 500_000].map((tick) => axisWords(tick, 500_000, "money"))).toEqual(["$0.00", "$0.50"]);
  });

  it("never call a part of something nothing, or all", () => {
    expect([
      shareWords(0, 0),
      shareWords(1, 10_000),
      shareWords(9_999, 10_000),
      shareWords(43, 1_000),
    ]).toEqual(["0 %", "< 0.1 %", "> 99.9 %", "4.3 %"]);
  });
});
