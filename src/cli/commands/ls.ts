import type { RunRecord } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { withExistingStore } from "../run/command-store.ts";
import { runDocument } from "../screen/documents.ts";
import { formatAgo, formatMoney, formatWholeNumber, paintStatus } from "../screen/format.ts";
import { shownStatus } from "../screen/run-status.ts";
import { type Column, formatTable } from "../screen/table.ts";

const STATUSES = ["queued", "running", "waiting", "succeeded", "failed", "cancelled"] as const;
const DEFAULT_LIMIT = 20;

export const ls: Command = {
  name: "ls",
  summary: "List runs, newest first",
  arguments: [],
  options: [
    { flags: "--status <status>", summary: "only runs with this status", choices: STATUSES },
    { flags: "--pipeline <name>", summary: "only runs of this pipeline" },
    { flags: "--limit <n>", summary: `the maximum number of runs (default: ${DEFAULT_LIMIT})` },
  ],
  example: "pawl ls --status waiting",
  execute: async (context, input) => {
    const limit = input.wholeNumber("limit", 1) ?? DEFAULT_LIMIT;
    const status = STATUSES.find((each) => each === input.text("status"));
    const pipeline = input.text("pipeline");
    const runs = await withExistingStore(
      context,
      input,
      (store) =>
        store.listRuns({
          limit,
          ...(status === undefined ? {} : { status }),
          ...(pipeline === null ? {} : { pipeline }),
        }),
      { readOnly: true },
    );
    const now = context.clock.now();
    return {
      exitCode: 0,
      document: { runs: runs.map((run) => runDocument(run, now)) },
      text:
        runs.length === 0
          ? paragraph(nothing(input), context.stdout.columns)
          : `${formatTable(context, columns(context), runs)}${more(context, runs, limit)}`,
    };
  },
};

function columns({ clock }: CliContext): readonly Column<RunRecord>[] {
  const now = clock.now();
  return [
    { title: "run", value: ({ runId }) => runId, rank: 0 },
    {
      title: "status",
      value: (run) => shownStatus(run, now),
      rank: 0,
      paint: (paints, text, run) => paintStatus(paints, shownStatus(run, now), text),
    },
    { title: "pipeline", value: ({ pipeline }) => pipeline, rank: 1, atLeast: 8 },
    { title: "step", value: ({ currentStep }) => currentStep ?? "", rank: 4, atLeast: 8 },
    { title: "updated", value: ({ updatedAt }) => formatAgo(updatedAt, now), rank: 2 },
    {
      title: "tokens",
      value: ({ charged }) => (charged.tokens === 0 ? "" : formatWholeNumber(charged.tokens)),
      rank: 6,
      align: "right",
    },
    {
      title: "cost",
      value: ({ charged }) => (charged.microDollars === 0 ? "" : formatMoney(charged.microDollars)),
      rank: 5,
      align: "right",
    },
    { title: "objective", value: ({ spec }) => spec?.objective ?? "", rank: 3, atLeast: 12 },
  ];
}

function nothing(input: CommandInput): string {
  return input.text("status") === null && input.text("pipeline") === null
    ? "There are no runs yet: `pawl run <pipeline>` starts one."
    : "No run matches: leave out --status or --pipeline to see more.";
}

function more({ stdout }: CliContext, runs: readonly RunRecord[], limit: number): string {
  return runs.length < limit
    ? ""
    : paragraph(`The newest ${limit}; there may be more: --limit <n> shows them.`, stdout.columns);
}
