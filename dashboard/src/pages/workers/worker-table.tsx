import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { BudgetBar } from "../../parts/charts/budget-bar.tsx";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { PipelineLink } from "../../parts/text/pipeline-link.tsx";
import { Ticking } from "../../parts/text/ticking.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { countWords } from "../../words/money-words.ts";
import { durationWords } from "../../words/time-words.ts";

type Worker = Answer<"listWorkers">["items"][number];

type WorkerTableProps = {
  readonly workers: readonly Worker[];
  readonly asOf: string;
  readonly at: string | null;
};

export function WorkerTable({ workers, asOf, at }: WorkerTableProps): ReactNode {
  const columns: readonly Column<Worker>[] = [
    { name: "Worker", cell: (worker) => <Name worker={worker} asOf={asOf} /> },
    {
      name: "Runs",
      width: "minmax(9rem,1fr)",
      isLine: true,
      isUnnamed: true,
      cell: (worker) => <Runs worker={worker} />,
    },
    {
      name: "Takes",
      width: "minmax(8rem,1fr)",
      isLine: true,
      isUnnamed: true,
      cell: (worker) => <Takes worker={worker} />,
    },
    {
      name: "Done",
      width: "minmax(8rem,1fr)",
      isLine: true,
      isUnnamed: true,
      cell: ({ counts }) => <Done counts={counts} />,
    },
    {
      name: "Claim latency",
      align: "right",
      cell: ({ claimLatency }) => <Latency latency={claimLatency} />,
    },
    { name: "Started", align: "right", cell: ({ startedAt }) => <Ago at={startedAt} /> },
  ];
  return (
    <Table label="Workers" columns={columns} rows={workers} keyOf={({ workerId }) => workerId} at={at} />
  );
}

function Name({ worker, asOf }: { readonly worker: Worker; readonly asOf: string }): ReactNode {
  return (
    <div className="flex flex-col">
      <span className="inline-flex items-center gap-1 font-medium">
        <VisibleLine text={`${worker.host}/${worker.pid}`} />
        <CopyButton text={worker.workerId} what="worker id" />
      </span>
      <span className="text-xs">
        <Ticking ms={worker.seenMs} asOf={asOf}>
          {(ms) =>
            worker.isSilent ? (
              <span className="text-failed">
                <Icon name="interrupted" /> silent for {durationWords(ms)}
              </span>
            ) : (
              <span className="text-succeeded">
                <Icon name="succeeded" /> seen {durationWords(ms)} ago
              </span>
            )
          }
        </Ticking>
        {worker.version !== null && (
          <span className="text-ink-3">
            {" · "}
            <VisibleLine text={worker.version} />
          </span>
        )}
      </span>
      {worker.blockedAt !== null && (
        <span className="text-xs text-interrupted">
          its event loop was blocked <Ago at={worker.blockedAt} />
        </span>
      )}
    </div>
  );
}

function Runs({ worker: { runIds, concurrency } }: { readonly worker: Worker }): ReactNode {
  return (
    <div className="flex flex-col gap-0.5">
      <span className="flex items-center gap-2">
        <span className="whitespace-nowrap">
          {runIds.length} <span className="text-ink-3">/ {concurrency}</span>
        </span>
        <span className="w-16">
          <BudgetBar charged={runIds.length} reserved={0} limit={concurrency} />
        </span>
      </span>
      {runIds.length > 0 && (
        <span className="flex flex-wrap gap-x-2">
          {runIds.map((runId) => (
            <RunId key={runId} runId={runId} />
          ))}
        </span>
      )}
    </div>
  );
}

function Takes({ worker: { queues, pipelines } }: { readonly worker: Worker }): ReactNode {
  return (
    <div className="flex flex-col">
      <span className="flex flex-wrap gap-x-2">
        {pipelines.map((pipeline) => (
          <PipelineLink key={pipeline} pipeline={pipeline} />
        ))}
      </span>
      <span className="text-xs text-ink-3">
        from <VisibleLine text={queues.join(", ")} />
      </span>
    </div>
  );
}

const COUNT_WORDS: { readonly [count: string]: string } = {
  handedBack: "handed back",
  takeovers: "taken over",
};

function Done({ counts }: { readonly counts: Worker["counts"] }): ReactNode {
  const { claimed = 0, ...others } = counts;
  const shown = Object.entries(others).filter(([, count]) => count > 0);
  return (
    <div className="flex flex-col">
      <span>{countWords(claimed)} claimed</span>
      {shown.length > 0 && (
        <span className="text-xs text-ink-3">
          {shown.map(([name, count]) => `${countWords(count)} ${COUNT_WORDS[name] ?? name}`).join(", ")}
        </span>
      )}
    </div>
  );
}

/** How long the last runs were ready before it claimed them. */
function Latency({ latency }: { readonly latency: Worker["claimLatency"] }): ReactNode {
  if (latency === null) return <span className="text-ink-3">–</span>;
  return (
    <span
      className="whitespace-nowrap"
      title="Half of its last runs, and 95 of 100, were claimed within this time"
    >
      {durationWords(latency.p50Ms)}
      <span className="text-ink-3"> · p95 {durationWords(latency.p95Ms)}</span>
    </span>
  );
}
