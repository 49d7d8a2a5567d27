import { nextSteps } from "../../account/next-steps.ts";
import { readRunReport, reportDocument } from "../../account/run-report.ts";
import type { Command } from "../context/command.ts";
import { writePieces } from "../context/write-pieces.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { commandSteps } from "../screen/next-steps.ts";
import { reportText } from "../screen/run-report-text.ts";

export const show: Command = {
  name: "show",
  summary: "Show one run: what it did, what it used, and what to do next",
  arguments: [{ name: "run", summary: "the run's id, or a prefix of it" }],
  options: [],
  example: "pawl show q-1",
  execute: (context, input) =>
    withExistingStore(
      context,
      input,
      async (store) => {
        const { runId } = await findRun(store, input.argument("run"));
        const report = await readRunReport(store, runId);
        const now = context.clock.now();
        const next = commandSteps(input, nextSteps(report.run, report.openWaits, report.doubts, now));
        if (input.json) return writePieces(context, reportDocument(store, report, now, next));
        return { exitCode: 0, document: undefined, text: reportText(context, report, next) };
      },
      { readOnly: true },
    ),
};
