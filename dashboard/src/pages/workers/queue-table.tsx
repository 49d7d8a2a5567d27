import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { Icon } from "../../parts/controls/icon.tsx";
import { Link } from "../../parts/controls/link.tsx";
import { Command } from "../../parts/layout/empty-state.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { Ticking } from "../../parts/text/ticking.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { countWords } from "../../words/money-words.ts";
import { durationWords } from "../../words/time-words.ts";
import { type QueueRow, queueRows } from "./queue-rows.ts";

type QueueTableProps = {
  readonly activity: Answer<"getActivity">;
  readonly workers: Answer<"listWorkers">["items"];
};

/** How deep each queue is, and whether a worker takes from it. */
export function QueueTable({ activity, workers }: QueueTableProps): ReactNode {
  const rows = queueRows(activity, workers);
  if (rows.length === 0) return <p className="text-ink-3">Nothing is queued, and nothing runs.</p>;
  const columns: readonly Column<QueueRow>[] = [
    {
      name: "Queue",
      cell: ({ queue }) => (
        <span className="font-medium">
          <VisibleLine text={queue} />
        </span>
      ),
    },
    {
      name: "Ready",
      align: "right",
      cell: ({ ready }) => (
        <Link href="/?status=queued" className="hover:text-accent hover:underline">
          {countWords(ready)}
        </Link>
      ),
    },
    { name: "Oldest", align: "right", cell: (row) => <Oldest row={row} asOf={activity.asOf} /> },
    { name: "Running", align: "right", cell: ({ running }) => countWords(running) },
    { name: "Sleeping", align: "right", cell: ({ sleeping }) => countWords(sleeping) },
    { name: "Next wakes", align: "right", cell: (row) => <Next row={row} asOf={activity.asOf} /> },
    { name: "Taken", width: "1fr", isLine: true, cell: (row) => <Taken row={row} /> },
  ];
  return <Table label="Queues" columns={columns} rows={rows} keyOf={({ queue }) => queue} />;
}

function Oldest({ row, asOf }: { readonly row: QueueRow; readonly asOf: string }): ReactNode {
  if (row.ready === 0) return <span className="text-ink-3">–</span>;
  return (
    <Ticking ms={row.oldestMs} asOf={asOf}>
      {(ms) => durationWords(ms)}
    </Ticking>
  );
}

function Next({ row, asOf }: { readonly row: QueueRow; readonly asOf: string }): ReactNode {
  if (row.nextInMs === null) return <span className="text-ink-3">–</span>;
  return (
    <Ticking ms={row.nextInMs} asOf={asOf} isLeft>
      {(ms) =>
        ms < 0 ? (
          <span className="text-interrupted">{durationWords(-ms)} late</span>
        ) : (
          `in ${durationWords(ms)}`
        )
      }
    </Ticking>
  );
}

/** Runs that nothing takes wait for ever, and nothing else says so. */
function Taken({ row }: { readonly row: QueueRow }): ReactNode {
  if (row.untaken.length === 0) return <span className="text-ink-3">yes</span>;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1">
      <span className="text-interrupted">
        <Icon name="interrupted" /> no worker takes <VisibleLine text={row.untaken.join(", ")} />
      </span>
      <WorkerCommand queue={row.queue} />
    </span>
  );
}

/** Nothing that would be more than one word of a shell: the name of a queue comes from the one who starts a run. */
function WorkerCommand({ queue }: { readonly queue: string }): ReactNode {
  if (queue === "default") return <Command text="pawl worker" />;
  return /^[\w@%+=:,./][\w@%+=:,./~#-]*$/.test(queue) ? (
    <Command text={`pawl worker --queue ${queue}`} />
  ) : null;
}
