import { randomUUID } from "node:crypto";
import { awaitedText } from "../../account/wait-time.ts";
import { PawlError } from "../../core/errors.ts";
import { decisionOf } from "../../core/person.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import type { WatchEvent } from "../../engine/watch/watch-event.ts";
import { exchangeFigures } from "../../export/exchanges.ts";
import type { InterruptSignal } from "../context/cli-context.ts";
import type { CommandResult, ExitCode } from "../context/command.ts";
import { commandHint, formatHints } from "../context/command-hint.ts";
import { SAME_PRESS_MS } from "../context/interruption.ts";
import { cleanText } from "../context/terminal-text.ts";
import { reportFailure } from "../run/run-outcome.ts";
import { askPerson } from "../screen/ask-person.ts";
import { counted, paint } from "../screen/format.ts";
import { inside, type Tone } from "../screen/progress-lines.ts";
import { CHAT_HELP, readEntered } from "./chat-command.ts";
import { ChatRun, type ChatWork } from "./chat-run.ts";
import { ChatScreen } from "./chat-screen.ts";
import { type ChatPhase, statusRows } from "./chat-status.ts";
import { type ChatLine, ChatView, figuresText, storyLines } from "./chat-view.ts";
import { LineEditor } from "./line-editor.ts";
import { UnusualEvents } from "./unusual-events.ts";

const REDRAW_MS = 200;
/** While an answer is written, at most this often. */
const REDRAW_LIVE_MS = 40;

/** A conversation with a person at a terminal, until they leave or it ends. */
export async function chatOnTerminal(work: ChatWork, last: number): Promise<CommandResult> {
  const exitCode = await new TerminalChat(work).talk(last);
  return { exitCode, text: "", document: undefined };
}

type Failure = { readonly error: unknown };

class TerminalChat {
  readonly #work: ChatWork;
  readonly #chat: ChatRun;
  readonly #view = new ChatView();
  readonly #screen: ChatScreen;
  readonly #editor: LineEditor;
  readonly #unusual: UnusualEvents;
  readonly #release = new AbortController();
  readonly #unwatch = new AbortController();
  readonly #left = Promise.withResolvers<void>();
  /** What this process works on, and what it shows. */
  #driving: Promise<void> | null = null;
  #watching: Promise<void> | null = null;
  /** The texts are sent one after the other. */
  #sending: Promise<void> = Promise.resolve();
  #phase: ChatPhase = "talking";
  #askedAt = 0;
  #awaited: string | null = null;
  #isAsking = false;
  #isPostponed = false;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #failure: Failure | null = null;
  #ended: Extract<WatchEvent, { type: "run.ended" }> | null = null;

