import type { ReceiptStatus } from "../../core/call/tool-call-decision.ts";
import type { Json } from "../../core/json.ts";
import type { AssistantPart, ToolOutput } from "../../core/message.ts";
import type { WaitAnswer, WaitKind } from "../../core/wait.ts";
import type { ExchangeOutcome } from "../../store/store.ts";
import type { AttemptWithdrawn, LivePartEvent } from "../ports/live-events.ts";

/** A tool call of a journaled answer. */
export type WatchedCall = {
  /** The id in the ledger: `q-1/research#3.1`. */
  readonly toolCallId: string;
  /** The provider's id of the call, which the live parts and the content of the answer have. */
  readonly providerCallId: string;
  readonly tool: string;
  readonly input: Json;
};

type OfTurn = { readonly step: string; readonly turn: number };

/** Something that is durable, without its place in the log. */
export type WatchedFact =
  /** The run was created; `epoch` is 0 until a worker claims it. */
  | { readonly type: "run.started"; readonly epoch: number }
  /** A worker has taken the run, under a new epoch. Whatever an earlier one still writes is not shown. */
  | { readonly type: "run.claimed"; readonly epoch: number }
  /** A request to the model is about to be sent. */
  | (OfTurn & { readonly type: "turn.opened"; readonly attempt: number })
  /** The answer of the model is whole and stored. It replaces everything that was shown of it. */
  | (OfTurn & {
      readonly type: "turn.journaled";
      readonly content: readonly AssistantPart[];
      readonly calls: readonly WatchedCall[];
    })
  /** The stored answer was dropped before any of its calls ran: the model is asked again. */
  | (OfTurn & { readonly type: "turn.dropped" })
  /** A tool call has its outcome, for good. */
  | (OfTurn & {
      readonly type: "tool.receipt";
      readonly toolCallId: string;
      readonly tool: string;
      readonly status: ReceiptStatus;
      readonly result: ToolOutput;
    })
  /** The run waits for a person, a time or a message. */
  | {
      readonly type: "wait.opened";
      readonly waitId: string;
      readonly kind: WaitKind;
      readonly toolCallId: string | null;
      readonly question: string;
      readonly subject: Json;
    }
  | {
      readonly type: "wait.answered";
      readonly waitId: string;
      readonly kind: WaitKind;
      readonly toolCallId: string | null;
      readonly answer: WaitAnswer | null;
      readonly answeredBy: string | null;
    }
  /** The turn is done: its answer and all of its receipts are part of the history. */
  | (OfTurn & { readonly type: "turn.committed"; readonly text: string; readonly isComplete: boolean })
  /** An exchange of a conversation begins: a person has said something, and the agent answers it from this turn on. */
  | (OfTurn & {
      readonly type: "exchange.begun";
      /** From 1, in its step. */
      readonly exchange: number;
      readonly sentBy: string;
      /** The message that it begins with; null if that is the input of the run. */
      readonly messageId: string | null;
    })
  /** A turn has taken a message to the conversation: the model sees it from now on. */
  | (OfTurn & {
      readonly type: "message.taken";
      /** The exchange that it belongs to; null if it was put back by a milestone and waits again. */
      readonly exchange: number | null;
      /** The sender's own id of it. */
      readonly messageId: string;
      readonly body: Json;
      readonly sentBy: string;
      readonly sentAt: number;
    })
  /** The sender has taken a message back, before a turn took it. */
  | { readonly type: "message.withdrawn"; readonly messageId: string }
  /** The exchange is over: with the complete answer, or without one, because of `why`. */
  | {
      readonly type: "exchange.ended";
      readonly step: string;
      readonly exchange: number;
      readonly outcome: ExchangeOutcome;
      readonly why: string | null;
    }
  | { readonly type: "step.finished"; readonly step: string }
  /**
   * The step has a new line of history, which begins with turn `firstTurn`. `milestone`: it begins again from `baseTurn`, and
   * the turns in between no longer count. `compaction`: all turns count, and the model sees a summary in their place.
   */
  | {
      readonly type: "lineage.begun";
      readonly step: string;
      readonly firstTurn: number;
      readonly baseTurn: number;
      readonly reason: "milestone" | "compaction";
    }
  /** Nothing happens until the open waits are answered. */
  | {
      readonly type: "run.waiting";
      /** Those of its waits that are still open: empty if the run has continued since. */
      readonly open: readonly string[];
    }
  /** The run has ended. One that failed or was cancelled may be resumed later: then more follows for who watches then. */
  | {
      readonly type: "run.ended";
      readonly status: "succeeded" | "failed" | "cancelled";
      readonly output: Json;
      readonly error: { readonly code: string; readonly message: string } | null;
    };

/** Something that is durable. `cursor` is its place: `after: cursor` continues behind it, in any process. */
export type DurableWatchEvent = WatchedFact & {
  readonly runId: string;
  /** Opaque. The same for every viewer, whenever it joins. */
  readonly cursor: string;
  /** When it became durable, in milliseconds since 1970. */
  readonly at: number;
};

/**
 * What `watch` yields: what is durable, in order, and between that the pieces of the answer that is being written, which
 * count for nothing. Ignore types that you do not know: later versions have more.
 */
export type WatchEvent = DurableWatchEvent | LivePartEvent | AttemptWithdrawn;

/** One type of what `watch` yields. */
export type WatchEventOf<T extends WatchEvent["type"]> = Extract<WatchEvent, { readonly type: T }>;

/** Options of `Runner.watch` and `watchRun`. */
export type WatchOptions = {
  /** The cursor of the last event that was seen: continues behind it. By default from the beginning of the run. */
  readonly after?: string;
  /** False: without the pieces of answers that are being written. */
  readonly live?: boolean;
  /** False: ends with what is durable now, and does not wait for more. By default it watches until the run has ended. */
  readonly follow?: boolean;
  /** Ends the watching, and nothing else. */
  readonly signal?: AbortSignal;
};
