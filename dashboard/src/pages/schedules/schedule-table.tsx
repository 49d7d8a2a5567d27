import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { Icon } from "../../parts/controls/icon.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { PipelineLink } from "../../parts/text/pipeline-link.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { Outcome } from "./outcome.tsx";

export type Schedule = Answer<"listSchedules">["items"][number];

type ScheduleTableProps = {
  readonly schedules: readonly Schedule[];
  readonly at: string | null;
  readonly onChoose: (name: string) => void;
};

export function ScheduleTable({ schedules, at, onChoose }: ScheduleTableProps): ReactNode {
  const columns: readonly Column<Schedule>[] = [
    {
      name: "Schedule",
      cell: ({ name }) => (
        <button
          type="button"
          aria-expanded={at === name}
          className="text-left font-medium text-accent hover:underline"
          onClick={() => onChoose(name)}
        >
          <VisibleLine text={name} />
        </button>
      ),
    },
    { name: "Pipeline", isUnnamed: true, cell: ({ pipeline }) => <PipelineLink pipeline={pipeline} /> },
    { name: "When", isUnnamed: true, cell: (schedule) => <When schedule={schedule} /> },
    { name: "Next", cell: (schedule) => <Next schedule={schedule} /> },
    {
      name: "Last",
      width: "minmax(0,1fr)",
      isLine: true,
      cell: ({ lastFiring }) => <Last firing={lastFiring} />,
    },
  ];
  return (
    <Table
      label="Schedules"
      columns={columns}
      rows={schedules}
      keyOf={({ name }) => name}
      at={at}
      onChoose={onChoose}
    />
  );
}

export function When({ schedule: { cron, timeZone } }: { readonly schedule: Schedule }): ReactNode {
  return (
    <span className="whitespace-nowrap">
      {cron !== null && (
        <code>
          <VisibleLine text={cron} />
        </code>
      )}
      {timeZone !== null && (
        <span className="ml-1.5 text-xs text-ink-3">
          <VisibleLine text={timeZone} />
        </span>
      )}
    </span>
  );
}

export function Next({
  schedule: { nextAt, pausedAt, pausedBy, isRemoved },
}: {
  readonly schedule: Schedule;
}): ReactNode {
  if (isRemoved) return <span className="text-ink-3">removed from the configuration</span>;
  if (pausedAt !== null) {
    return (
      <span className="text-interrupted">
        <Icon name="paused" /> paused <Ago at={pausedAt} />
        {pausedBy !== null && (
          <>
            {" "}
            by <VisibleLine text={pausedBy} />
          </>
        )}
      </span>
    );
  }
  return nextAt === null ? <span className="text-ink-3">never</span> : <Ago at={nextAt} />;
}

function Last({ firing }: { readonly firing: Schedule["lastFiring"] }): ReactNode {
  if (firing === null) return <span className="text-ink-3">never fired</span>;
  return (
    <>
      <Outcome outcome={firing.outcome} /> <Ago at={firing.plannedAt} />{" "}
      {firing.runId !== null && <RunId runId={firing.runId} />}
    </>
  );
}