  constructor(work: ChatWork) {
    const { context } = work;
    this.#work = work;
    this.#chat = new ChatRun(work, (event) => this.#onEvent(event));
    this.#screen = new ChatScreen(context.stderr, paint(context));
    this.#unusual = new UnusualEvents(context.clock, "terminal");
    this.#editor = new LineEditor(context.stdin.stream, {
      changed: () => this.#draw([]),
      entered: (line) => this.#entered(line),
      interrupted: () => this.#interrupted("SIGINT"),
      closed: () => this.#leave(),
    });
  }

  async talk(last: number): Promise<ExitCode> {
    const { context } = this.#work;
    await this.#greet(last);
    this.#screen.open();
    this.#editor.start();
    const stopListening = context.onInterrupt((signal) => this.#interrupted(signal));
    const stopTimer = context.clock.every(REDRAW_MS, () => {
      if (this.#view.isBusy) this.#draw([]);
    });
    try {
      if (this.#chat.hasBegun) this.#begin();
      this.#draw([]);
      await this.#left.promise;
      await this.#sending;
      // What it finishes is shown to its end.
      await this.#driving;
      this.#unwatch.abort();
      await this.#watching;
      return await this.#farewell();
    } finally {
      stopTimer();
      stopListening();
      this.#screen.close();
      this.#editor.end();
    }
  }

  /** What was said before, and how to leave. */
  async #greet(last: number): Promise<void> {
    const { context, runId, found, pipeline } = this.#work;
    const { bold, dim } = paint(context);
    const name = found?.pipeline ?? pipeline?.name ?? "";
    const head = [bold(cleanText(name)), dim(`run ${runId}`), dim("/help lists the commands, Ctrl-D leaves")];
    context.stderr.write(`${head.join("\n")}\n\n`);
    if (found === null) return;
    const { count, last: stories } = await this.#chat.present(Math.max(1, last));
    this.#view.begin(stories.at(-1));
    const me = decisionOf(this.#work.person, 0).name;
    const shown = last === 0 ? stories.filter(({ endedAt }) => endedAt === null) : stories;
    const hidden = count - shown.length;
    this.#screen.print([
      ...(hidden === 0 ? [] : [note("quiet", `${counted(hidden, "exchange")} before these`)]),
      ...shown.flatMap((story) => storyLines(story, me)),
    ]);
  }

  #begin(): void {
    this.#watching ??= this.#watch().catch(this.#fail);
    this.#driving ??= this.#chat.drive(this.#release.signal).catch(this.#fail);
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= { error };
    this.#leave();
  };

  /** After what was entered before. */
  #inOrder(work: () => Promise<void>): void {
    this.#sending = this.#sending.then(work).catch(this.#fail);
  }

  async #watch(): Promise<void> {
    await this.#ask();
    for await (const event of this.#chat.events(this.#unwatch.signal)) await this.#take(event);
  }

  async #take(event: WatchEvent): Promise<void> {
    const { context } = this.#work;
    const taken = this.#view.take(event, context.clock.now());
    const isCut = event.type === "attempt.withdrawn" && this.#phase === "stopping";
    const lines = isCut ? [] : [...taken];
    if (event.type === "part" && context.clock.monotonic() - this.#drawnAt < REDRAW_LIVE_MS) return;
    if (event.type === "run.claimed") this.#awaited = null;
    if (event.type === "exchange.ended") lines.push(...(await this.#endExchange(event)));
    if (event.type === "run.ended") {
      this.#ended = event;
      this.#leave();
    }
    this.#draw(lines);
    if (event.type === "run.waiting") await this.#ask();
  }

  async #endExchange({
    step: stepPath,
    exchange,
  }: Extract<WatchEvent, { type: "exchange.ended" }>): Promise<readonly ChatLine[]> {
    const { store, runId } = this.#work;
    if (this.#phase === "stopping") this.#phase = "talking";
    this.#isPostponed = false;
    const figures = await exchangeFigures(store, runId, { stepPath, exchange });
    return figures === null ? [] : [note("quiet", figuresText(figures))];
  }

  /** Asks what the run waits for, at once. */
  async #ask(): Promise<void> {
    const { context, store, person } = this.#work;
    const questions = await this.#chat.questions();
    this.#awaited = await this.#othersAwaited();
    if (questions.length === 0 || this.#phase === "leaving" || this.#isAsking) return;
    this.#isAsking = true;
    this.#editor.pause();
    this.#screen.close();
    const signal = this.#release.signal;
    const isAnswered = await askPerson({ context, store, signal, person }, questions);
    this.#screen.open();
    this.#editor.start();
    this.#isAsking = false;
    this.#isPostponed = !isAnswered;
    if (isAnswered) this.#chat.look();
    const later = "it waits for your answer: Enter asks again, /stop ends this exchange";
    this.#draw(isAnswered ? [] : [note("warning", later)]);
  }

  /** What the run waits for besides people and the next message. */
  async #othersAwaited(): Promise<string | null> {
    const { context, store, runId } = this.#work;
    const open = await store.listWaits(runId, { open: true });
    const now = context.clock.now();
    const awaited = open
      .filter(({ kind, matches }) => kind === "time" || (kind === "message" && matches !== null))
      .flatMap((wait) => awaitedText(wait, now) ?? []);
    return awaited.length === 0 ? null : awaited.join("; ");
  }

  #entered(line: string): void {
    const entered = readEntered(line);
    switch (entered.kind) {
      case "text":
        return this.#send(entered.text, entered.steers);
      case "nothing":
        if (this.#isPostponed) this.#inOrder(() => this.#ask());
        return;
      case "stop":
        return this.#stop();
      case "quit":
        return this.#leave();
      case "help":
        return this.#draw(CHAT_HELP.map(([command, meaning]) => note("quiet", `${command}: ${meaning}`)));
      case "mistake":
        return this.#draw([note("warning", entered.problem)]);
    }
  }

  #send(text: string, steers: boolean): void {
    const outgoing = { messageId: randomUUID(), text, ...(steers ? { mode: "steer" as const } : {}) };
    this.#view.sends(outgoing);
    this.#draw([]);
    this.#inOrder(async () => {
      try {
        await this.#chat.send(outgoing);
        this.#begin();
      } catch (error) {
        this.#view.unsent(outgoing);
        if (!PawlError.isInstance(error)) throw error;
        this.#draw([note("bad", error.message)]);
      }
    });
  }

  #stop(): void {
    this.#phase = "stopping";
    this.#askedAt = this.#work.context.clock.monotonic();
    this.#draw([]);
    this.#inOrder(async () => {
      const outcome = this.#chat.hasBegun ? await this.#chat.stop() : ({ kind: "nothing" } as const);
      this.#chat.look();
      if (outcome.kind === "requested") return;
      this.#phase = "talking";
      const isPreparing = this.#view.isBusy;
      this.#draw([
        note("quiet", isPreparing ? "no answer has begun yet; Ctrl-D leaves" : "nothing is being answered"),
      ]);
    });
  }

  /** Ctrl-C: clears the text, stops the answer, or leaves; the second one leaves at once. */
  #interrupted(signal: InterruptSignal): void {
    const { context, sendOnly } = this.#work;
    if (this.#phase !== "talking") {
      if (context.clock.monotonic() - this.#askedAt < SAME_PRESS_MS) return;
      this.#screen.close();
      this.#editor.end();
      context.stderr.write(this.#hint());
      context.quit(130);
    }
    if (signal === "SIGTERM") return this.#leave();
    if (this.#view.isAnswering || (this.#view.isBusy && !sendOnly)) return this.#stop();
    if (this.#editor.text === "") return this.#leave();
    this.#editor.clear();
    this.#draw([]);
  }

  /** Finishes what is in progress, and ends. */
  #leave(): void {
    if (this.#phase === "leaving") return;
    this.#phase = "leaving";
    this.#askedAt = this.#work.context.clock.monotonic();
    this.#release.abort();
    this.#draw([]);
    this.#left.resolve();
  }

  async #farewell(): Promise<ExitCode> {
    const { context, sendOnly, pipeline, runId } = this.#work;
    this.#screen.close();
    if (this.#failure !== null) {
      const { error } = this.#failure;
      if (!PawlError.isInstance(error) || error.runId === undefined || pipeline === null) throw error;
      return (await reportFailure({ ...this.#work, pipeline }, error, runId)).exitCode;
    }
    if (this.#ended !== null) return this.#reportEnd(this.#ended);
    if (!this.#chat.hasBegun) return 0;
    context.stderr.write(this.#hint());
    if ((await this.#chat.questions()).length > 0) return 3;
    return this.#view.isAnswering && !sendOnly ? 130 : 0;
  }

  #reportEnd({ status, error }: Extract<WatchEvent, { type: "run.ended" }>): ExitCode {
    const { context, input, runId } = this.#work;
    if (status === "succeeded") {
      this.#screen.print([note("good", "the conversation has ended")]);
      return 0;
    }
    const why = error === null ? "" : `: ${error.message}`;
    this.#screen.print([note("bad", status === "failed" ? `the run failed${why}` : "the run was cancelled")]);
    const hint = commandHint(input, "resume", runId);
    context.stderr.write(`\nresume with:\n${formatHints({ stdout: context.stderr }, [hint])}`);
    return 1;
  }

  #hint(): string {
    const { context, input, runId, sendOnly } = this.#work;
    const hint = commandHint(input, "chat", runId, ...(sendOnly ? ["--send-only"] : []));
    return `\ncontinue with:\n${formatHints({ stdout: context.stderr }, [hint])}`;
  }

  #onEvent(event: RunEvent): void {
    const lines = this.#unusual.take(event);
    // A request that was cut off because a person wanted that is no news.
    if (lines.length > 0 && this.#phase !== "stopping")
      this.#draw(lines.map((line) => ({ kind: "note", line })));
  }

  #draw(lines: readonly ChatLine[]): void {
    const { context, sendOnly } = this.#work;
    this.#drawnAt = context.clock.monotonic();
    if (!context.stdout.isTerminal)
      for (const line of lines) if (line.kind === "answer") context.stdout.write(`${line.text}\n`);
    const { columns, answerRows } = this.#screen;
    const status = {
      view: this.#view,
      phase: this.#phase,
      awaited: this.#awaited,
      sendOnly,
      now: context.clock.now(),
      columns,
      answerRows,
    };
    const { text, cursor } = this.#editor;
    this.#screen.draw(lines, statusRows(status, paint(context)), { text, cursor });
  }
}

function note(tone: Tone, text: string): ChatLine {
  return { kind: "note", line: inside(tone, text) };
}
