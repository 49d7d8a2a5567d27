import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { useRunHead } from "../../live/use-live.ts";
import { useNow } from "../../live/use-now.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Command } from "../../parts/empty-state.tsx";
import { Icon } from "../../parts/icon.tsx";
import { RunId } from "../../parts/id.tsx";
import { counted } from "../../parts/money-words.ts";
import { PipelineLink } from "../../parts/pipeline-link.tsx";
import { Section } from "../../parts/section.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ticking } from "../../parts/ticking.tsx";
import { durationWords } from "../../parts/time-words.ts";
import { VisibleLine } from "../../parts/visible.tsx";
import { type Held, heldRuns, type Owner } from "./held-runs.ts";

/** Each process that holds runs, and the runs that a process has left. */
export function WhoWorks({ activity }: { readonly activity: Answer<"getActivity"> }): ReactNode {
  const { owners, left } = heldRuns(activity.held);
  return (
    <>
      {left.length > 0 && <LeftRuns runs={left} asOf={activity.asOf} />}
      <Section title="Who works">
        {owners.length === 0 ? (
          <p className="flex flex-wrap items-center gap-2 text-ink-2">
            No process works on a run. This starts a worker: <Command text="pawl worker" />
          </p>
        ) : (
          <div className="grid items-start gap-3 xl:grid-cols-2">
            {owners.map((owner) => (
              <OwnerCard key={owner.owner} owner={owner} asOf={activity.asOf} />
            ))}
          </div>
        )}
      </Section>
    </>
  );
}

function OwnerCard({ owner, asOf }: { readonly owner: Owner; readonly asOf: string }): ReactNode {
  const columns: readonly Column<Held>[] = [
    { name: "Run", width: "minmax(0,1fr)", cell: ({ runId }) => <RunId runId={runId} /> },
    { name: "Pipeline", narrow: "bare", cell: ({ pipeline }) => <PipelineLink pipeline={pipeline} /> },
    {
      name: "Held",
      align: "right",
      cell: ({ heldMs }) => (
        <Ticking ms={heldMs} asOf={asOf}>
          {(ms) => durationWords(ms)}
        </Ticking>
      ),
    },
    { name: "Lease", align: "right", cell: (run) => <LeaseLeft run={run} asOf={asOf} /> },
  ];
  return (
    <article aria-label={owner.process} className="flex min-w-0 flex-col gap-1">
      <h3 className="inline-flex items-center gap-1 font-medium">
        <VisibleLine text={owner.process} />
        <CopyButton text={owner.owner} what="owner" />
        <span className="font-normal text-ink-3">{counted(owner.runs.length, "run")}</span>
      </h3>
      <Table
        label={`Runs of ${owner.process}`}
        columns={columns}
        rows={owner.runs}
        keyOf={({ runId }) => runId}
      />
    </article>
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
    { name: "Pipeline", narrow: "bare", cell: ({ pipeline }) => <PipelineLink pipeline={pipeline} /> },
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
      title="Interrupted, and nobody took them"
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
