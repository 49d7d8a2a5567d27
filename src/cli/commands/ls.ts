import { runHeadDocument } from "../../account/documents/run-documents.ts";
import { shownStatus } from "../../account/run-status.ts";
import { awaitedKind } from "../../account/wait-time.ts";
import type { RunCursor, RunFilter, RunSummary, ShownStatus, StoreReader } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput } from "../context/command.ts";
import { labelOption } from "../context/label-argument.ts";
import { paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { withExistingStore } from "../run/command-store.ts";
import { formatAgo, formatMoment, formatMoney, formatWholeNumber, paintStatus } from "../screen/format.ts";
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
    { flags: "--queue <name>", summary: "only runs of this queue" },
    {
      flags: "--where <name=value>",
      summary: "only runs with this in their metadata; may be repeated",
      isRepeatable: true,
    },
    {
      flags: "--tool-error <name>",
      summary: "only runs with a failed call of this tool; '*' for any tool",
    },
    { flags: "--limit <n>", summary: `the maximum number of runs (default: ${DEFAULT_LIMIT})` },
    { flags: "--after <cursor>", summary: "the next page, behind the cursor that a page ends with" },
  ],
  example: "pawl ls --status waiting",
  execute: async (context, input) => {
    const limit = input.wholeNumber("limit", 1) ?? DEFAULT_LIMIT;
    const now = context.clock.now();
    const filter = filterOf(input);
    const { runs, awaited } = await withExistingStore(
      context,
      input,
      async (store) => {
        const found = await store.listRunSummaries({ ...filter, limit });
        return { runs: found, awaited: await awaitedBy(store, found) };
      },
      { readOnly: true },
    );
    const last = runs.length < limit ? undefined : runs.at(-1);
    const next = last === undefined ? null : cursorText(last);
    return {
      exitCode: 0,
      document: { runs: runs.map((run) => listedDocument(run, awaited, now)), next },
      text:
        runs.length === 0
          ? paragraph(nothing(filter), context.stdout.columns)
          : `${formatTable(context, columns(context, runs, awaited), runs)}${more(context, next, limit)}`,
    };
  },
};

function filterOf(input: CommandInput): RunFilter {
  const [status, pipeline, queue, toolError, after] = [
    "status",
    "pipeline",
    "queue",
    "toolError",
    "after",
  ].map((name) => input.text(name));
  const where = input.list("where");
  return {
    ...(typeof status === "string" ? { status: status as ShownStatus } : {}),
    ...(typeof pipeline === "string" ? { pipeline } : {}),
    ...(typeof queue === "string" ? { queue } : {}),
    ...(typeof toolError === "string" ? { toolError } : {}),
    ...(typeof after === "string" ? { after: readCursor(after) } : {}),
    ...(where.length === 0
      ? {}
      : { metadata: Object.fromEntries(where.map((text) => labelOption("--where", text))) }),
  };
}

/** The time and the id of the last run of a page. */
function cursorText({ createdAt, runId }: RunCursor): string {
  return `${createdAt}~${runId}`;
}

function readCursor(text: string): RunCursor {
  const [, createdAt, runId] = /^(\d{1,15})~(.+)$/s.exec(text) ?? [];
  if (createdAt !== undefined && runId !== undefined) return { createdAt: Number(createdAt), runId };
  throw new WrongUseError(
    `--after is ${JSON.stringify(text)}: give the cursor that a page of \`pawl ls\` ends with.`,
  );
}

/** What each run waits for, by run. */
type Awaited = ReadonlyMap<string, readonly string[]>;

async function awaitedBy(store: StoreReader, runs: readonly RunSummary[]): Promise<Awaited> {
  const waiting = runs.filter(({ status }) => status === "waiting").map(({ runId }) => runId);
  const found = new Map<string, readonly string[]>();
  for (const runId of waiting) {
    const open = await store.listWaits(runId, { open: true });
    found.set(runId, [...new Set(open.map(awaitedKind))]);
  }
  return found;
}

function listedDocument(run: RunSummary, awaited: Awaited, now: number): object {
  return { ...runHeadDocument(run, now), waitsFor: awaited.get(run.runId) ?? [] };
}

function columns(
  { clock }: CliContext,
  runs: readonly RunSummary[],
  awaited: Awaited,
): readonly Column<RunSummary>[] {
  const now = clock.now();
  const waitsFor = ({ runId }: RunSummary) => awaited.get(runId)?.join(", ") ?? "";
  const optional: readonly (Column<RunSummary> & { readonly isNeeded: (run: RunSummary) => boolean })[] = [
    {
      title: "queue",
      value: ({ queue }) => queue,
      rank: 4,
      atLeast: 6,
      isNeeded: ({ queue }) => queue !== "default",
    },
    {
      title: "waits for",
      value: waitsFor,
      rank: 2,
      atLeast: 9,
      isNeeded: (run) => waitsFor(run) !== "",
    },
    {
      title: "ready",
      value: (run) => readiness(run, now),
      rank: 3,
      isNeeded: (run) => readiness(run, now) !== "",
    },
  ];
  return [
    { title: "run", value: ({ runId }) => runId, rank: 0 },
    {
      title: "status",
      value: (run) => shownStatus(run, now),
      rank: 0,
      paint: (paints, text, run) => paintStatus(paints, shownStatus(run, now), text),
    },
    // Shown where a run of the list needs them.
    ...optional.filter(({ isNeeded }) => runs.some(isNeeded)).map(({ isNeeded: _, ...column }) => column),
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
    { title: "objective", value: ({ objective }) => objective ?? "", rank: 3, atLeast: 12 },
  ];
}

/** Until when a run sleeps, or since when it waits for a worker. */
function readiness({ status, wakeAt, readyAt }: RunSummary, now: number): string {
  if (wakeAt !== null) return `until ${formatMoment(wakeAt, now)}`;
  if (status !== "queued") return "";
  return readyAt === null ? "not started" : `since ${formatMoment(readyAt, now)}`;
}

function nothing(filter: RunFilter): string {
  return Object.keys(filter).length === 0
    ? "There are no runs yet: `pawl run <pipeline>` starts one."
    : "No run matches: leave out --status, --pipeline, --queue, --where, --tool-error or --after to see more.";
}

function more({ stdout }: CliContext, next: string | null, limit: number): string {
  return next === null
    ? ""
    : paragraph(
        `The newest ${limit}; there may be more: --limit <n> shows them, and --after ${next} the next page.`,
        stdout.columns,
      );
}
