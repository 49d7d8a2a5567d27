import type { ReactNode } from "react";
import type { RunStatus } from "../../api/documents.ts";
import { BudgetBar } from "../../parts/charts/budget-bar.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { PipelineLink } from "../../parts/text/pipeline-link.tsx";
import { Status } from "../../parts/text/status.tsx";
import { countWords } from "../../words/money-words.ts";
import { STATUSES } from "../../words/statuses.ts";
import { inUnit, type Spend, type Unit } from "./spend-bars.ts";
import { amountHeading, amountWords, shareWords } from "./spend-words.ts";

type NearRun = Spend["nearLimit"][number];

/** Runs that will soon ask for more, or end. */
export function NearLimit({ runs }: { readonly runs: readonly NearRun[] }): ReactNode {
  if (runs.length === 0) return null;
  const unitOf = ({ charged, reserved }: NearRun): Unit =>
    charged.microDollars + reserved.microDollars > 0 ? "money" : "tokens";
  const columns: readonly Column<NearRun>[] = [
    { name: "Run", cell: ({ runId }) => <RunId runId={runId} /> },
    { name: "Pipeline", cell: ({ pipeline }) => <PipelineLink pipeline={pipeline} />, isUnnamed: true },
    { name: "Charged", align: "right", cell: (run) => amountWords(run.charged, unitOf(run)) },
    { name: "Reserved", align: "right", cell: (run) => amountWords(run.reserved, unitOf(run)) },
    {
      name: "Of its budget",
      width: "minmax(8rem,1fr)",
      isLine: true,
      cell: (run) => <Share run={run} unit={unitOf(run)} />,
    },
  ];
  return (
    <Section title="Over 80 % of a budget now">
      <Table label="Runs over 80 % of a budget" columns={columns} rows={runs} keyOf={({ runId }) => runId} />
    </Section>
  );
}

function Share({ run, unit }: { readonly run: NearRun; readonly unit: Unit }): ReactNode {
  const [charged, reserved] = [inUnit(run.charged, unit), inUnit(run.reserved, unit)];
  return (
    <span className="inline-flex w-full max-w-72 items-center gap-2 max-md:max-w-48">
      <BudgetBar charged={charged} reserved={reserved} limit={(charged + reserved) / run.share} />
      <span className="w-12 text-right">{shareWords(run.share, 1)}</span>
    </span>
  );
}

export function TopPipelines({ spend, unit }: { readonly spend: Spend; readonly unit: Unit }): ReactNode {
  type Pipeline = Spend["pipelines"][number];
  const whole = inUnit(spend.total, unit);
  const columns: readonly Column<Pipeline>[] = [
    {
      name: "Pipeline",
      width: "minmax(0,1fr)",
      cell: ({ pipeline }) => <PipelineLink pipeline={pipeline} />,
    },
    { name: "Requests", align: "right", cell: ({ requests }) => countWords(requests) },
    {
      name: amountHeading(unit),
      align: "right",
      isUnnamed: true,
      cell: ({ charged }) => amountWords(charged, unit),
    },
    {
      name: "Share",
      align: "right",
      isUnnamed: true,
      cell: ({ charged }) => <span className="text-ink-3">{shareWords(inUnit(charged, unit), whole)}</span>,
    },
  ];
  return (
    <Section title="Pipelines">
      <Table
        label="Pipelines by cost"
        columns={columns}
        rows={spend.pipelines}
        keyOf={({ pipeline }) => pipeline}
      />
    </Section>
  );
}

export function CostlyRuns({ spend, unit }: { readonly spend: Spend; readonly unit: Unit }): ReactNode {
  type Costly = Spend["costly"][number];
  const columns: readonly Column<Costly>[] = [
    { name: "Run", width: "minmax(0,1fr)", cell: ({ runId }) => <RunId runId={runId} /> },
    { name: "Status", isUnnamed: true, cell: ({ status }) => <ShownStatus status={status} /> },
    { name: "Pipeline", isUnnamed: true, cell: ({ pipeline }) => <PipelineLink pipeline={pipeline} /> },
    {
      name: amountHeading(unit),
      align: "right",
      isUnnamed: true,
      cell: ({ charged }) => amountWords(charged, unit),
    },
  ];
  return (
    <Section title="Most expensive runs">
      <Table label="Most expensive runs" columns={columns} rows={spend.costly} keyOf={({ runId }) => runId} />
    </Section>
  );
}

/** The document has the status as a word: one that this page does not know stays one. */
function ShownStatus({ status }: { readonly status: string }): ReactNode {
  const known: RunStatus | undefined = STATUSES.find((each) => each === status);
  return known === undefined ? status : <Status status={known} />;
}
