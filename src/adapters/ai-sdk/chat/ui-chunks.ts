import type { UIMessageChunk } from "ai";
import type { AttemptWithdrawn, LivePartEvent } from "../../../engine/ports/live-events.ts";
import type { WatchEvent, WatchEventOf } from "../../../engine/watch/watch-event.ts";
import type { ExchangeOutcome } from "../../../store/store.ts";
import { ShownAnswer } from "./shown-answer.ts";
import { type AnswerProblem, ShownCalls } from "./shown-calls.ts";
import { userPartsOf } from "./user-parts.ts";

/** What the chunks are made for. */
export type UIChunkOptions = {
  /** Only this exchange of a conversation, by its step and number. By default the first one that is seen. */
  readonly exchange?: { readonly step: string; readonly exchange: number };
  /** The sentence that a page gets. By default one that says nothing about the inside of the server. */
  readonly errorText?: (problem: AnswerProblem) => string;
};

type ExchangeName = NonNullable<UIChunkOptions["exchange"]>;

type OpenStep = {
  readonly step: string;
  readonly turn: number;
  /** Messages that the turn took after its first attempt: shown again behind a reset. */
  readonly steering: UIMessageChunk[];
};

/**
 * Makes chunks of the AI SDK's UI message stream from the events of a run: one message for a run, or for one exchange of a
 * conversation. What it makes of durable events depends on them alone, so that a replay ends as the first viewing did.
 */
export class UIChunks {
  readonly #wanted: ExchangeName | null;
  readonly #errorText: (problem: AnswerProblem) => string;
  readonly #calls: ShownCalls;
  #exchange: ExchangeName | null = null;
  #firstMessage: string | null = null;
  #isInside: boolean;
  #hasStarted = false;
  #isOver = false;
  #asks = false;
  #ended: WatchEventOf<"run.ended"> | null = null;
  #hasFinished = false;
  #step: OpenStep | null = null;
  #answer: ShownAnswer | null = null;

  constructor({ exchange, errorText = plainText }: UIChunkOptions = {}) {
    this.#wanted = exchange ?? null;
    this.#isInside = exchange === undefined;
    this.#errorText = errorText;
    this.#calls = new ShownCalls(errorText);
  }

  /** True after the last chunk of the message. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The first chunk of a message that a page has the beginning of: what follows is added to it. */
  startAgain(runId: string): UIMessageChunk[] {
    this.#hasStarted = false;
    return this.#start(runId);
  }

  /** True after an end that another message may follow: not an error, and not a question to the user. */
  get hasFinished(): boolean {
    return this.#hasFinished;
  }

  /** True if the user has to answer one of the waits that are open. */
  asksUser(open: readonly string[]): boolean {
    return this.#calls.asksUser(open);
  }

  /** True, once, if the run has begun to wait for the user since this was last asked. */
  takeQuestion(): boolean {
    const asks = this.#asks;
    this.#asks = false;
    return asks;
  }

  /** The end of a message that continues after the user's answers. */
  waitForUser(): UIMessageChunk[] {
    return this.#finish("tool-calls", null);
  }

  apply(event: WatchEvent): UIMessageChunk[] {
    if (this.#isOver) return [];
    // A run that has ended may have been resumed since: it is over if nothing follows.
    if ("cursor" in event) this.#ended = event.type === "run.ended" ? event : null;
    if (event.type === "exchange.begun") return this.#exchangeBegun(event);
    return this.#isInside ? this.#inside(event) : [];
  }

  #inside(event: WatchEvent): UIMessageChunk[] {
    switch (event.type) {
      case "message.taken":
        return this.#messageTaken(event);
      case "turn.opened":
        return this.#turnOpened(event);
      case "part":
        return this.#part(event);
      case "attempt.withdrawn":
        return this.#withdrawn(event);
      case "turn.journaled":
        return this.#journaled(event);
      case "turn.dropped":
        return this.#isOpen(event) ? this.#reset() : [];
      case "turn.committed":
        return this.#isOpen(event) ? this.#finishStep() : [];
      case "tool.receipt":
        return this.#calls.receipt(event);
      case "wait.opened":
        return this.#calls.waitOpened(event);
      case "wait.answered":
        return this.#calls.waitAnswered(event);
      case "run.waiting":
        this.#asks = this.asksUser(event.open);
        return [];
      case "exchange.ended":
        return this.#exchangeEnded(event);
      case "lineage.begun":
        return this.#isRollback(event) ? this.#fail(ROLLED_BACK) : [];
      case "exchange.begun":
      case "message.withdrawn":
      case "run.started":
      case "run.claimed":
      case "run.ended":
      case "step.finished":
        return [];
    }
  }

