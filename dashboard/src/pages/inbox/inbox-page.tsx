import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { navigate } from "wouter/use-browser-location";
import type { Wait } from "../../api/documents.ts";
import { useKeys } from "../../browser/keyboard.ts";
import { waitPath } from "../../browser/places.ts";
import { optional, someOf } from "../../browser/search-params.ts";
import { useTellMe } from "../../browser/tell-me.ts";
import { useIsNarrow } from "../../browser/use-is-narrow.ts";
import { useSearchParams } from "../../browser/use-search-params.ts";
import { useLive } from "../../live/use-live.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { Link } from "../../parts/controls/link.tsx";
import { Menu, MenuItem } from "../../parts/controls/menu.tsx";
import { EmptyState } from "../../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { Page } from "../../parts/layout/page.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { OpenWaits } from "./open-waits.tsx";
import { useWaitPages, type WaitFilter, type WaitPages } from "./use-wait-pages.ts";
import { WaitPane } from "./wait-detail.tsx";
import { WaitList } from "./wait-list.tsx";
import { listedWords, neighbour } from "./wait-order.ts";
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
  const open = useWaitPages("open", filter);
  const { waits } = open;
  const oldest = useOldest(waits, location.search, waitId === null && !isNarrow);
  const shown = waitId ?? oldest;
  useMoving(open, shown, waitId !== null);
  // One tree for both widths: a dialog or an answer half written is kept when the window becomes narrow.
  const isAlone = isNarrow && waitId !== null;
  const isEmpty = open.isLoaded && waits.length === 0;
  return (
    <Page
      title="Inbox"
      beside={
        isAlone ? (
          <BackLink />
        ) : (
          <>
            {open.isLoaded && <OpenCount list={open} isFiltered={kind.length > 0 || run !== null} />}
            <KindMenu kinds={kind} onChange={(next) => change({ kind: next })} />
            {run !== null && (
              <Button kind="quiet" onClick={() => change({ run: null })}>
                run <VisibleLine text={run} /> <Icon name="close" className="size-2.5" />
              </Button>
            )}
            <TellMeButton />
          </>
        )
      }
    >
      <div
        className={`grid min-h-0 gap-4 ${isEmpty && shown === null ? "" : "md:grid-cols-[minmax(16rem,24rem)_minmax(0,1fr)]"}`}
      >
        {!isAlone && (
          <div className="flex min-w-0 flex-col gap-3">
            {!open.isLoaded && <Unread list={open} what="The waits could not be read." />}
            {isEmpty && (
              <EmptyState title="Nothing waits for a person." command="pawl waits">
                Approvals, questions and calls in doubt appear here. A terminal shows them with
              </EmptyState>
            )}
            {waits.length > 0 && <OpenWaits list={open} at={shown} />}
            {open.isStuck && <Unread list={open} what="The next waits could not be read." />}
            <AnsweredToday filter={filter} at={shown} isOpen={isEmpty} />
          </div>
        )}
        {shown !== null && (
          <div
            className="max-w-3xl min-w-0 self-start md:sticky md:top-14 md:max-h-[calc(100dvh-4.25rem)] md:overflow-y-auto"
            onFocus={() => waitId === null && choose(shown, true)}
          >
            <WaitPane waitId={shown} />
          </div>
        )}
      </div>
    </Page>
  );
}

function choose(waitId: string, replace: boolean): void {
  navigate(waitPath(waitId) + location.search, { replace });
}

/**
 * What is shown beside the list until the reader chooses: the wait that was the oldest when the page was opened. It stays
 * when it is answered, so that nothing changes under the eyes of the reader, and is chosen once the reader does anything in it.
 */
function useOldest(waits: readonly Wait[], listed: string, isWanted: boolean): string | null {
  const [kept, keep] = useState<{ readonly waitId: string; readonly listed: string } | null>(null);
  const first = waits[0]?.waitId;
  const isKept = kept !== null && kept.listed === listed;
  if (kept !== null && !(isWanted && isKept)) keep(null);
  else if (kept === null && isWanted && first !== undefined) keep({ waitId: first, listed });
  return isWanted && isKept ? kept.waitId : null;
}

/** `j` and `k`. The place of a wait is kept: once it is answered, the next one is behind it, and not the first of all. */
function useMoving({ waits, loadMore }: WaitPages, waitId: string | null, isOpened: boolean): void {
  const place = useRef(0);
  const ids = useMemo(() => waits.map((wait) => wait.waitId), [waits]);
  const at = waitId === null ? -1 : ids.indexOf(waitId);
  useEffect(() => {
    if (at !== -1) place.current = at;
  }, [at]);
  const move = (by: 1 | -1): void => {
    const next = neighbour(ids, waitId, place.current, by);
    if (next === undefined) return;
    if (next === ids.at(-1)) loadMore();
    choose(next, isOpened);
  };
  useKeys([
    { keys: "j", does: "Next wait", run: () => move(1) },
    { keys: "k", does: "Previous wait", run: () => move(-1) },
  ]);
}

function Unread({ list, what }: { readonly list: WaitPages; readonly what: string }): ReactNode {
  if (list.error === null) return null;
  return <ProblemNotice error={list.error} what={what} since={list.errorAt} onRetry={list.retry} />;
}

/** The stream counts all waits that ask people: of a filter, only those that were read are known. */
function OpenCount({
  list: { waits, hasMore },
  isFiltered,
}: {
  readonly list: WaitPages;
  readonly isFiltered: boolean;
}): ReactNode {
  const { openWaits } = useLive();
  if (waits.length === 0) return <span className="text-ink-3">nothing open</span>;
  const count = listedWords(waits.length, hasMore, isFiltered ? null : openWaits);
  return (
    <span className="text-ink-3">
      {count} {count === "1" ? "open wait" : "open waits"}, oldest first
    </span>
  );
}

type AnsweredTodayProps = {
  readonly filter: WaitFilter;
  readonly at: string | null;
  readonly isOpen: boolean;
};

function AnsweredToday({ filter, at, isOpen }: AnsweredTodayProps): ReactNode {
  const answered = useWaitPages("answered", filter);
  const today = answered.waits.filter(isToday);
  // The newest are first: a page with older ones is the last one of today.
  const hasMore = answered.hasMore && today.length === answered.waits.length;
  if (today.length === 0) return null;
  return (
    <details open={isOpen}>
      <summary className="disclosure py-1 text-ink-2 hover:text-ink">
        Answered today: {listedWords(today.length, hasMore, null)}
      </summary>
      <div className="mt-1 flex flex-col items-start gap-2">
        <div className="w-full">
          <WaitList waits={today} at={at} label="Answered today" />
        </div>
        {hasMore && <Button onClick={answered.loadMore}>Show more</Button>}
      </div>
    </details>
  );
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
