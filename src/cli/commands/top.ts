import { workerDocument } from "../../account/documents/worker-documents.ts";
import type { StoreReader } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandResult } from "../context/command.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { shownAddress, storeAddress, withExistingStore } from "../run/command-store.ts";
import { activityText } from "../screen/activity-text.ts";
import { ActivityReader, type ActivityView } from "../screen/activity-view.ts";
import { isoTime, paint } from "../screen/format.ts";
import { LiveScreen, onKeys } from "../screen/live-screen.ts";

const REDRAW_MS = 1_000;

/** It reads for at most this share of the time, however large the store is. */
const READING_SHARE = 0.1;

const CTRL_C = "\u0003";

export const top: Command = {
  name: "top",
  summary: "Watch queues, workers, the runs they hold, and what waits",
  arguments: [],
  options: [{ flags: "--once", summary: "print it once; so do a pipe and --json" }],
  example: "pawl top",
  execute: async (context, input) => {
    const title = shownAddress(await storeAddress(context, input));
    return withExistingStore(
      context,
      input,
      async (store) => {
        if (context.stdout.isTerminal && !input.json && !input.flag("once"))
          return watch(context, store, title);
        const view = await new ActivityReader(store).read(context.clock.now());
        return { exitCode: 0, text: activityText(context, view, title), document: viewDocument(view) };
      },
      { readOnly: true },
    );
  },
};

/** Draws until the user presses q or Ctrl-C. A store that cannot be read for a while is no end. */
async function watch(context: CliContext, store: StoreReader, title: string): Promise<CommandResult> {
  const { stdout, clock } = context;
  const stop = new AbortController();
  const stopListening = context.onInterrupt(() => stop.abort());
  const stopKeys = onKeys(context, (keys) => {
    if (keys.includes("q") || keys.includes(CTRL_C)) stop.abort();
  });
  const screen = new LiveScreen(stdout);
  const reader = new ActivityReader(store);
  let view: ActivityView | null = null;
  screen.start();
  try {
    while (!stop.signal.aborted && !stdout.isClosed) {
      const began = clock.monotonic();
      let trouble = "";
      try {
        view = await reader.read(clock.now());
      } catch (error) {
        if (view === null) throw error;
        trouble = `\n${failureText(context, error)}`;
      }
      if (view !== null) screen.draw(`${activityText(context, view, `q ends  ${title}`)}${trouble}`);
      const tookMs = clock.monotonic() - began;
      await clock
        .sleep(Math.max(REDRAW_MS - tookMs, tookMs / READING_SHARE), stop.signal)
        .catch(() => undefined);
    }
  } finally {
    screen.stop();
    stopKeys();
    stopListening();
  }
  return { exitCode: 0, text: "", document: undefined };
}

function failureText(context: CliContext, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return paint(context).red(cleanLine(`The store cannot be read, and is tried again: ${why}`));
}

function viewDocument({ at, workers, ...activity }: ActivityView): object {
  return {
    at: isoTime(at),
    ...activity,
    workers: workers.map(workerDocument),
  };
}
