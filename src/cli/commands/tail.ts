import { eventDocument } from "../../account/documents/run-documents.ts";
import { hasEnded } from "../../account/run-status.ts";
import { asksPeople } from "../../core/wait.ts";
import { cursorBehind } from "../../engine/watch/watch-cursor.ts";
import { watchRun } from "../../engine/watch/watch-run.ts";
import { LogReader, WHOLE_LOG } from "../../export/log-reader.ts";
import { jsonPieces, type TextPieces } from "../../export/text-pieces.ts";
import type { EventRecord, StoreReader } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { cut, pad } from "../context/terminal-text.ts";
import { writePieces } from "../context/write-pieces.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { AnswerBlock } from "../screen/answer-block.ts";
import { eventText } from "../screen/event-text.ts";
import { formatTimeOfDay, paint } from "../screen/format.ts";
import { formatNextSteps } from "../screen/next-steps.ts";

const POLL_MS = 200;
const TYPE_COLUMNS = 16;

export const tail: Command = {
  name: "tail",
  summary: "Print the events of a run; --follow continues until it ends",
  arguments: [{ name: "run", summary: "the run's id, or a prefix of it" }],
  options: [
    { flags: "-f, --follow", summary: "print new events as they arrive; with --json, one document per line" },
    {
      flags: "--live",
      summary: "with --follow and --json: also the pieces of answers, and those taken back",
    },
  ],
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
      // One who follows is shown the answers as they come: the worker has to know.
      { readOnly: !(input.flag("follow") && (context.stdout.isTerminal || input.flag("live"))) },
    ),
};

async function* eventLines(context: CliContext, store: StoreReader, runId: string): TextPieces {
  for await (const event of new LogReader(store, runId).events())
    yield await eventLine(context, store, runId, event);
}

async function* eventDocuments(store: StoreReader, runId: string): AsyncGenerator<object, void, undefined> {
  for await (const event of new LogReader(store, runId).events()) yield eventDocument(event);
}

/** Prints events until the run ends, the reader closes the stream, or the user presses Ctrl-C. */
async function follow(
  context: CliContext,
  input: CommandInput,
  store: StoreReader,
  runId: string,
): Promise<CommandResult> {
  const stop = new AbortController();
  const stopListening = context.onInterrupt(() => stop.abort());
  const { isTerminal } = context.stdout;
  const block = isTerminal && !input.json ? new AnswerBlock(context.stdout, paint(context).dim) : null;
  const live = new LiveTail(context, { store, runId }, block, input.json && input.flag("live"));
  try {
    let seen = 0;
    let isReported = false;
    for (;;) {
      // Read before the events: an event written in between is printed in the next round.
      const run = await store.getRun(runId);
      const log = new LogReader(store, runId, { firstSeq: seen + 1, lastSeq: WHOLE_LOG.lastSeq });
      for await (const event of log.events()) {
        if (context.stdout.isClosed) break;
        const line = input.json
          ? `${JSON.stringify(eventDocument(event))}\n`
          : await eventLine(context, store, runId, event);
        live.begin(event.seq);
        if (block === null) context.stdout.write(line);
        else block.print(line);
        await context.stdout.drained();
        seen = event.seq;
      }
      if (context.stdout.isClosed) return { exitCode: 0, text: "", document: undefined };
      if (run === null || hasEnded(run)) return ended(context, input, runId, run?.status ?? "gone");
      if (stop.signal.aborted) return { exitCode: 130, text: "", document: undefined };
      if (run.status === "waiting" && !isReported) await reportWaiting(context, input, store, runId);
      isReported = run.status === "waiting";
      await context.clock.sleep(POLL_MS, stop.signal).catch(() => undefined);
    }
  } finally {
    stopListening();
    await live.end();
  }
}

/** Shows the answers that are being written, beside the log: on a terminal below it, in JSON as documents of their own. */
class LiveTail {
  readonly #context: CliContext;
  readonly #run: { readonly store: StoreReader; readonly runId: string };
  readonly #block: AnswerBlock | null;
  readonly #isJson: boolean;
  readonly #left = new AbortController();
  #watching: Promise<void> | null = null;

  constructor(
    context: CliContext,
    run: { readonly store: StoreReader; readonly runId: string },
    block: AnswerBlock | null,
    isJson: boolean,
  ) {
    this.#context = context;
    this.#run = run;
    this.#block = block;
    this.#isJson = isJson;
  }

  /** Begins with the first event: what is durable is printed by others, so nothing of that is read again. */
  begin(seq: number): void {
    if (this.#block === null && !this.#isJson) return;
    // What it cannot show is no reason to end the log.
    this.#watching ??= this.#watch(seq).catch(() => undefined);
  }

  async end(): Promise<void> {
    this.#left.abort();
    await this.#watching;
    this.#block?.end();
  }

  async #watch(seq: number): Promise<void> {
    const { store, runId } = this.#run;
    const { signal } = this.#left;
    for await (const event of watchRun(store, runId, { after: cursorBehind(runId, seq), signal })) {
      if (event.type === "turn.journaled") this.#block?.end();
      if (event.type !== "part" && event.type !== "attempt.withdrawn") continue;
      if (this.#isJson) this.#context.stdout.write(`${JSON.stringify(event)}\n`);
      else this.#block?.show(event);
    }
  }
}

function ended(context: CliContext, input: CommandInput, runId: string, status: string): CommandResult {
  const what = `Run ${runId} ${status === "cancelled" || status === "moved" ? `was ${status}` : `has ${status}`}`;
  const next = [{ what, commands: [commandHint(input, "show", runId)] }];
  return { exitCode: 0, text: formatNextSteps(context, next), document: undefined };
}

/** Written to stderr, since it is not an event. */
async function reportWaiting(
  context: CliContext,
  input: CommandInput,
  store: StoreReader,
  runId: string,
): Promise<void> {
  const open = await store.listWaits(runId, { open: true });
  const isForOthers = open.length > 0 && !open.some(({ kind }) => asksPeople(kind));
  const whom = isForOthers ? "" : " for a person";
  const next = [{ what: `Run ${runId} is waiting${whom}`, commands: [commandHint(input, "waits", runId)] }];
  if (!input.json) context.stderr.write(formatNextSteps(context, next));
}

/** Cut to the width of a terminal; in full for a pipe, which may be searched. */
async function eventLine(
  context: CliContext,
  store: StoreReader,
  runId: string,
  event: EventRecord,
): Promise<string> {
  const { dim } = paint(context);
  const head = `${formatTimeOfDay(event.at)}  `;
  const rest = `${pad(event.type, TYPE_COLUMNS)}  ${await eventText(store, runId, event)}`.trimEnd();
  const room = context.stdout.isTerminal ? context.stdout.columns - head.length : Number.POSITIVE_INFINITY;
  return `${dim(head)}${cut(rest, room)}\n`;
}
