import { resolve } from "node:path";
import { type ExportProgress, exportRun } from "../../export/export-run.ts";
import type { Command } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { counted, formatBytes } from "../screen/format.ts";
import { formatTable } from "../screen/table.ts";

export const exportCommand: Command = {
  name: "export",
  summary: "Write a run's transcript, trace, log, receipts and artifacts into a folder",
  arguments: [{ name: "run", summary: "the run's id, or a prefix of it" }],
  options: [{ flags: "--to <dir>", summary: "the folder, created if missing; required" }],
  example: "pawl export q-1 --to ./q-1",
  execute: (context, input) =>
    withExistingStore(
      context,
      input,
      async (store) => {
        const to = input.text("to");
        if (to === null) throw new WrongUseError("The target folder is missing: add --to <dir>.");
        const { runId } = await findRun(store, input.argument("run"));
        const folder = resolve(context.cwd, to);
        const files: ExportProgress[] = [];
        await exportRun(store, runId, folder, (file) => files.push(file));
        const written = files.filter(({ isMissing }) => !isMissing);
        const missing = files.filter(({ isMissing }) => isMissing).map(({ path }) => path);
        const table = formatTable(
          context,
          [
            { title: "file", value: ({ path }) => path.slice(folder.length + 1), rank: 0, atLeast: 12 },
            { title: "size", value: ({ bytes }) => formatBytes(bytes), rank: 0, align: "right" },
          ],
          written,
        );
        const gone =
          missing.length === 0
            ? ""
            : paragraph(
                `${counted(missing.length, "artifact")} cannot be exported, since \`pawl gc\` has deleted the content: ${missing.join(", ")}.`,
                context.stdout.columns,
              );
        return {
          exitCode: 0,
          document: { runId, folder, files: written.map(({ path, bytes }) => ({ path, bytes })), missing },
          text: `${paragraph(`Wrote ${counted(written.length, "file")} of run ${runId} to ${folder}.`, context.stdout.columns)}${table}${gone}`,
        };
      },
      { readOnly: true },
    ),
};
