import { LogReader, WHOLE_LOG } from "../../export/log-reader.ts";
import { jsonPieces, type TextPieces } from "../../export/text-pieces.ts";
import type { EventRecord, StoreReader } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandEnd, CommandInput } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { cut, pad } from "../context/terminal-text.ts";
import { writePieces } from "../context/write-pieces.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { eventDocument } from "../screen/documents.ts";
import { eventText, isHeartbeat } from "../screen/event-text.ts";
import { formatTimeOfDay, paint } from "../screen/format.ts";
import { formatNextSteps } from "../screen/next-steps.ts";
import { hasEnded } from "../screen/run-status.ts";

const POLL_MS = 200;
const TYPE_COLUMNS = 16;

export const tail: Command = {
  name: "tail",
  summary: "Print the events of a run; --follow goes on until it ends",
  arguments: [{ name: "run", summary: "its id, or the beginning of it" }],
  options: [{ flags: "-f, --follow", summary: "go on as they come; with --json, one document a line" }],
  example: "pawl tail q-1 --follow",
  execute: (context, input) =>
    withExistingStore(
      context,
      input,
      async (store) => {
        const { runId } = await findRun(store, input.argument("run"));
        if (input.flag("follow")) return follow(context, input, store, runId);
        if (input.json) {
          const document = { runId, events: eventDocuments(store, runId) };
          return writePieces(context, jsonPieces(document, 2));
        }
        return writePieces(context, eventLines(context, store, runId));
      },
      { readOnly: true },
    ),
};

async function* eventLines(context: CliContext, store: StoreReader, runId: string): TextPieces {
  for await (const event of new LogReader(store, runId).events())
    yield await eventLine(context, store, runId, event);
}

async function* eventDocuments(store: StoreReader, runId: string): AsyncGenerator<object, void, undefined> {
  for await (const event of new LogReader(store, runId).events()) yield eventDocument(event);
}

/** Until the run has ended, the reader has left, or somebody presses Ctrl-C. */
async function follow(
  context: CliContext,
  input: CommandInput,
  store: StoreReader,
  runId: string,
): Promise<CommandEnd> {
  const stop = new AbortController();
  const forget = context.onInterrupt(() => stop.abort());
  try {
    let seen = 0;
    let isTold = false;
    for (;;) {
      // Read before the events: what is written in between is seen in the next round.
      const run = await store.getRun(runId);
      const log = new LogReader(store, runId, { firstSeq: seen + 1, lastSeq: WHOLE_LOG.lastSeq });
      for await (const event of log.events()) {
        if (context.stdout.isClosed) break;
        const line = input.json
          ? `${JSON.stringify(eventDocument(event))}\n`
          : await eventLine(context, store, runId, event);
        context.stdout.write(line);
        await context.stdout.drained();
        seen = event.seq;
      }
      if (context.stdout.isClosed) return { exitCode: 0, text: "", document: undefined };
      if (run === null || hasEnded(run)) return ended(context, input, runId, run?.status ?? "gone");
      if (stop.signal.aborted) return { exitCode: 130, text: "", document: undefined };
      if (run.status === "waiting" && !isTold) sayWaiting(context, input, runId);
      isTold = run.status === "waiting";
      await context.clock.sleep(POLL_MS, stop.signal).catch(() => undefined);
    }
  } finally {
    forget();
  }
}

function ended(context: CliContext, input: CommandInput, runId: string, status: string): CommandEnd {
  const what = `Run ${runId} ${status === "cancelled" ? "was cancelled" : `has ${status}`}`;
  const next = [{ what, commands: [commandHint(input, "show", runId)] }];
  return { exitCode: 0, text: formatNextSteps(context, next), document: undefined };
}

/** On stderr: it is no event. */
function sayWaiting(context: CliContext, input: CommandInput, runId: string): void {
  const next = [{ what: `Run ${runId} waits for a person`, commands: [commandHint(input, "waits", runId)] }];
  if (!input.json) context.stderr.write(formatNextSteps(context, next));
}

/** Cut to the terminal; whole for a pipe, where somebody may look for what is at its end. */
async function eventLine(
  context: CliContext,
  store: StoreReader,
  runId: string,
  event: EventRecord,
): Promise<string> {
  if (isHeartbeat(event)) return "";
  const { dim } = paint(context);
  const head = `${formatTimeOfDay(event.at)}  `;
  const rest = `${pad(event.type, TYPE_COLUMNS)}  ${await eventText(store, runId, event)}`.trimEnd();
  const room = context.stdout.isTerminal ? context.stdout.columns - head.length : Number.POSITIVE_INFINITY;
  return `${dim(head)}${cut(rest, room)}\n`;
}
