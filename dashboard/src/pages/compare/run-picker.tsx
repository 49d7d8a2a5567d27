import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { RunHead } from "../../api/documents.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Button } from "../../parts/controls/button.tsx";
import { TextField } from "../../parts/controls/field.tsx";
import { EmptyState } from "../../parts/layout/empty-state.tsx";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { Status } from "../../parts/text/status.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { type Candidate, runCandidates } from "./run-candidates.ts";

/** Nothing is given: the ids of two runs. */
export function RunFields({
  onChoose,
}: {
  readonly onChoose: (a: string, b: string | null) => void;
}): ReactNode {
  const [a, setA] = useState("");
  const [b, setB] = useState("");
  return (
    <form
      className="mx-auto flex w-full max-w-md flex-col gap-3 pt-12"
      onSubmit={(event) => {
        event.preventDefault();
        if (a.trim() !== "") onChoose(a.trim(), b.trim() === "" ? null : b.trim());
      }}
    >
      <p className="text-ink-2">
        Two runs side by side: where they part, what each called, and what that cost. A fork is compared with
        its parent.
      </p>
      <TextField
        label="Run a"
        autoComplete="off"
        autoFocus
        value={a}
        onChange={({ target }) => setA(target.value)}
      />
      <TextField
        label="Run b"
        hint="Leave it empty to choose from its forks and the runs of its pipeline."
        autoComplete="off"
        value={b}
        onChange={({ target }) => setB(target.value)}
      />
      <Button type="submit" kind="primary" disabled={a.trim() === ""} className="self-start">
        Compare
      </Button>
    </form>
  );
}

const LISTED = 100;

/** One run is given: its relatives, and other runs of its pipeline. */
export function RunPicker({
  head,
  onChoose,
}: {
  readonly head: RunHead;
  readonly onChoose: (runId: string) => void;
}): ReactNode {
  const { client } = useDashboard();
  const others = useQuery({
    queryKey: ["compare-with", head.runId, head.pipeline, head.forkedFrom],
    queryFn: async ({ signal }) => {
      const { items } = await client.listRuns({ pipeline: [head.pipeline], limit: LISTED, signal });
      if (head.forkedFrom === null || items.some(({ runId }) => runId === head.forkedFrom)) return items;
      // A parent that is older than what is listed is still the first choice; one that was deleted is not.
      const parent = await client.getRun({ runId: head.forkedFrom, signal }).catch(() => null);
      return parent === null ? items : [parent.head, ...items];
    },
  });
  return (
    <Section
      title="Choose a run to compare with"
      beside={
        <span className="inline-flex items-center gap-2 text-ink-2">
          <RunId runId={head.runId} />
          <VisibleLine text={head.objective ?? head.pipeline} />
        </span>
      }
    >
      <Loaded query={others} what="The other runs could not be read.">
        {(heads) => <Candidates candidates={runCandidates(head, heads)} onChoose={onChoose} />}
      </Loaded>
    </Section>
  );
}

type CandidatesProps = {
  readonly candidates: readonly Candidate[];
  readonly onChoose: (runId: string) => void;
};

function Candidates({ candidates, onChoose }: CandidatesProps): ReactNode {
  if (candidates.length === 0) {
    return (
      <EmptyState title="There is no other run of its pipeline." command="pawl fork <run> --at-turn 3">
        A fork continues from a turn of a run, and can be compared with it:
      </EmptyState>
    );
  }
  const columns: readonly Column<Candidate>[] = [
    { name: "Run", cell: ({ head }) => <RunId runId={head.runId} /> },
    {
      name: "Is",
      isUnnamed: true,
      cell: ({ why }) => <span className={why === "the same pipeline" ? "text-ink-3" : ""}>{why}</span>,
    },
    { name: "Status", isUnnamed: true, cell: ({ head }) => <Status status={head.status} /> },
    {
      name: "Objective",
      width: "minmax(0,1fr)",
      isUnnamed: true,
      isLine: true,
      cell: ({ head }) => (
        <span className="one-line block text-ink-2">
          <VisibleLine text={head.objective ?? ""} />
        </span>
      ),
    },
    { name: "Began", isUnnamed: true, cell: ({ head }) => <Ago at={head.createdAt} /> },
    {
      name: "Choose",
      align: "right",
      isUnnamed: true,
      cell: ({ head }) => (
        <Button kind="quiet" className="-my-1" onClick={() => onChoose(head.runId)}>
          Compare
        </Button>
      ),
    },
  ];
  return (
    <Table
      label="Runs to compare with"
      columns={columns}
      rows={candidates}
      keyOf={({ head }) => head.runId}
      onChoose={onChoose}
    />
  );
}
