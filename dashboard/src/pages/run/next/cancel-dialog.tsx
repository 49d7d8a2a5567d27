import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useDashboard } from "../../../live/dashboard-context.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { Dialog } from "../../../parts/controls/dialog.tsx";
import { ProblemNotice } from "../../../parts/layout/notice.tsx";
import { RecordedAs } from "../../../parts/text/recorded-as.tsx";
import type { Run } from "./standing-words.ts";

const OUTCOMES = {
  cancelled: "The run is cancelled.",
  requested:
    "Its worker was asked to stop. The run is cancelled when the calls that are under way have ended.",
  over: "The run had ended before. Nothing was changed.",
} as const;

export function CancelDialog({
  run,
  onClose,
}: {
  readonly run: Run;
  readonly onClose: () => void;
}): ReactNode {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const { runId, status, callsInDoubt } = run.head;
  const cancel = useMutation({
    mutationFn: () => client.cancelRun({ runId }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["run", runId] }),
  });
  return (
    <Dialog
      title="Cancel the run?"
      onClose={onClose}
      footer={
        cancel.data === undefined ? (
          <>
            <RecordedAs />
            <Button onClick={onClose}>Keep it</Button>
            <Button kind="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
              Cancel the run
            </Button>
          </>
        ) : (
          <Button onClick={onClose}>Close</Button>
        )
      }
    >
      {cancel.error !== null && <ProblemNotice error={cancel.error} what="Nothing was cancelled." />}
      {cancel.data === undefined ? (
        <div className="flex flex-col gap-2">
          <p>
            {status === "running"
              ? "Its worker stops before the next call. Calls that are under way end first."
              : "No worker has it, so it is cancelled at once."}
          </p>
          {callsInDoubt > 0 && (
            <p>A call of it is in doubt, and stays so: settle it to know what has happened.</p>
          )}
          <p className="text-ink-2">What it has done stays done. It can be resumed later.</p>
        </div>
      ) : (
        <p>{OUTCOMES[cancel.data.outcome]}</p>
      )}
    </Dialog>
  );
}
