import { type ReactNode, useMemo } from "react";
import { useRunPages } from "../../../live/use-live.ts";
import { BudgetBar } from "../../../parts/charts/budget-bar.tsx";
import { Button } from "../../../parts/controls/button.tsx";
import { EmptyState } from "../../../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../../../parts/layout/notice.tsx";
import { counted, countWords, limitWords, moneyWords } from "../../../words/money-words.ts";
import type { Run } from "../next/standing-words.ts";
import { SpendLine } from "./spend-line.tsx";
import { spendPoints, turnSpends } from "./spending.ts";
import { TurnTable } from "./turn-table.tsx";

/** What the run has cost, against what it may. */
export function MoneyView({ run }: { readonly run: Run }): ReactNode {
  const { runId, limit } = run.head;
  const listed = useRunPages(runId, ["model-calls"], (client, place, signal) =>
    client.listModelCalls({ runId, limit: 500, ...place, signal }),
  );
  const calls = useMemo(() => listed.pages?.flatMap(({ items }) => items) ?? [], [listed.pages]);
  const isMoney = run.usage.charged.microDollars > 0 || limit.microDollars !== null;
  const unit = isMoney ? "microDollars" : "tokens";
  const points = useMemo(() => spendPoints(calls, unit), [calls, unit]);
  const turns = useMemo(() => turnSpends(calls), [calls]);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {listed.error !== null && (
        <ProblemNotice
          error={listed.error}
          what="The requests to models could not be read."
          onRetry={() => void listed.refetch()}
        />
      )}
      <Sums run={run} isMoney={isMoney} />
      {run.budgets.length > 0 && <BudgetBars budgets={run.budgets} />}
      {listed.pages !== undefined && calls.length === 0 && (
        <EmptyState title="This run has asked no model yet.">What each turn costs is shown here.</EmptyState>
      )}
      {points.length > 1 && (
        <SpendLine
          points={points}
          limit={limit[unit]}
          words={isMoney ? moneyWords : (tokens) => `${countWords(tokens)} tokens`}
        />
      )}
      {turns.length > 0 && <TurnTable runId={runId} turns={turns} isMoney={isMoney} />}
      {listed.hasNextPage && (
        <Button
          className="self-center"
          disabled={listed.isFetching}
          onClick={() => void listed.fetchNextPage()}
        >
          More turns: only {counted(calls.length, "request")} are counted above
        </Button>
      )}
    </div>
  );
}

function Sums({ run, isMoney }: { readonly run: Run; readonly isMoney: boolean }): ReactNode {
  const { usage, lostWork, head } = run;
  const amount = ({
    microDollars,
    tokens,
  }: {
    readonly microDollars: number;
    readonly tokens: number;
  }): string => (isMoney ? moneyWords(microDollars) : `${countWords(tokens)} tokens`);
  const cached =
    usage.inputTokens === 0 ? 0 : Math.round((usage.cachedInputTokens / usage.inputTokens) * 100);
  const sums = [
    ["charged", amount(usage.charged), counted(usage.modelCalls, "request")],
    ["reserved", amount(head.reserved), "for what is being asked now"],
    [
      "lost work",
      amount(lostWork.charged),
      lostWork.requests === 0
        ? "every answer that was paid for counts"
        : `${counted(lostWork.requests, "request")} whose answers count for nothing`,
    ],
    ["input tokens", countWords(usage.inputTokens), `${cached} % from the cache`],
    [
      "output tokens",
      countWords(usage.outputTokens),
      `${countWords(usage.reasoningTokens)} of them reasoning`,
    ],
  ] as const;
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-3 lg:grid-cols-5">
      {sums.map(([name, value, note]) => (
        <div key={name}>
          <dt className="text-xs text-ink-3">{name}</dt>
          <dd
            className={`text-lg ${name === "lost work" && lostWork.requests > 0 ? "text-interrupted" : ""}`}
          >
            {value}
          </dd>
          <dd className="text-xs text-ink-3">{note}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A bar for each budget: charged, reserved, left. */
function BudgetBars({ budgets }: { readonly budgets: Run["budgets"] }): ReactNode {
  return (
    <ul className="grid gap-x-6 gap-y-2 md:grid-cols-2">
      {budgets.map(({ name, limit, used, reserved }) => {
        const words = (amount: number): string =>
          name === "maxCostUsd" ? moneyWords(amount * 1_000_000) : countWords(Math.round(amount * 10) / 10);
        return (
          <li key={name} className="flex flex-col gap-1">
            <span className="flex flex-wrap justify-between gap-x-3">
              <code>{name}</code>
              <span className="text-ink-2">
                {words(used)}
                {reserved > 0 && <span className="text-ink-3"> + {words(reserved)} reserved</span>}
                <span className="text-ink-3">
                  {" "}
                  of {name === "maxCostUsd" ? limitWords(limit * 1_000_000) : words(limit)}
                </span>
              </span>
            </span>
            <BudgetBar charged={used} reserved={reserved} limit={limit} />
          </li>
        );
      })}
    </ul>
  );
}
