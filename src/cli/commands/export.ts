import { resolve } from "node:path";
import { type ExportProgress, exportRun } from "../../export/export-run.ts";
import { exportBundle } from "../../store/moving-runs.ts";
import { isPostgres } from "../../store/postgres-address.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { isStoreId, namedStoreId, shownAddress, withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { counted, formatBytes } from "../screen/format.ts";
import { formatNextSteps } from "../screen/next-steps.ts";
import { formatTable } from "../screen/table.ts";

export const exportCommand: Command = {
  name: "export",
  summary:
    "Write a run's transcript, trace, log, receipts and artifacts into a folder, or move it to another store",
  arguments: [{ name: "run", summary: "the run's id, or a prefix of it" }],
  options: [
    {
      flags: "--to <where>",
      summary:
        "the folder, created if missing; with --bundle the id or the address of the other store; required",
    },
    {
      flags: "--bundle <file>",
      summary: "move the run: write it to this file, for `pawl import` in the other store",
    },
  ],
  example: "pawl export q-1 --to ./q-1",
  execute: async (context, input) => {
    const [to, bundle] = [input.text("to"), input.text("bundle")];
    if (bundle !== null) return moveIntoFile(context, input, bundle, to);
    if (to === null) throw new WrongUseError("The target folder is missing: add --to <dir>.");
    if (isStoreId(to) || isPostgres(to))
      throw new WrongUseError(
        `--to ${shownAddress(to)} is a store, and a run is exported to a folder: name a folder, or add --bundle <file> to move the run to that store.`,
      );
    return exportToFolder(context, input, resolve(context.cwd, to));
  },
};

function exportToFolder(context: CliContext, input: CommandInput, folder: string): Promise<CommandResult> {
  return withExistingStore(
    context,
    input,
    async (store) => {
      const { runId } = await findRun(store, input.argument("run"));
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
  );
}

/** Marks the run as moved, and writes it to the file: in this order, so that it is never alive in two stores. */
async function moveIntoFile(
  context: CliContext,
  input: CommandInput,
  bundle: string,
  to: string | null,
): Promise<CommandResult> {
  if (to === null)
    throw new WrongUseError(
      "The store that the run moves to is missing: add --to with its id, which `pawl doctor` shows there, or with its address.",
    );
  const target = await namedStoreId(context, to);
  return withExistingStore(context, input, async (store) => {
    const { runId } = await findRun(store, input.argument("run"));
    const file = resolve(context.cwd, bundle);
    if (await store.isOwnFile(file))
      throw new WrongUseError(`${file} is a file of the store: write the bundle to another one.`);
    const moved = await exportBundle(store, runId, { file, to: target });
    const what = `${counted(moved.events, "event")} and ${counted(moved.blobs, "blob")}, verified`;
    const text = `Run ${runId} was moved to the store ${moved.to}: here it can only be read. ${file} (${formatBytes(moved.bytes)}) has ${what}; keep it private, as the database, until it was imported there.`;
    const place = isStoreId(to) ? "ADDRESS" : shownAddress(to);
    return {
      exitCode: 0,
      document: moved,
      text: `${paragraph(text, context.stdout.columns)}${formatNextSteps(context, [
        { what: "Import it there", commands: [`pawl import ${bundle} --store ${place}`] },
      ])}`,
    };
  });
}
