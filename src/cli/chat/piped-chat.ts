import { randomUUID } from "node:crypto";
import { createInterface, type Interface } from "node:readline";
import { waitDocument } from "../../account/documents/conversation-documents.ts";
import { PawlError } from "../../core/errors.ts";
import type { WatchEvent } from "../../engine/watch/watch-event.ts";
import { exchangeFigures } from "../../export/exchanges.ts";
import type { CommandResult, ExitCode } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { Interruption } from "../context/interruption.ts";
import { cleanText } from "../context/terminal-text.ts";
import { reportFailure } from "../run/run-outcome.ts";
import { MARKS } from "../screen/progress-screen.ts";
import { waitHints } from "../screen/wait-hints.ts";
import { ChatRun, type ChatWork } from "./chat-run.ts";
import { ChatView } from "./chat-view.ts";
import { UnusualEvents } from "./unusual-events.ts";

/** A conversation whose messages come from a file or another program, one a line. Each is answered before the next is sent. */
export async function chatInPipe(work: ChatWork): Promise<CommandResult> {
  const exitCode = await new PipedChat(work).talk();
  return { exitCode, text: "", document: undefined };
}

class PipedChat {
  readonly #work: ChatWork;
  readonly #chat: ChatRun;
  readonly #view = new ChatView();
  readonly #unwatch = new AbortController();
  readonly #release = new AbortController();
  #events: AsyncGenerator<WatchEvent, void, undefined> | null = null;
  #driving: Promise<void> = Promise.resolve();
  #lines: Interface | null = null;
  #failure: { readonly error: unknown } | null = null;

