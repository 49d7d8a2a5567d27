import type { Command } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { withExistingStore } from "../run/command-store.ts";
import { counted, formatBytes } from "../screen/format.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const DEFAULT_DAYS = 30;

export const gc: Command = {
  name: "gc",
  summary: "Delete large results and artifacts of runs that ended long ago",
  arguments: [],
  options: [
    { flags: "--dry-run", summary: "report what would be deleted, without deleting it" },
    {
      flags: "--older-than <days>",
      summary: `only of runs that ended more than this many days ago (default: ${DEFAULT_DAYS})`,
    },
    {
      flags: "--max-bytes <n>",
      summary: "also delete the oldest of the rest until at most this much is left",
    },
  ],
  example: "pawl gc --dry-run --older-than 7",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const dryRun = input.flag("dryRun");
      const days = input.wholeNumber("olderThan", 0) ?? DEFAULT_DAYS;
      const maxBytes = input.wholeNumber("maxBytes", 0) ?? Number.MAX_SAFE_INTEGER;
      const { blobs, bytes } = await store.collectBlobs({ olderThanMs: days * DAY_MS, maxBytes, dryRun });
      const what = `${counted(blobs, "blob")} (${formatBytes(bytes)})`;
      return {
        exitCode: 0,
        document: { dryRun, olderThanDays: days, blobs, bytes },
        text: paragraph(
          dryRun
            ? `${what} would be deleted. Nothing was deleted: leave out --dry-run to do it.`
            : `Deleted ${what} of ended runs; their history and receipts are kept.`,
          context.stdout.columns,
        ),
      };
    }),
};
