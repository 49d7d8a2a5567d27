import type { Amount } from "../../api/documents.ts";
import { countWords, moneyWords } from "../../words/money-words.ts";
import { inUnit, type Unit } from "./spend-bars.ts";

export function amountWords(amount: Amount, unit: Unit): string {
  return figureWords(inUnit(amount, unit), unit);
}

/** Of a column of amounts: a bare count of tokens is not a cost. */
export function amountHeading(unit: Unit): string {
  return unit === "tokens" ? "Tokens" : "Cost";
}

/** Sums above a dollar are read in cents: the digits below say nothing. */
export function figureWords(figure: number, unit: Unit): string {
  if (unit === "tokens") return countWords(figure);
  return figure >= 1_000_000 ? dollars(figure, 2) : moneyWords(figure);
}

/** Short, for an axis: `$2.50`, `1.2M`. All ticks have the digits that the distance between them needs. */
export function axisWords(figure: number, step: number, unit: Unit): string {
  if (unit === "tokens")
    return figure.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 1 });
  return dollars(figure, step >= 1_000_000 ? 0 : step >= 10_000 ? 2 : 4);
}

function dollars(microDollars: number, digits: number): string {
  const shown = (microDollars / 1_000_000).toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `$${shown}`;
}

/** `4.3 %`; never 0 % of something, nor 100 % of less than all. */
export function shareWords(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0 %";
  const percent = (part / whole) * 100;
  if (percent < 0.1) return "< 0.1 %";
  if (percent > 99.9 && part < whole) return "> 99.9 %";
  return `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
}