  constructor(work: ChatWork) {
    this.#work = work;
    const unusual = new UnusualEvents(work.context.clock, "log");
    this.#chat = new ChatRun(work, (event) => {
      for (const { tone, text, figures } of unusual.take(event))
        this.#say(`${MARKS[tone]} ${text}${figures === "" ? "" : `  ${figures}`}`);
    });
  }

  async talk(): Promise<ExitCode> {
    const { context, input, runId } = this.#work;
    const interruption = new Interruption(context, {
      onFirst: () => void this.#interrupt(),
      onSecond: () => undefined,
    });
    this.#say(`run ${runId}`);
    try {
      const code = await this.#exchanges(interruption);
      const exitCode = interruption.happened ? 130 : code;
      if (this.#chat.hasBegun && exitCode !== 1)
        this.#say(`continue with: ${commandHint(input, "chat", runId)}`);
      return exitCode;
    } finally {
      this.#release.abort();
      this.#unwatch.abort();
      await this.#driving;
      interruption.stop();
    }
  }

  async #exchanges(interruption: Interruption): Promise<ExitCode> {
    const { context } = this.#work;
    if (this.#chat.hasBegun) {
      // What was asked before is answered first.
      const found = await this.#look();
      if (found === "asking") return 3;
      const code = found === "idle" ? 0 : await this.#answered();
      if (code !== 0) return code;
    }
    this.#lines = createInterface({ input: context.stdin.stream });
    if (interruption.happened) return 0;
    for await (const line of this.#lines) {
      if (interruption.happened) break;
      if (line.trim() === "") continue;
      // Before it is sent: a worker may have answered it when `send` returns. What others said since the start is not shown.
      if (this.#events === null && this.#chat.hasBegun && (await this.#look()) === "asking") return 3;
      const outgoing = { messageId: randomUUID(), text: line.trim() };
      this.#view.sends(outgoing);
      await this.#chat.send(outgoing);
      this.#document({ type: "message", messageId: outgoing.messageId, text: outgoing.text });
      const code = await this.#answered();
      if (code !== 0 || interruption.happened) return code;
    }
    return 0;
  }

  /** What the conversation does now, where the watch of it begins. `asking`: a person has to answer something first. */
  async #look(): Promise<"asking" | "idle" | "busy"> {
    const { status, last } = await this.#chat.present(1);
    this.#view.begin(last.at(-1));
    if (status !== "waiting") return "busy";
    if (await this.#reportQuestions()) return "asking";
    return this.#view.isAnswering ? "busy" : "idle";
  }

  /** Until nothing is left to answer. 1 if an exchange has no complete answer: the messages after it may depend on it. */
  async #answered(): Promise<ExitCode> {
    this.#begin();
    for (;;) {
      const next = await this.#events?.next();
      if (this.#failure !== null) return this.#failed(this.#failure.error);
      if (next === undefined || next.done === true) return 0;
      const event = next.value;
      this.#view.take(event, this.#work.context.clock.now());
      if (event.type === "turn.committed" && event.isComplete) this.#answer(event);
      if (event.type === "exchange.ended" && (await this.#outcome(event)) !== "complete") return 1;
      if (event.type === "run.ended") return this.#ended(event);
      if (event.type !== "run.waiting") continue;
      if (await this.#reportQuestions()) return 3;
      if (!this.#view.isBusy) return 0;
    }
  }

  #begin(): void {
    if (this.#events !== null) return;
    this.#events = this.#chat.events(this.#unwatch.signal);
    this.#driving = this.#chat.drive(this.#release.signal).catch((error: unknown) => {
      this.#failure ??= { error };
      this.#unwatch.abort();
    });
  }

  #answer({ step, turn, text }: Extract<WatchEvent, { type: "turn.committed" }>): void {
    this.#document({ type: "answer", step, turn, text });
    if (!this.#work.input.json) this.#work.context.stdout.write(`${text.trim()}\n`);
  }

  async #outcome(event: Extract<WatchEvent, { type: "exchange.ended" }>): Promise<string> {
    const { store, runId } = this.#work;
    const { step, exchange, outcome, why } = event;
    const figures = await exchangeFigures(store, runId, { stepPath: step, exchange });
    const { turns, calls, charged } = figures ?? { turns: 0, calls: [], charged: null };
    const tools = calls.map(({ toolCallId, tool, status }) => ({ toolCallId, tool, status }));
    this.#document({ type: "outcome", step, exchange, outcome, why, turns, calls: tools, charged });
    if (outcome !== "complete") this.#say(`! ${why ?? outcome}`);
    return outcome;
  }

  /** True if a person has to answer something before the conversation can continue. */
  async #reportQuestions(): Promise<boolean> {
    const { input } = this.#work;
    const questions = await this.#chat.questions();
    if (questions.length === 0) return false;
    const waits = questions.map((wait) => ({ ...waitDocument(wait), commands: waitHints(input, wait) }));
    this.#document({ type: "waiting", waits });
    for (const wait of questions)
      this.#say([`${wait.waitId}: ${wait.question}`, ...waitHints(input, wait)].join("\n  "));
    return true;
  }

  #ended({ status, error }: Extract<WatchEvent, { type: "run.ended" }>): ExitCode {
    const { input, runId } = this.#work;
    this.#document({ type: "ended", status, error });
    if (status === "succeeded") return 0;
    this.#say(`! run ${runId} ${status === "failed" ? `failed: ${error?.message ?? ""}` : "was cancelled"}`);
    this.#say(`resume with: ${commandHint(input, "resume", runId)}`);
    return 1;
  }

  async #failed(error: unknown): Promise<ExitCode> {
    const { pipeline, runId } = this.#work;
    if (!PawlError.isInstance(error) || error.runId === undefined || pipeline === null) throw error;
    const { document, exitCode } = await reportFailure({ ...this.#work, pipeline }, error, runId);
    this.#document({ type: "failed", ...(document as object) });
    return exitCode;
  }

  /** The present exchange ends; texts that were not sent stay unsent. */
  async #interrupt(): Promise<void> {
    this.#lines?.close();
    const outcome = this.#chat.hasBegun ? await this.#chat.stop().catch(() => null) : null;
    if (outcome?.kind === "requested") return this.#chat.look();
    // No exchange is open that could end: a text that was sent stays in the store, for the next process.
    this.#release.abort();
    // What this process finishes is shown to its end.
    await this.#driving;
    this.#unwatch.abort();
  }

  #document(document: object): void {
    const { input, context, runId } = this.#work;
    if (input.json) context.stdout.write(`${JSON.stringify({ ...document, runId })}\n`);
  }

  /** For people: not with --json. */
  #say(text: string): void {
    const { input, context } = this.#work;
    if (!input.json) context.stderr.write(`${cleanText(text)}\n`);
  }
}
