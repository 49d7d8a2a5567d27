import type { Command } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { counted } from "../screen/format.ts";
import { formatTable } from "../screen/table.ts";

export const verify: Command = {
  name: "verify",
  summary: "Check that no stored row of a run was changed, removed or reordered",
  arguments: [{ name: "run", summary: "the run's id, or a prefix of it" }],
  options: [],
  example: "pawl verify q-1",
  execute: (context, input) =>
    withExistingStore(
      context,
      input,
      async (store) => {
        const { runId } = await findRun(store, input.argument("run"));
        const verification = await store.verify(runId);
        const { events, receipts, blobs, problems } = verification;
        const seen = `${counted(events, "event")}, ${counted(receipts, "receipt")} and ${counted(blobs, "blob")}`;
        const list = formatTable(
          context,
          [
            { title: "row", value: ({ row }) => row, rank: 0, atLeast: 16 },
            { title: "problem", value: ({ what }) => what, rank: 0, atLeast: 16 },
          ],
          problems,
        );
        const isIntact = problems.length === 0;
        const text = isIntact
          ? `Run ${runId} is intact: ${seen}.`
          : `Run ${runId} is not intact: ${counted(problems.length, "problem")} in ${seen}. Restore the database from a backup before you resume this run.`;
        return {
          exitCode: isIntact ? 0 : 1,
          document: verification,
          text: paragraph(text, context.stdout.columns) + (isIntact ? "" : list),
        };
      },
      { readOnly: true },
    ),
};
