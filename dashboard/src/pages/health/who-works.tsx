import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { useRunHead } from "../../live/use-live.ts";
import { useNow } from "../../live/use-now.ts";
import { useRefreshed } from "../../live/use-refreshed.ts";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { Link } from "../../parts/controls/link.tsx";
import { Command } from "../../parts/layout/empty-state.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { PipelineLink } from "../../parts/text/pipeline-link.tsx";
import { Ticking } from "../../parts/text/ticking.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { counted } from "../../words/money-words.ts";
import { durationWords } from "../../words/time-words.ts";
import { type Held, heldRuns, type Owner } from "./held-runs.ts";

/** Each process that holds runs, and the runs that a process has left. */
export function WhoWorks({ activity }: { readonly activity: Answer<"getActivity"> }): ReactNode {
  const { owners, left } = heldRuns(activity.held);
  return (
    <>
      {left.length > 0 && <LeftRuns runs={left} asOf={activity.asOf} />}
      <Section title="Who works">
        {owners.length === 0 ? <NothingHeld /> : <OwnerTable owners={owners} asOf={activity.asOf} />}
      </Section>
    </>
  );
}

/** How often workers report. */
const REPORTS_MS = 5_000;

/** A worker that has nothing to do is not a missing one. */
function NothingHeld(): ReactNode {
  const workers = useRefreshed(["workers"], REPORTS_MS, (client, signal) => client.listWorkers({ signal }));
  if (workers.data === undefined && workers.error === null) return null;
  const living = workers.data?.items.filter(({ isSilent }) => !isSilent).length ?? 0;
  return (
    <p className="flex flex-wrap items-center gap-2 text-ink-2">
      {living > 0 ? (
        <span>
          <Link href="/workers" className="text-accent hover:underline">
            {counted(living, "worker")}
          </Link>
          , nothing to do
        </span>
      ) : (
        <>
          No process works on a run. This starts a worker: <Command text="pawl worker" />
        </>
      )}
    </p>
  );
}

type OwnedRun = { readonly run: Held; readonly owner: Owner; readonly isFirst: boolean };

/** One row for each run. The process is named once, before its first one. */
function OwnerTable({
  owners,
  asOf,
}: {
  readonly owners: readonly Owner[];
  readonly asOf: string;
}): ReactNode {
  const rows = owners.flatMap((owner) => owner.runs.map((run, at) => ({ run, owner, isFirst: at === 0 })));
  const columns: readonly Column<OwnedRun>[] = [
    {
      name: "Process",
      cell: ({ owner, isFirst }) => (isFirst ? <ProcessName owner={owner} /> : null),
    },
    { name: "Run", isUnnamed: true, cell: ({ run }) => <RunId runId={run.runId} /> },
    {
      name: "Pipeline",
      width: "1fr",
      isUnnamed: true,
      cell: ({ run }) => <PipelineLink pipeline={run.pipeline} />,
    },
    {
      name: "Held",
      align: "right",
      cell: ({ run }) => (
        <Ticking ms={run.heldMs} asOf={asOf}>
          {(ms) => durationWords(ms)}
        </Ticking>
      ),
    },
    { name: "Lease", align: "right", cell: ({ run }) => <LeaseLeft run={run} asOf={asOf} /> },
  ];
  return <Table label="Held runs" columns={columns} rows={rows} keyOf={({ run }) => run.runId} />;
}

function ProcessName({ owner }: { readonly owner: Owner }): ReactNode {
  return (
    <span className="inline-flex items-center gap-1 font-medium">
      <VisibleLine text={owner.process} />
      <CopyButton text={owner.owner} what="owner" />
      <span className="font-normal text-ink-3">{counted(owner.runs.length, "run")}</span>
    </span>
  );
}

/** The stream brings each renewal; what was fetched counts until then. */
function LeaseLeft({ run, asOf }: { readonly run: Held; readonly asOf: string }): ReactNode {
  const head = useRunHead(run.runId);
  const fetched = Date.parse(asOf) + run.leaseMs - run.silentMs;
  const renewed = head?.owner === run.owner ? Date.parse(head.leaseUntil ?? "") : Number.NaN;
  const left = (Number.isNaN(renewed) ? fetched : Math.max(renewed, fetched)) - useNow();
  const look = left <= 0 ? "text-failed" : left < run.leaseMs / 3 ? "text-interrupted" : "";
  return (
    <span className={`whitespace-nowrap ${look}`}>{left <= 0 ? "over" : `${durationWords(left)} left`}</span>
  );
}

function LeftRuns({ runs, asOf }: { readonly runs: readonly Held[]; readonly asOf: string }): ReactNode {
  const columns: readonly Column<Held>[] = [
    { name: "Run", cell: ({ runId }) => <RunId runId={runId} /> },
    { name: "Pipeline", isUnnamed: true, cell: ({ pipeline }) => <PipelineLink pipeline={pipeline} /> },
    {
      name: "Last held by",
      width: "1fr",
      cell: ({ owner }) => <VisibleLine text={owner ?? "a process that gave it up"} />,
    },
    {
      name: "Last sign",
      align: "right",
      cell: ({ silentMs }) => (
        <Ticking ms={silentMs} asOf={asOf}>
          {(ms) => <span className="text-interrupted">{durationWords(ms)} ago</span>}
        </Ticking>
      ),
    },
  ];
  return (
    <Section
      title="Interrupted, and no worker took them"
      beside={
        <span className="inline-flex items-center gap-1 text-interrupted">
          <Icon name="interrupted" /> {counted(runs.length, "run")}
        </span>
      }
    >
      <Table label="Interrupted runs" columns={columns} rows={runs} keyOf={({ runId }) => runId} />
    </Section>
  );
}
