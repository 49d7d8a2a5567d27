import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { useKeys } from "../../browser/keyboard.ts";
import { optional } from "../../browser/search-params.ts";
import { useSearchParams } from "../../browser/use-search-params.ts";
import { useRefreshed } from "../../live/use-refreshed.ts";
import { EmptyState } from "../../parts/layout/empty-state.tsx";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { Page } from "../../parts/layout/page.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { counted } from "../../words/money-words.ts";
import { QueueTable } from "./queue-table.tsx";
import { WorkerTable } from "./worker-table.tsx";

const WORKER_PARAMS = { at: optional } as const;
/** How often workers report. */
const REPORTS_MS = 5_000;

/** Who takes runs, and what waits to be taken. */
export default function WorkersPage(): ReactNode {
  const [{ at }, change] = useSearchParams(WORKER_PARAMS);
  const workers = useRefreshed(["workers"], REPORTS_MS, (client, signal) => client.listWorkers({ signal }));
  const activity = useRefreshed(["activity"], REPORTS_MS, (client, signal) => client.getActivity({ signal }));
  const items = workers.data?.items ?? [];
  const move = (step: number): void => {
    const from = items.findIndex(({ workerId }) => workerId === at);
    const next = items[Math.min(items.length - 1, Math.max(0, from + step))];
    if (next !== undefined) change({ at: next.workerId }, { replace: true });
  };
  useKeys([
    { keys: "j", does: "Next worker", run: () => move(1) },
    { keys: "k", does: "Previous worker", run: () => move(-1) },
    { keys: "Escape", does: "No worker", run: () => change({ at: null }, { replace: true }) },
  ]);
  return (
    <Page title="Workers" beside={workers.data !== undefined && <Living workers={items} />}>
      <div className="flex flex-col gap-6">
        <Loaded query={workers} what="The workers could not be read.">
          {({ asOf }) =>
            items.length === 0 ? (
              <NoWorkers ready={readyRuns(activity.data)} />
            ) : (
              <WorkerTable workers={items} asOf={asOf} at={at} />
            )
          }
        </Loaded>
        <Loaded query={activity} what="The queues could not be read.">
          {(data) => (
            <Section title="Queues">
              <QueueTable activity={data} workers={items} />
            </Section>
          )}
        </Loaded>
      </div>
    </Page>
  );
}

type Worker = Answer<"listWorkers">["items"][number];

function Living({ workers }: { readonly workers: readonly Worker[] }): ReactNode {
  if (workers.length === 0) return null;
  const living = workers.filter(({ isSilent }) => !isSilent);
  const room = living.reduce((sum, { concurrency }) => sum + concurrency, 0);
  const busy = living.reduce((sum, { runIds }) => sum + runIds.length, 0);
  return (
    <span className="text-ink-3">
      {living.length === 0
        ? "none has reported lately"
        : `${counted(living.length, "worker")}, ${busy} of ${counted(room, "run")}`}
    </span>
  );
}

function readyRuns(activity: Answer<"getActivity"> | undefined): number {
  return activity?.ready.reduce((sum, { ready }) => sum + ready, 0) ?? 0;
}

function NoWorkers({ ready }: { readonly ready: number }): ReactNode {
  return (
    <EmptyState title="No worker takes runs." command="pawl worker">
      {ready > 0 && (
        <p className="text-interrupted">
          {counted(ready, "run")} {ready === 1 ? "is" : "are"} ready, and nothing takes{" "}
          {ready === 1 ? "it" : "them"}.
        </p>
      )}
      Runs that are enqueued, answered or left by a dead process wait here for a worker. This starts one, with
      the pipelines of pawl.config.ts:
    </EmptyState>
  );
}
