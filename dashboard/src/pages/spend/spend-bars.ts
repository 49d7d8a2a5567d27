import type { Answer } from "../../api/client.ts";
import type { Amount } from "../../api/documents.ts";
import { MOST_SERIES } from "../../parts/charts/chart-scale.ts";

export type Spend = Answer<"getSpend">;

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** How far back is looked, in bars of a day; the last day in hours. */
export const PERIODS = {
  "24h": { bucketMs: HOUR_MS, count: 24, words: "24 hours" },
  "7d": { bucketMs: DAY_MS, count: 7, words: "7 days" },
  "30d": { bucketMs: DAY_MS, count: 30, words: "30 days" },
  "90d": { bucketMs: DAY_MS, count: 90, words: "90 days" },
} as const;
export type Period = keyof typeof PERIODS;
export const PERIOD_NAMES = Object.keys(PERIODS) as Period[];

/** The query of a period that ends with the bar of now. */
export function spendQuery(period: Period, now: number) {
  const { bucketMs, count } = PERIODS[period];
  const last = now - (now % bucketMs);
  return { since: new Date(last - (count - 1) * bucketMs).toISOString(), bucketMs };
}

export const UNITS = ["money", "tokens"] as const;
export type Unit = (typeof UNITS)[number];

export function inUnit({ microDollars, tokens }: Amount, unit: Unit): number {
  return unit === "money" ? microDollars : tokens;
}

/** Where no price is known there are only tokens. */
export function hasMoney({ total }: Pick<Spend, "total">): boolean {
  return total.microDollars > 0;
}

const BASES = ["provider", "baseline", "none"] as const;
const OTHERS = "others";

export type SpendBars = {
  readonly series: readonly string[];
  readonly bars: readonly {
    readonly at: string;
    readonly values: readonly number[];
    readonly requests: number;
  }[];
};

/** What each bar is made of: how the amounts are known, or the pipelines that cost most. Times without requests are bars, too. */
export function spendBars(spend: Spend, by: "basis" | "pipeline", unit: Unit): SpendBars {
  const named = by === "basis" ? [...BASES] : topPipelines(spend, unit);
  const buckets = Map.groupBy(spend.buckets, ({ at }) => Date.parse(at));
  const bars = times(spend).map((at) => {
    const inBar = buckets.get(at) ?? [];
    const values = named.map((name) =>
      by === "basis"
        ? sum(inBar, (bucket) => inUnit(bucket[name as (typeof BASES)[number]].charged, unit))
        : sum(
            inBar.filter(({ pipeline }) => seriesOf(pipeline, named) === name),
            (bucket) => sum(BASES, (basis) => inUnit(bucket[basis].charged, unit)),
          ),
    );
    const requests = sum(inBar, (bucket) => sum(BASES, (basis) => bucket[basis].requests));
    return { at: new Date(at).toISOString(), values, requests };
  });
  return { series: named, bars };
}

function topPipelines({ pipelines }: Spend, unit: Unit): readonly string[] {
  const sorted = pipelines.toSorted((a, b) => inUnit(b.charged, unit) - inUnit(a.charged, unit));
  const names = sorted.map(({ pipeline }) => pipeline);
  return names.length <= MOST_SERIES ? names : [...names.slice(0, MOST_SERIES - 1), OTHERS];
}

function seriesOf(pipeline: string | null, named: readonly string[]): string {
  return pipeline !== null && named.includes(pipeline) ? pipeline : OTHERS;
}

/** The beginning of every bar, from the first to the last. */
function times({ since, until, bucketMs }: Spend): readonly number[] {
  const from = Date.parse(since);
  const first = from - (from % bucketMs);
  const count = Math.max(0, Math.ceil((Date.parse(until) - first) / bucketMs));
  return Array.from({ length: count }, (_, index) => first + index * bucketMs);
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
