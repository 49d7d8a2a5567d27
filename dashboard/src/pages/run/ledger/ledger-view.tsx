import { type ReactNode, useMemo } from "react";
import { useKeys } from "../../../browser/keyboard.ts";
import { useRunPages } from "../../../live/use-live.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { EmptyState } from "../../../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../../../parts/layout/notice.tsx";
import { ChoiceFilter } from "../choice-filter.tsx";
import { useRunParams } from "../run-params.ts";
import { CALL_STATUSES } from "./call-documents.ts";
import { CallFacts } from "./call-facts.tsx";
import { LedgerRow } from "./ledger-row.tsx";

const COLUMNS = ["#", "Tool", "Effect", "Status", "Attempts", "Receipt", "Correlation id"];

/** The ledger: a row for every tool call, with what is known of it. */
export function LedgerView({ runId }: { readonly runId: string }): ReactNode {
  const [{ at, status, tool }, change] = useRunParams();
  const filter = { ...(status === null ? {} : { status: [status] }), ...(tool === null ? {} : { tool }) };
  const listed = useRunPages(runId, ["calls", filter], (client, place, signal) =>
    client.listCalls({ runId, ...filter, ...place, signal }),
  );
  const calls = useMemo(() => listed.pages?.flatMap(({ items }) => items) ?? [], [listed.pages]);
  const toggle = (callId: string): void => change({ at: at === callId ? null : callId }, { replace: true });
  const move = (by: 1 | -1): void => {
    const index = calls.findIndex(({ toolCallId }) => toolCallId === at);
    const next = calls[index === -1 ? (by === 1 ? 0 : calls.length - 1) : index + by];
    if (next !== undefined) change({ at: next.toolCallId }, { replace: true });
  };
  useKeys([
    { keys: "j", does: "Next call", run: () => move(1) },
    { keys: "k", does: "Call before", run: () => move(-1) },
    ...(at === null
      ? []
      : [{ keys: "Escape", does: "Close the call", run: () => change({ at: null }, { replace: true }) }]),
  ]);
  const tools = useMemo(() => [...new Set(calls.map((call) => call.tool))].sort(), [calls]);
  return (
    <section aria-label="Ledger" className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        <ChoiceFilter
          name="status"
          value={status}
          choices={CALL_STATUSES}
          onValue={(value) => change({ status: value })}
        />
        <ChoiceFilter
          name="tool"
          value={tool}
          choices={tool === null || tools.includes(tool) ? tools : [tool, ...tools]}
          onValue={(value) => change({ tool: value })}
        />
      </div>
      {listed.error !== null && (
        <ProblemNotice
          error={listed.error}
          what="The ledger could not be read."
          onRetry={() => void listed.refetch()}
        />
      )}
      {listed.pages !== undefined && calls.length === 0 && (
        <EmptyState
          title={status === null && tool === null ? "This run has called no tool." : "No call fits."}
        >
          {(status !== null || tool !== null) && (
            <Button onClick={() => change({ status: null, tool: null })}>Show all calls</Button>
          )}
        </EmptyState>
      )}
      {at !== null && listed.pages !== undefined && !calls.some(({ toolCallId }) => toolCallId === at) && (
        <div className="rounded-lg border border-line bg-panel p-3">
          <CallFacts runId={runId} callId={at} />
        </div>
      )}
      {calls.length > 0 && (
        <table className="block w-full rounded-lg border border-line bg-panel text-left md:table md:border-separate md:border-spacing-0">
          <thead className="hidden text-xs text-ink-3 md:table-header-group">
            <tr>
              {COLUMNS.map((name) => (
                <th
                  key={name}
                  scope="col"
                  className="border-b border-line px-2 py-1.5 font-normal first:pl-3"
                >
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="block md:table-row-group">
            {calls.map((call, index) => (
              <LedgerRow
                key={call.toolCallId}
                runId={runId}
                call={call}
                number={index + 1}
                isOpen={call.toolCallId === at}
                onToggle={() => toggle(call.toolCallId)}
              />
            ))}
          </tbody>
        </table>
      )}
      {listed.hasNextPage && (
        <Button
          className="self-center"
          disabled={listed.isFetching}
          onClick={() => void listed.fetchNextPage()}
        >
          More calls
        </Button>
      )}
    </section>
  );
}