  #exchangeBegun({ step, exchange, messageId, runId }: WatchEventOf<"exchange.begun">): UIMessageChunk[] {
    if (this.#wanted !== null && (step !== this.#wanted.step || exchange !== this.#wanted.exchange))
      return [];
    this.#isInside = true;
    this.#exchange = { step, exchange };
    this.#firstMessage = messageId;
    return this.#start(runId);
  }

  #start(runId: string): UIMessageChunk[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    const messageId = this.#exchange === null ? runId : assistantMessageId(runId, this.#exchange);
    const answers = this.#firstMessage === null ? {} : { answers: this.#firstMessage };
    const messageMetadata = { pawl: { runId, ...this.#exchange, ...answers } };
    return [{ type: "start", messageId, messageMetadata }];
  }

  /** The message that the exchange begins with is the user's own, and is on the page already. */
  #messageTaken({ messageId, body, step, turn, exchange }: WatchEventOf<"message.taken">): UIMessageChunk[] {
    if (messageId === this.#firstMessage || this.#isOther(step, exchange)) return [];
    const chunk: UIMessageChunk = { type: "steering-message", id: messageId, parts: userPartsOf(body) };
    if (this.#isOpen({ step, turn })) this.#step?.steering.push(chunk);
    return [chunk];
  }

  #turnOpened({ step, turn, runId }: WatchEventOf<"turn.opened">): UIMessageChunk[] {
    const opened = this.#openStep(runId, step, turn);
    this.#answer = new ShownAnswer({ runId, step, turn });
    return opened;
  }

  #openStep(runId: string, step: string, turn: number): UIMessageChunk[] {
    if (this.#isOpen({ step, turn })) return [];
    this.#step = { step, turn, steering: [] };
    this.#answer = null;
    return [...this.#start(runId), { type: "start-step" }];
  }

  #part({ step, turn, attempt: _attempt, runId, type: _type, ...part }: LivePartEvent): UIMessageChunk[] {
    const opened = this.#openStep(runId, step, turn);
    this.#answer ??= new ShownAnswer({ runId, step, turn });
    return [...opened, ...this.#answer.add(part)];
  }

  #withdrawn(event: AttemptWithdrawn): UIMessageChunk[] {
    const hasShown = this.#isOpen(event) && this.#answer !== null && !this.#answer.isEmpty;
    return hasShown ? this.#reset() : [];
  }

  /** Takes back what was shown of the step. Only inside of one: behind its end it would take back a step that is final. */
  #reset(): UIMessageChunk[] {
    this.#answer = null;
    this.#calls.forgetStep();
    return [{ type: "reset-step" }, ...(this.#step?.steering ?? [])];
  }

  #journaled({ step, turn, content, calls, runId }: WatchEventOf<"turn.journaled">): UIMessageChunk[] {
    const opened = this.#openStep(runId, step, turn);
    const answer = this.#answer ?? new ShownAnswer({ runId, step, turn });
    const rest = answer.complete(content, calls);
    const chunks = rest ?? [
      ...this.#reset(),
      ...(new ShownAnswer({ runId, step, turn }).complete(content, calls) ?? []),
    ];
    this.#answer = null;
    this.#calls.add(calls, content);
    return [...opened, ...chunks];
  }

  #finishStep(): UIMessageChunk[] {
    if (this.#step === null) return [];
    this.#step = null;
    this.#answer = null;
    this.#calls.keepStep();
    return [{ type: "finish-step" }];
  }

  #exchangeEnded({ step, exchange, outcome, why }: WatchEventOf<"exchange.ended">): UIMessageChunk[] {
    if (this.#isOther(step, exchange)) return [];
    switch (outcome) {
      case "complete":
        return this.#finish("stop", outcome);
      case "stopped":
        return this.#abort("The answer was stopped.", outcome);
      case "failed":
      case "max_turns":
      case "budget":
      case "rolled_back":
        return this.#fail({ code: outcome, message: why ?? "" }, outcome);
    }
  }

  /** The end of a message whose run has ended, and was not resumed. */
  end(): UIMessageChunk[] {
    if (this.#isOver || this.#ended === null || !this.#isInside) return [];
    const { status, error, runId } = this.#ended;
    const started = this.#start(runId);
    switch (status) {
      case "succeeded":
        return [...started, ...this.#finish("stop", null)];
      case "cancelled":
        return [...started, ...this.#abort("The run was cancelled.", null)];
      case "failed":
        return [...started, ...this.#fail(error ?? { code: "failed", message: "" })];
    }
  }

  #finish(finishReason: "stop" | "tool-calls" | "interrupted", outcome: ExchangeOutcome | null) {
    const chunks = this.#finishStep();
    this.#isOver = true;
    this.#hasFinished = finishReason !== "tool-calls";
    const metadata = outcome === null ? {} : { messageMetadata: { pawl: { outcome } } };
    return [...chunks, { type: "finish", finishReason, ...metadata } satisfies UIMessageChunk];
  }

  /** Who stopped it is not for the page. */
  #abort(reason: string, outcome: ExchangeOutcome | null): UIMessageChunk[] {
    const abort: UIMessageChunk = { type: "abort", reason };
    return [...this.#finishStep(), abort, ...this.#finish("interrupted", outcome)];
  }

  /** The outcome stays with the message when it is loaded again; the error is only in the stream. */
  #fail(problem: AnswerProblem, outcome: ExchangeOutcome = "failed"): UIMessageChunk[] {
    const chunks = this.#finishStep();
    this.#isOver = true;
    const messageMetadata = { pawl: { outcome } };
    const error: UIMessageChunk = { type: "error", errorText: this.#errorText(problem) };
    return [...chunks, { type: "message-metadata", messageMetadata }, error];
  }

  /** A summary replaces the history for the model alone: a page keeps what it shows. */
  #isRollback({ step, reason }: WatchEventOf<"lineage.begun">): boolean {
    return reason !== "compaction" && (this.#exchange?.step ?? this.#step?.step) === step;
  }

  /** True for what belongs to another exchange than this message, as far as that is known. */
  #isOther(step: string, exchange: number | null): boolean {
    if (exchange === null || this.#exchange === null) return false;
    return step !== this.#exchange.step || exchange !== this.#exchange.exchange;
  }

  #isOpen({ step, turn }: { readonly step: string; readonly turn: number }): boolean {
    return this.#step?.step === step && this.#step.turn === turn;
  }
}

/** The id of the assistant's message of an exchange: the same after every crash and for every viewer. */
export function assistantMessageId(runId: string, { step, exchange }: ExchangeName): string {
  return `${runId}/${step}~${exchange}`;
}

const ROLLED_BACK: AnswerProblem = {
  code: "rolled_back",
  message: "The conversation went back to an earlier point: load it again.",
};

/** Errors have addresses, names and keys of the inside in them: a page gets a plain sentence. */
function plainText({ code, message }: AnswerProblem): string {
  switch (code) {
    case "rolled_back":
      return message;
    case "max_turns":
      return "The answer took too many steps, and was given up. Ask again, or ask for less at a time.";
    case "budget":
      return "The answer would have cost more than it may. Ask again, or ask for less at a time.";
    case "tool":
      return "The call failed.";
    default:
      return "The answer failed. Send your message again.";
  }
}
