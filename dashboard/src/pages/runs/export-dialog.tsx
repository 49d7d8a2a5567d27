import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { saveFile } from "../../browser/save-file.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Dialog } from "../../parts/controls/dialog.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { RecordedAs } from "../../parts/text/recorded-as.tsx";
import { counted } from "../../words/money-words.ts";

type ExportDialogProps = { readonly runIds: readonly string[]; readonly onClose: () => void };

/** Saves the selected runs as one archive, if it has come whole. Leaving the dialog ends it. */
export function ExportDialog({ runIds, onClose }: ExportDialogProps): ReactNode {
  const { client } = useDashboard();
  const leaving = useRef<AbortController>(null);
  useEffect(() => () => leaving.current?.abort(), []);
  const save = useMutation({
    mutationFn: async () => {
      leaving.current = new AbortController();
      const { signal } = leaving.current;
      const response = await client.exportRuns({ signal }, { runIds: [...runIds] });
      saveFile(await response.blob(), "runs.zip");
    },
    onSuccess: onClose,
  });
  const confirm = (): void => {
    if (!save.isPending) save.mutate();
  };
  return (
    <Dialog
      title={`Export ${counted(runIds.length, "run")}?`}
      onClose={onClose}
      onConfirm={confirm}
      footer={
        <>
          <RecordedAs />
          <Button onClick={onClose}>Back</Button>
          <Button kind="primary" disabled={save.isPending} onClick={confirm}>
            {save.isPending ? "Exporting…" : "Export"}
          </Button>
        </>
      }
    >
      <p>
        A ZIP archive with a folder for each run: its transcript, trace, log, receipts and artifacts.{" "}
        <code>export.json</code> lists the runs, and what could not be exported.
      </p>
      {save.error !== null && (
        <ProblemNotice error={save.error} what="The archive did not come whole: nothing was saved." />
      )}
    </Dialog>
  );
}
