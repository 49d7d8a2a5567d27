import type { ExchangeStory } from "../../export/exchanges.ts";
import { formatMoment, formatMoney, formatWholeNumber } from "./format.ts";
import type { Column } from "./table.ts";

/** The columns of the exchanges of a conversation. */
export function exchangeColumns(
  shown: readonly ExchangeStory[],
  now: number,
): readonly Column<ExchangeStory>[] {
  const hasSeveral = new Set(shown.map(({ stepPath }) => stepPath)).size > 1;
  const number = (value: number) => (value === 0 ? "" : formatWholeNumber(value));
  return [
    { title: "no.", value: ({ exchange }) => String(exchange), rank: 0, align: "right" },
    { title: "step", value: ({ stepPath }) => (hasSeveral ? stepPath : ""), rank: 5, atLeast: 8 },
    { title: "at", value: ({ beganAt }) => formatMoment(beganAt, now), rank: 4 },
    { title: "by", value: ({ sentBy }) => sentBy, rank: 2, atLeast: 6 },
    {
      title: "outcome",
      value: ({ outcome }) => outcome?.replaceAll("_", " ") ?? "open",
      rank: 0,
      paint: (paints, text, { outcome }) =>
        outcome === "complete" ? paints.green(text) : paints.yellow(text),
    },
    { title: "turns", value: ({ turns }) => number(turns), rank: 6, align: "right" },
    { title: "calls", value: ({ calls }) => number(calls.length), rank: 5, align: "right" },
    { title: "tokens", value: ({ charged }) => number(charged.tokens), rank: 3, align: "right" },
    {
      title: "cost",
      value: ({ charged }) => (charged.microDollars === 0 ? "" : formatMoney(charged.microDollars)),
      rank: 3,
      align: "right",
    },
    { title: "said", value: ({ said }) => said.map(({ text }) => text).join(" ⏎ "), rank: 1, atLeast: 14 },
    { title: "answer", value: ({ answer, why }) => answer ?? why ?? "", rank: 1, atLeast: 14 },
  ];
}
