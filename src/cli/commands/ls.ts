import type { RunRecord, RunStatus, StoreReader } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { withExistingStore } from "../run/command-store.ts";
import { runDocument } from "../screen/documents.ts";
import { formatAgo, formatMoney, formatWholeNumber, paintStatus } from "../screen/format.ts";
import { type ShownStatus, shownStatus } from "../screen/run-status.ts";
import { type Column, formatTable } from "../screen/table.ts";

/** Everything that the column `status` can show. */
const STATUSES = Object.keys({
  queued: true,
  running: true,
  interrupted: true,
  waiting: true,
  succeeded: true,
  failed: true,
  cancelled: true,
  moved: true,
} satisfies { readonly [S in ShownStatus]: true });
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
    const now = context.clock.now();
    const runs = await withExistingStore(context, input, (store) => listed(store, input, limit, now), {
      readOnly: true,
    });
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

/** The store does not tell a running run from an interrupted one, so these are filtered here, all of them. */
async function listed(
  store: StoreReader,
  input: CommandInput,
  limit: number,
  now: number,
): Promise<readonly RunRecord[]> {
  const pipeline = input.text("pipeline");
  const status = input.text("status");
  const ofPipeline = pipeline === null ? {} : { pipeline };
  if (status !== "running" && status !== "interrupted")
    return store.listRuns({
      limit,
      ...ofPipeline,
      ...(status === null ? {} : { status: status as RunStatus }),
    });
  const running = await store.listRuns({ status: "running", ...ofPipeline });
  return running.filter((run) => shownStatus(run, now) === status).slice(0, limit);
}

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
