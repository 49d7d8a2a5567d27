import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { navigate } from "wouter/use-browser-location";
import type { Wait } from "../../api/documents.ts";
import { useKeys } from "../../browser/keyboard.ts";
import { waitPath } from "../../browser/places.ts";
import { optional, someOf } from "../../browser/search-params.ts";
import { useTellMe } from "../../browser/tell-me.ts";
import { useIsNarrow } from "../../browser/use-is-narrow.ts";
import { useSearchParams } from "../../browser/use-search-params.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { useLiveSignal } from "../../live/use-live.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { Link } from "../../parts/controls/link.tsx";
import { Menu, MenuItem } from "../../parts/controls/menu.tsx";
import { EmptyState } from "../../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { Page } from "../../parts/layout/page.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { counted } from "../../words/money-words.ts";
import { WaitPane } from "./wait-detail.tsx";
import { WaitList } from "./wait-list.tsx";
import { kindWords, PERSON_KINDS } from "./wait-words.ts";

const INBOX_PARAMS = { kind: someOf(PERSON_KINDS), run: optional } as const;

/** Everything that waits for a person, and one of it in full. */
export default function InboxPage({ waitId }: { readonly waitId: string | null }): ReactNode {
  const [{ kind, run }, change] = useSearchParams(INBOX_PARAMS);
  const isNarrow = useIsNarrow();
  const filter = {
    kind: kind.length === 0 ? [...PERSON_KINDS] : [...kind],
    ...(run === null ? {} : { runId: run }),
  };
  const open = useWaits("open", filter);
  const answered = useWaits("answered", filter);
  const waits = open.data?.items ?? [];
  const today = (answered.data?.items ?? []).filter(isToday);
  const move = (by: number): void => {
    const from = waits.findIndex((wait) => wait.waitId === waitId);
    const next = waits[Math.min(waits.length - 1, Math.max(0, from + by))];
    if (next !== undefined) navigate(waitPath(next.waitId) + location.search, { replace: waitId !== null });
  };
  useKeys([
    { keys: "j", does: "Next wait", run: () => move(1) },
    { keys: "k", does: "Previous wait", run: () => move(-1) },
  ]);
  if (isNarrow && waitId !== null) {
    return (
      <Page title="Inbox" beside={<BackLink />}>
        <WaitPane waitId={waitId} />
      </Page>
    );
  }
  return (
    <Page
      title="Inbox"
      beside={
        <>
          {open.data !== undefined && (
            <span className="text-ink-3">
              {waits.length === 0 ? "nothing open" : `${counted(waits.length, "open wait")}, oldest first`}
            </span>
          )}
          <KindMenu kinds={kind} onChange={(next) => change({ kind: next })} />
          {run !== null && (
            <Button kind="quiet" onClick={() => change({ run: null })}>
              run <VisibleLine text={run} /> <Icon name="close" className="size-2.5" />
            </Button>
          )}
          <TellMeButton />
        </>
      }
    >
      <div className="grid min-h-0 gap-4 md:grid-cols-[minmax(16rem,24rem)_minmax(0,1fr)]">
        <div className="flex min-w-0 flex-col gap-3">
          {open.error !== null && open.data === undefined && (
            <ProblemNotice
              error={open.error}
              what="The waits could not be read."
              since={open.errorUpdatedAt}
              onRetry={() => void open.refetch()}
            />
          )}
          {open.data !== undefined && waits.length === 0 && (
            <EmptyState title="Nothing waits for a person." command="pawl waits">
              Approvals, questions and calls in doubt appear here. A terminal shows them with
            </EmptyState>
          )}
          {waits.length > 0 && <WaitList waits={waits} at={waitId} label="Open waits" />}
          {today.length > 0 && (
            <details open={waits.length === 0}>
              <summary className="disclosure py-1 text-ink-2 hover:text-ink">
                Answered today: {today.length}
              </summary>
              <div className="mt-1">
                <WaitList waits={today} at={waitId} label="Answered today" />
              </div>
            </details>
          )}
        </div>
        {!isNarrow && (
          <div className="max-w-3xl min-w-0">
            {waitId === null ? (
              waits.length > 0 && <EmptyState title="Choose a wait to read all of it." />
            ) : (
              <WaitPane waitId={waitId} />
            )}
          </div>
        )}
      </div>
    </Page>
  );
}

type WaitFilter = { readonly kind: Wait["kind"][]; readonly runId?: string };

/** They are read again whenever a wait is opened or answered anywhere. */
function useWaits(status: "open" | "answered", filter: WaitFilter) {
  const { client } = useDashboard();
  const queries = useQueryClient();
  useLiveSignal((signal) => {
    if (signal.kind === "waits") void queries.invalidateQueries({ queryKey: ["waits"] });
  });
  return useQuery({
    queryKey: ["waits", status, filter],
    queryFn: ({ signal }) => client.listWaits({ status, ...filter, limit: 200, signal }),
    placeholderData: (before) => before,
  });
}

function isToday({ answeredAt }: Wait): boolean {
  return answeredAt !== null && new Date(answeredAt).toDateString() === new Date().toDateString();
}

function BackLink(): ReactNode {
  return (
    <Link
      href={`/waits${location.search}`}
      className="inline-flex items-center gap-1 text-accent hover:underline"
    >
      <Icon name="left" className="size-3" />
      All waits
    </Link>
  );
}

type Kinds = readonly (typeof PERSON_KINDS)[number][];

function KindMenu({
  kinds,
  onChange,
}: {
  readonly kinds: Kinds;
  readonly onChange: (kinds: Kinds) => void;
}): ReactNode {
  return (
    <Menu label={kinds.length === 0 ? "All kinds" : kinds.map(kindWords).join(", ")}>
      {PERSON_KINDS.map((kind) => (
        <MenuItem
          key={kind}
          isChosen={kinds.includes(kind)}
          onSelect={() =>
            onChange(kinds.includes(kind) ? kinds.filter((each) => each !== kind) : [...kinds, kind])
          }
        >
          {kindWords(kind)}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** A browser asks for the permission once, so only a click does it. */
function TellMeButton(): ReactNode {
  const [state, toggle] = useTellMe();
  if (state === "impossible") return null;
  return (
    <Button kind="quiet" aria-pressed={state === "on"} className="ml-auto" onClick={toggle}>
      {state === "on" ? "Notifies you of new waits" : "Notify me of new waits"}
    </Button>
  );
}
