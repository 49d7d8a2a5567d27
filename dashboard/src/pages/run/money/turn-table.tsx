import { type ReactNode, useState } from "react";
import { Link } from "../../../parts/controls/link.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { BASIS_WORDS, counted, countWords, moneyWords } from "../../../words/money-words.ts";
import { viewPath } from "../run-params.ts";
import type { TurnSpend } from "./spending.ts";

const SHOWN = 100;

/** What each turn cost, the newest last. Also the line above, as numbers. */
export function TurnTable({
  runId,
  turns,
  isMoney,
}: {
  readonly runId: string;
  readonly turns: readonly TurnSpend[];
  readonly isMoney: boolean;
}): ReactNode {
  const [shown, setShown] = useState(SHOWN);
  const heads = [
    "Turn",
    "Requests",
    "Basis",
    "Input",
    "Cached",
    "Output",
    "Reasoning",
    isMoney ? "Charged" : "Tokens",
  ];
  return (
    <div className="overflow-x-auto rounded-lg border border-line bg-panel">
      <table className="w-full border-separate border-spacing-0 text-right">
        <caption className="sr-only">What each turn cost</caption>
        <thead className="text-xs text-ink-3">
          <tr>
            {heads.map((name, index) => (
              <th
                key={name}
                scope="col"
                className={`border-b border-line px-3 py-1.5 font-normal ${index === 0 || name === "Basis" ? "text-left" : ""}`}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {turns.slice(0, shown).map((turn) => (
            <tr
              key={`${turn.stepPath}#${turn.turnIndex}`}
              className="hover:bg-hover [&>td]:border-b [&>td]:border-line [&>td]:px-3 [&>td]:py-1"
            >
              <td className="text-left">
                <Link
                  href={viewPath(runId, {
                    view: "transcript",
                    at: `turn:${turn.stepPath}#${turn.turnIndex}`,
                  })}
                  className="whitespace-nowrap text-accent hover:underline"
                >
                  <VisibleLine text={`${turn.stepPath} ${turn.turnIndex}`} />
                </Link>
              </td>
              <td>{turn.requests}</td>
              <td
                className={`text-left whitespace-nowrap ${turn.bases.includes("baseline") ? "text-interrupted" : "text-ink-2"}`}
              >
                {turn.bases.map((basis) => BASIS_WORDS[basis]).join(", ")}
                {turn.open > 0 && `${turn.bases.length > 0 ? ", " : ""}${counted(turn.open, "open request")}`}
              </td>
              <td>{countWords(turn.usage.inputTokens)}</td>
              <td className="text-ink-2">{countWords(turn.usage.cachedInputTokens)}</td>
              <td>{countWords(turn.usage.outputTokens)}</td>
              <td className="text-ink-2">{countWords(turn.usage.reasoningTokens)}</td>
              <td>{isMoney ? moneyWords(turn.charged.microDollars) : countWords(turn.charged.tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {turns.length > shown && (
        <button
          type="button"
          className="w-full py-2 text-accent hover:underline"
          onClick={() => setShown(shown + SHOWN)}
        >
          {counted(turns.length - shown, "more turn")}
        </button>
      )}
    </div>
  );
}
