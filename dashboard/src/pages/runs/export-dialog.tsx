import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { saveFile } from "../../browser/save-file.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { ConfirmDialog } from "../../parts/layout/confirm-dialog.tsx";
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
  return (
    <ConfirmDialog
      title={`Export ${counted(runIds.length, "run")}?`}
      verb={save.isPending ? "Exporting…" : "Export"}
      isBusy={save.isPending}
      error={save.error}
      failure="The archive did not come whole: nothing was saved."
      onConfirm={() => save.mutate()}
      onClose={onClose}
    >
      <p>
        A ZIP archive with a folder for each run: its transcript, trace, log, receipts and artifacts.{" "}
        <code>export.json</code> lists the runs, and what could not be exported.
      </p>
    </ConfirmDialog>
  );
}
