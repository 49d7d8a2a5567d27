import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { useDashboard } from "../../../app/dashboard-context.ts";
import { useKeys } from "../../../app/keyboard.ts";
import { Button } from "../../../parts/button.tsx";
import { EmptyState } from "../../../parts/empty-state.tsx";
import { ProblemNotice } from "../../../parts/notice.tsx";
import { useRunParams } from "../run-params.ts";
import { CALL_STATUSES } from "./call-documents.ts";
import { CallFacts } from "./call-facts.tsx";
import { LedgerRow } from "./ledger-row.tsx";

const COLUMNS = ["#", "Tool", "Effect", "Status", "Attempts", "Receipt", "Correlation id"];

/** The ledger: a row for every tool call, with what is known of it. */
export function LedgerView({ runId }: { readonly runId: string }): ReactNode {
  const { client } = useDashboard();
  const [{ at, status, tool }, change] = useRunParams();
  const filter = { ...(status === null ? {} : { status: [status] }), ...(tool === null ? {} : { tool }) };
  const pages = useInfiniteQuery({
    queryKey: ["run", runId, "calls", filter],
    queryFn: ({ pageParam, signal }) =>
      client.listCalls(
        { runId, ...filter, ...(pageParam === null ? {} : { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  const calls = useMemo(() => pages.data?.pages.flatMap(({ items }) => items) ?? [], [pages.data]);
  const toggle = (callId: string): void => change({ at: at === callId ? null : callId }, { replace: true });
  const move = (by: 1 | -1): void => {
    const index = calls.findIndex(({ toolCallId }) => toolCallId === at);
    const next = calls[index === -1 ? (by === 1 ? 0 : calls.length - 1) : index + by];
    if (next !== undefined) change({ at: next.toolCallId }, { replace: true });
  };
  useKeys([
    { keys: "j", does: "Next call", run: () => move(1) },
    { keys: "k", does: "Call before", run: () => move(-1) },
    { keys: "Escape", does: "Close the call", run: () => change({ at: null }, { replace: true }) },
  ]);
  const tools = useMemo(() => [...new Set(calls.map((call) => call.tool))].sort(), [calls]);
  return (
    <section aria-label="Ledger" className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        <Filter
          name="status"
          value={status}
          choices={CALL_STATUSES}
          onValue={(value) => change({ status: value })}
        />
        <Filter
          name="tool"
          value={tool}
          choices={tool === null || tools.includes(tool) ? tools : [tool, ...tools]}
          onValue={(value) => change({ tool: value })}
        />
      </div>
      {pages.error !== null && (
        <ProblemNotice
          error={pages.error}
          what="The ledger could not be read."
          onRetry={() => void pages.refetch()}
        />
      )}
      {pages.data !== undefined && calls.length === 0 && (
        <EmptyState
          title={status === null && tool === null ? "This run has called no tool." : "No call fits."}
        >
          {(status !== null || tool !== null) && (
            <Button onClick={() => change({ status: null, tool: null })}>Show all calls</Button>
          )}
        </EmptyState>
      )}
      {at !== null && pages.data !== undefined && !calls.some(({ toolCallId }) => toolCallId === at) && (
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
      {pages.hasNextPage && (
        <Button
          className="self-center"
          disabled={pages.isFetchingNextPage}
          onClick={() => void pages.fetchNextPage()}
        >
          More calls
        </Button>
      )}
    </section>
  );
}

function Filter({
  name,
  value,
  choices,
  onValue,
}: {
  readonly name: string;
  readonly value: string | null;
  readonly choices: readonly string[];
  readonly onValue: (value: string | null) => void;
}): ReactNode {
  return (
    <label className="inline-flex items-center gap-1.5 text-xs text-ink-3">
      {name}
      <select
        value={value ?? ""}
        className="h-7 max-w-48 rounded-md border border-edge bg-panel px-1.5 text-sm text-ink"
        onChange={({ target }) => onValue(target.value === "" ? null : target.value)}
      >
        <option value="">any</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice.replaceAll("_", " ")}
          </option>
        ))}
      </select>
    </label>
  );
}
