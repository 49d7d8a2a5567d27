import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Dialog } from "../../parts/controls/dialog.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { RecordedAs } from "../../parts/text/recorded-as.tsx";
import { counted } from "../../words/money-words.ts";

export type BulkAction = "cancel" | "resume";
export const MOST_AT_ONCE = 500;

type BulkDialogProps = {
  readonly action: BulkAction;
  readonly runIds: readonly string[];
  readonly onClose: () => void;
};

/** First what would become of each run; after the confirmation, what became of it. One that fails stops none of the others. */
export function BulkDialog({ action, runIds, onClose }: BulkDialogProps): ReactNode {
  const { client } = useDashboard();
  const plan = useQuery({
    queryKey: ["bulk", action, runIds],
    queryFn: ({ signal }) => client.bulk({ signal }, { action, runIds: [...runIds], isDryRun: true }),
    staleTime: 0,
    gcTime: 0,
  });
  const act = useMutation({ mutationFn: () => client.bulk({}, { action, runIds: [...runIds] }) });
  const results = act.data?.results ?? plan.data?.results;
  const possible = plan.data?.results.filter(isChanged).length ?? 0;
  const confirm = (): void => {
    if (possible > 0 && act.isIdle) act.mutate();
  };
  const verb = action === "cancel" ? "Cancel" : "Resume";
  return (
    <Dialog
      title={act.isSuccess ? `${verb}: what became of each` : `${verb} ${counted(runIds.length, "run")}?`}
      width="wide"
      onClose={onClose}
      onConfirm={confirm}
      footer={
        act.isSuccess ? (
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        ) : (
          <>
            <RecordedAs />
            <Button onClick={onClose}>Back</Button>
            <Button
              kind={action === "cancel" ? "danger" : "primary"}
              disabled={possible === 0 || act.isPending}
              onClick={confirm}
            >
              {verb} {counted(possible, "run")}
            </Button>
          </>
        )
      }
    >
      {plan.error !== null && (
        <ProblemNotice
          error={plan.error}
          what="It is not known what would happen."
          onRetry={() => void plan.refetch()}
        />
      )}
      {act.error !== null && (
        <ProblemNotice error={act.error} what="The runs were not changed, or not all of them." />
      )}
      {results === undefined && plan.error === null && (
        <p className="text-ink-3">Asking what would become of each…</p>
      )}
      {results !== undefined && <Results results={results} isDone={act.isSuccess} />}
    </Dialog>
  );
}

type Result = Answer<"bulk">["results"][number];

/** Runs that have ended, or that a worker has, stay as they are. */
function isChanged({ problem, outcome }: Result): boolean {
  return problem === null && outcome !== "over" && outcome !== "busy";
}

function Results({
  results,
  isDone,
}: {
  readonly results: readonly Result[];
  readonly isDone: boolean;
}): ReactNode {
  return (
    <ul aria-label="Outcomes" className="flex flex-col">
      {results.map((result) => (
        <li
          key={result.runId}
          className="grid grid-cols-[minmax(6rem,12rem)_minmax(0,1fr)] gap-3 border-b border-line py-1 last:border-0"
        >
          <RunId runId={result.runId} />
          <Outcome result={result} isDone={isDone} />
        </li>
      ))}
    </ul>
  );
}

function Outcome({ result, isDone }: { readonly result: Result; readonly isDone: boolean }): ReactNode {
  if (result.problem !== null) {
    return (
      <span className="text-failed">
        <Icon name="failed" /> {result.problem.detail}
      </span>
    );
  }
  const calls = result.callsRunning ?? 0;
  return (
    <span className={isDone ? "text-succeeded" : ""}>
      {isDone && <Icon name="succeeded" />} {outcomeWords(result.outcome, isDone)}
      {calls > 0 && (
        <span className="text-interrupted"> · {counted(calls, "call")} under way may end in doubt</span>
      )}
    </span>
  );
}

function outcomeWords(outcome: string | null, isDone: boolean): string {
  switch (outcome ?? "") {
    case "cancelled":
      return isDone ? "cancelled" : "is cancelled at once";
    case "requested":
      return isDone ? "asked; its worker does it" : "its worker is asked to";
    case "over":
      return "is over already: nothing changes";
    case "busy":
      return "a worker has it: nothing changes";
    default:
      return outcome ?? "";
  }
}
