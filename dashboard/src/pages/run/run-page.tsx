import { useQuery } from "@tanstack/react-query";
import { type ReactNode, Suspense, useEffect } from "react";
import { navigate } from "wouter/use-browser-location";
import { visibleLine } from "../../../../src/core/visible-text.ts";
import { PawlProblem } from "../../api/client.ts";
import { fetchedCode } from "../../browser/fetched-code.ts";
import { useKeys } from "../../browser/keyboard.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { useRunHead, useRunQuery } from "../../live/use-live.ts";
import { Link } from "../../parts/controls/link.tsx";
import { EmptyState } from "../../parts/layout/empty-state.tsx";
import { ErrorBoundary } from "../../parts/layout/error-boundary.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { Page } from "../../parts/layout/page.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { LedgerView } from "./ledger/ledger-view.tsx";
import { LogView } from "./log/log-view.tsx";
import { MoneyView } from "./money/money-view.tsx";
import { NextBox } from "./next/next-box.tsx";
import type { Run } from "./next/standing-words.ts";
import { RunFacts, RunTitle } from "./run-head.tsx";
import { type RunView, useRunParams, VIEWS, viewPath } from "./run-params.ts";
import { TimelineView } from "./timeline/timeline-view.tsx";
import { useVerification, VerificationProblems } from "./verification.tsx";

// It brings the lexer of markdown, which no other view needs.
const TranscriptView = fetchedCode(() => import("./transcript/transcript-view.tsx"));

/** A run: how it stands, what can be done about it, and five views of what has happened. */
export default function RunPage({ runId }: { readonly runId: string }): ReactNode {
  const { live } = useDashboard();
  const fetched = useRunQuery(runId, ["document"], (client, signal) => client.getRun({ runId, signal }));
  const { data } = fetched;
  useEffect(() => {
    if (data !== undefined) live.learn([data.head]);
  }, [data, live]);
  if (fetched.error instanceof PawlProblem && fetched.error.status === 404) return <NoRun runId={runId} />;
  if (data !== undefined) return <KnownRun fetched={data} />;
  if (fetched.error === null) return <Page title={runId}>{null}</Page>;
  return (
    <Page title={runId}>
      <ProblemNotice
        error={fetched.error}
        what="The run could not be read."
        since={fetched.errorUpdatedAt}
        onRetry={() => void fetched.refetch()}
      />
    </Page>
  );
}

function KnownRun({ fetched }: { readonly fetched: Run }): ReactNode {
  const { runId } = fetched.head;
  // The stream has the newest head before the document is fetched again.
  const run = { ...fetched, head: useRunHead(runId, fetched.head) };
  const [{ view }] = useRunParams();
  const verification = useVerification(runId);
  useViewKeys();
  return (
    <Page title={runId} beside={<RunTitle run={run} document={fetched} verification={verification} />}>
      <RunFacts run={run} />
      {verification.problems.length > 0 && <VerificationProblems problems={verification.problems} />}
      <NextBox run={run} />
      <Views run={run} view={view} />
      <ErrorBoundary of="view" resetKey={view}>
        {shownView(view, run)}
      </ErrorBoundary>
    </Page>
  );
}

function shownView(view: RunView, run: Run): ReactNode {
  const { runId } = run.head;
  switch (view) {
    case "timeline":
      return <TimelineView runId={runId} />;
    case "transcript":
      return (
        <Suspense fallback={null}>
          <TranscriptView run={run} />
        </Suspense>
      );
    case "ledger":
      return <LedgerView runId={runId} />;
    case "money":
      return <MoneyView run={run} />;
    case "log":
      return <LogView runId={runId} lastSeq={run.head.eventSeq} />;
  }
}

function useViewKeys(): void {
  const [{ at }, change] = useRunParams();
  useKeys([
    ...VIEWS.map((view, index) => ({
      keys: String(index + 1),
      does: `Show the ${view}`,
      run: () => change({ view, at: null, hash: null }),
    })),
    // What is selected is closed first, by its view.
    ...(at === null ? [{ keys: "Escape", does: "Back to Runs", run: () => navigate("/") }] : []),
  ]);
}

function Views({ run, view }: { readonly run: Run; readonly view: RunView }): ReactNode {
  const { runId, toolCalls, callsInDoubt, eventSeq } = run.head;
  const counts: Partial<Record<RunView, string>> = {
    ledger: String(toolCalls),
    log: String(eventSeq),
  };
  return (
    <nav aria-label="Views" className="flex gap-1 fading border-b border-line max-sm:-mx-3 max-sm:px-3">
      {VIEWS.map((each) => (
        <Link
          key={each}
          href={viewPath(runId, { view: each })}
          aria-current={each === view ? "page" : undefined}
          className="flex h-8 items-center gap-1.5 border-b-2 border-transparent px-2 whitespace-nowrap text-ink-2 capitalize hover:text-ink aria-[current]:border-accent aria-[current]:font-medium aria-[current]:text-ink"
        >
          {each}
          {counts[each] !== undefined && (
            <span className="text-xs font-normal text-ink-3">{counts[each]}</span>
          )}
          {each === "ledger" && callsInDoubt > 0 && (
            <span className="text-xs font-normal text-interrupted normal-case">{callsInDoubt} in doubt</span>
          )}
        </Link>
      ))}
    </nav>
  );
}

/** No such run, or none that this person may see: names those that are spelled alike. */
function NoRun({ runId }: { readonly runId: string }): ReactNode {
  const { client } = useDashboard();
  const q = runId.slice(0, Math.max(2, Math.ceil(runId.length / 2)));
  const { data } = useQuery({
    queryKey: ["near", q],
    queryFn: ({ signal }) => client.listRuns({ q, limit: 5, signal }),
  });
  return (
    <Page title="Not found">
      <EmptyState title={`There is no run ${visibleLine(runId)}, or it is not among those that you may see.`}>
        {data !== undefined && data.items.length > 0 && (
          <>
            <p>Did you mean one of these?</p>
            <ul className="mt-1">
              {data.items.map((head) => (
                <li key={head.runId}>
                  <RunId runId={head.runId} />
                </li>
              ))}
            </ul>
          </>
        )}
        <Link href="/?view=all" className="mt-2 inline-block text-accent hover:underline">
          All runs
        </Link>
      </EmptyState>
    </Page>
  );
}
