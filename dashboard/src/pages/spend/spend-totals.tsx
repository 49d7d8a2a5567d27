import type { ReactNode } from "react";
import { inUnit, PERIODS, type Period, type Spend, type Unit } from "./spend-bars.ts";
import { amountWords, shareWords } from "./spend-words.ts";

type SpendTotalsProps = { readonly spend: Spend; readonly period: Period; readonly unit: Unit };

/** All of it, and what of it crashes have cost. */
export function SpendTotals({ spend, period, unit }: SpendTotalsProps): ReactNode {
  const lost = inUnit(spend.lostWork, unit);
  const unitWords = unit === "tokens" ? " tokens" : "";
  return (
    <div className="flex flex-wrap items-baseline gap-x-8 gap-y-2">
      <p>
        <span className="text-lg font-semibold">{amountWords(spend.total, unit)}</span>
        <span className="ml-1 text-ink-2">
          {unitWords} in the last {PERIODS[period].words}
        </span>
      </p>
      <p className="text-ink-2">
        {lost === 0 ? (
          "No work was lost: every answer that was paid for counts."
        ) : (
          <>
            Crashes cost{" "}
            <strong className="font-semibold text-interrupted">{amountWords(spend.lostWork, unit)}</strong> of{" "}
            {amountWords(spend.total, unit)}
            {unitWords} <span className="text-ink-3">({shareWords(lost, inUnit(spend.total, unit))})</span>:
            answers that were paid for and count for nothing.
          </>
        )}
      </p>
    </div>
  );
}
