import type { Json } from "../../core/json.ts";
import type { StepPath } from "../../core/step-path.ts";
import type { RefusedContents } from "../../core/turn/model-retry.ts";
import type { Limit } from "../../core/usage/quota.ts";

// Conversations: an exchange is what a user said, and the turns up to the complete answer.

/**
 * What a text does while the agent answers another one.
 * - `queue`: it begins the next exchange.
 * - `steer`: the next turn of this exchange takes it, if it is of the same sender.
 * - `interrupt`: the same, and a model that is being asked is asked again with it.
 */
export type MessageMode = "queue" | "steer" | "interrupt";

/**
 * How an exchange ended.
 * - `complete`: with the agent's answer.
 * - `stopped`: by a person.
 * - `failed`: the model did not answer.
 * - `max_turns`, `budget`: it took more than one exchange may.
 * - `rolled_back`: the step went back to an earlier milestone, and its messages wait again.
 */
export type ExchangeOutcome = "complete" | "stopped" | "failed" | "max_turns" | "budget" | "rolled_back";

/** An exchange, as it is stored. */
export type ExchangeRecord = {
  readonly stepPath: StepPath;
  /** From 1, in each step. */
  readonly exchange: number;
  readonly firstTurn: number;
  /** The last turn that was committed in it; null if none was, and while it is open. */
  readonly lastTurn: number | null;
  /** The person whose messages it has. */
  readonly sentBy: string;
  readonly beganAt: number;
  /** Null while it is open. */
  readonly endedAt: number | null;
  readonly outcome: ExchangeOutcome | null;
  /** Why it ended without a complete answer. */
  readonly why: string | null;
  /** The person who has asked to stop it. */
  readonly stopRequestedBy: string | null;
};

/** Which exchanges are listed. */
export type ExchangeRange = {
  /** Those behind this one of the same step. */
  readonly after?: { readonly stepPath: StepPath; readonly exchange: number };
  readonly limit?: number;
};

/** A message that a turn has taken, as the model sees it. */
export type TakenMessage = {
  readonly messageNo: number;
  readonly id: string;
  readonly body: Json;
  readonly sentBy: string;
  readonly sentAt: number;
  readonly exchange: number;
  /**
   * Its exchange or a later one ended because the provider refused a request. `files`: its files are named only. `texts`: no
   * turn had answered it, and a mark takes its place.
   */
  readonly refused?: RefusedContents;
};

/** A text that nothing has taken. */
export type WaitingText = {
  readonly messageNo: number;
  readonly mode: MessageMode;
  readonly body: Json;
  /** It may join the open exchange: it is of the same sender, and is meant to. */
  readonly joins: boolean;
};

/** What the next turn of a conversation depends on. */
export type Mailbox = {
  /** The newest exchange of the step, open or not; null before the first. */
  readonly exchange: ExchangeRecord | null;
  /** The texts that wait, in order; at most 100 of them. */
  readonly waiting: readonly WaitingText[];
  /** Nobody has written for so long that the conversation is over. */
  readonly isClosed: boolean;
};

/** What was asked of the worker that holds a run, by others. */
export type RunRequestsSeen = {
  readonly cancel: boolean;
  /** The present exchange is to end. */
  readonly stop: boolean;
  /** A text waits that a model call is interrupted for. */
  readonly interrupt: boolean;
};

/** What the opening of a conversation's turn takes from the mailbox. */
export type ExchangeTurn = {
  /** The numbers of the messages, in order. */
  readonly take: readonly number[];
  /** The turn begins an exchange: with one message, or with none if the step has an input. */
  readonly begins: boolean;
  /** The most that the model calls of the exchange may cost. */
  readonly limit: Limit;
  /** Why the history was not compacted before this exchange, although it was to be. It is part of the event. */
  readonly uncompacted?: string;
};

/** An exchange that ends without a complete answer. */
export type ExchangeEnd = {
  readonly stepKey: number;
  readonly outcome: Exclude<ExchangeOutcome, "complete" | "rolled_back">;
  readonly why: string;
  /**
   * The provider refused the request. From now on the model sees only the names of the `files` of all messages so far, or a
   * mark in place of each of the `texts` that no turn has answered yet.
   */
  readonly refused?: RefusedContents;
};

/** What became of a request to stop an exchange. */
export type StopOutcome =
  /** It ends as soon as its tools have returned. `again` if this was asked before. */
  | { readonly kind: "requested"; readonly exchange: number; readonly again: boolean }
  /** The run answers nobody at present. */
  | { readonly kind: "nothing" };
