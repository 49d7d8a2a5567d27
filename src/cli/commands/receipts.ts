import { callsInDoubt } from "../../account/calls-in-doubt.ts";
import { callDocument } from "../../account/documents/call-documents.ts";
import { doubtStep } from "../../account/next-steps.ts";
import type { Command } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { counted } from "../screen/format.ts";
import { commandSteps, formatNextSteps } from "../screen/next-steps.ts";
import { callColumns } from "../screen/run-report-text.ts";
import { formatTable } from "../screen/table.ts";

export const receipts: Command = {
  name: "receipts",
  summary: "List the tool calls of a run and their outcomes",
  arguments: [{ name: "run", summary: "the run's id, or a prefix of it" }],
  options: [
    { flags: "--tool <name>", summary: "only calls of this tool" },
    { flags: "--in-doubt", summary: "only calls whose outcome is unknown" },
  ],
  example: "pawl receipts q-1 --in-doubt",
  execute: (context, input) =>
    withExistingStore(
      context,
      input,
      async (store) => {
        const { runId } = await findRun(store, input.argument("run"));
        const tool = input.text("tool");
        const all = await store.listToolCalls(runId);
        const ofTool = all.filter((call) => tool === null || call.tool === tool);
        const doubts = callsInDoubt(ofTool, await store.listWaits(runId));
        const calls = input.flag("inDoubt") ? doubts : ofTool;
        const next = commandSteps(
          input,
          doubts.map(({ toolCallId }) => doubtStep(toolCallId)),
        );
        const table = formatTable(context, callColumns(), calls);
        const nothing = `None of the ${counted(all.length, "tool call")} of run ${runId} matches.`;
        return {
          exitCode: 0,
          document: { runId, calls: calls.map(callDocument), next },
          text:
            calls.length === 0
              ? paragraph(nothing, context.stdout.columns)
              : table + formatNextSteps(context, next),
        };
      },
      { readOnly: true },
    ),
};
