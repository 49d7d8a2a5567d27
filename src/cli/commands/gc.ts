import { deleteRuns } from "../../store/delete-runs.ts";
import type { EndedStatus, Store } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { ageOption } from "../context/duration-argument.ts";
import { paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { withExistingStore } from "../run/command-store.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { counted, formatBytes, formatMoney, formatWholeNumber } from "../screen/format.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const DEFAULT_AGE = "30d";
const STATUSES = Object.keys({
  succeeded: true,
  failed: true,
  cancelled: true,
  moved: true,
} satisfies { readonly [S in EndedStatus]: true });

export const gc: Command = {
  name: "gc",
  summary: "Delete large results of runs that ended long ago, or the runs themselves",
  arguments: [],
  options: [
    { flags: "--dry-run", summary: "report what would be deleted, without deleting it" },
    {
      flags: "--older-than <age>",
      summary: `only of runs that ended longer ago than this: 30d, 12h, 45m (default: ${DEFAULT_AGE})`,
    },
    {
      flags: "--max-bytes <n>",
      summary: "also delete the oldest of the rest until at most this much is left",
    },
    {
      flags: "--runs",
      summary: "delete the runs with everything that is stored of them; needs --older-than",
    },
    { flags: "--status <status>", summary: "with --runs: only runs with this status", choices: STATUSES },
    { flags: "--pipeline <name>", summary: "with --runs: only runs of this pipeline" },
    { flags: "--limit <n>", summary: "with --runs: at most this many" },
    { flags: "--why <text>", summary: "with --runs: the reason, kept for each deleted run" },
    BY_OPTION,
  ],
  example: "pawl gc --runs --older-than 90d --dry-run",
  execute: (context, input) => {
    assertFit(input);
    return withExistingStore(context, input, (store) =>
      input.flag("runs") ? collectRuns(context, input, store) : collectBlobs(context, input, store),
    );
  },
};

const OF_RUNS = ["status", "pipeline", "limit", "why", "by"];

function assertFit(input: CommandInput): void {
  const isOfRuns = input.flag("runs");
  if (isOfRuns && input.text("olderThan") === null)
    throw new WrongUseError(
      "`pawl gc --runs` deletes runs for good: say how old they must be, such as --older-than 90d.",
    );
  if (isOfRuns && input.text("maxBytes") !== null)
    throw new WrongUseError(
      "--max-bytes is about large results, and not about --runs: leave one of them out.",
    );
  const stray = OF_RUNS.find((name) => input.text(name) !== null);
  if (!isOfRuns && stray !== undefined)
    throw new WrongUseError(
      `--${stray} is about runs that are deleted: give --runs as well, or leave it out.`,
    );
}

async function collectBlobs(context: CliContext, input: CommandInput, store: Store): Promise<CommandResult> {
  const dryRun = input.flag("dryRun");
  const olderThanMs = ageOption("--older-than", input.text("olderThan") ?? DEFAULT_AGE);
  const maxBytes = input.wholeNumber("maxBytes", 0) ?? Number.MAX_SAFE_INTEGER;
  const { blobs, bytes } = await store.collectBlobs({ olderThanMs, maxBytes, dryRun });
  const what = `${counted(blobs, "blob")} (${formatBytes(bytes)})`;
  return {
    exitCode: 0,
    document: { dryRun, olderThanDays: olderThanMs / DAY_MS, blobs, bytes },
    text: paragraph(
      dryRun
        ? `${what} would be deleted. Nothing was deleted: leave out --dry-run to do it.`
        : `Deleted ${what} of ended runs; their history and receipts are kept.`,
      context.stdout.columns,
    ),
  };
}

async function collectRuns(context: CliContext, input: CommandInput, store: Store): Promise<CommandResult> {
  const dryRun = input.flag("dryRun");
  const olderThanMs = ageOption("--older-than", input.text("olderThan") ?? DEFAULT_AGE);
  const [status, pipeline, why] = [input.text("status"), input.text("pipeline"), input.text("why")];
  const limit = input.wholeNumber("limit", 1);
  const by = personOf(context, input);
  if (why?.trim() === "") throw new WrongUseError("--why is blank: give the reason, or leave it out.");
  const progress = progressLine(context, dryRun);
  const { runs, charged, kept } = await deleteRuns(store, {
    endedBefore: context.clock.now() - olderThanMs,
    dryRun,
    ...(status === null ? {} : { status: status as EndedStatus }),
    ...(pipeline === null ? {} : { pipeline }),
    ...(limit === null ? {} : { limit }),
    why: why ?? `It ended more than ${input.text("olderThan") ?? DEFAULT_AGE} ago.`,
    by,
    onProgress: (soFar) => progress.show(soFar.runs),
  }).finally(() => progress.clear());
  return {
    exitCode: 0,
    document: { dryRun, olderThanMs, status, pipeline, runs, charged, kept },
    text: paragraph(
      [
        runs === 0
          ? "No such run ended that long ago: nothing was deleted."
          : dryRun
            ? `${counted(runs, "run")} would be deleted, which cost ${formatMoney(charged.microDollars)}. Nothing was deleted: leave out --dry-run to do it.`
            : `Deleted ${counted(runs, "run")}, which cost ${formatMoney(charged.microDollars)}. A tombstone of each is kept, and its id is not used again.`,
        ...(kept === 0 ? [] : [`${counted(kept, "run")} continued meanwhile, and stayed.`]),
      ].join(" "),
      context.stdout.columns,
    ),
  };
}

/** One line that changes, on a terminal; nothing elsewhere. */
function progressLine({ stderr }: CliContext, dryRun: boolean) {
  const write = (text: string) => {
    if (stderr.isTerminal) stderr.write(`\r\u001b[K${text}`);
  };
  return {
    show: (runs: number) => write(`${formatWholeNumber(runs)} runs ${dryRun ? "found" : "deleted"} …`),
    clear: () => write(""),
  };
}
