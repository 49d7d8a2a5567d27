import type { Json } from "../core/json.ts";
import type { Amount } from "../core/usage/usage.ts";
import type { ExchangeTurn } from "./exchange/exchange-records.ts";
import type { ModelCallSettlement, NewReceipt, SessionCommit, TurnJournal } from "./store-intents.ts";

// How turns are opened and committed, and what a history is replaced with.

/** A turn to open, with the amount to reserve for its model attempt. */
export type TurnOpening = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly reserve: Amount;
  readonly fingerprint: { readonly hash: string; readonly document: Json };
  /** For a turn of a conversation. */
  readonly exchange?: ExchangeTurn;
};

/** The outcome of opening a turn: the amount is reserved, the limit denies it, or the mailbox has changed. */
export type TurnOpened =
  | { readonly kind: "opened"; readonly attempt: number; readonly reserved: Amount }
  | {
      readonly kind: "denied";
      readonly unit: keyof Amount;
      readonly wanted: number;
      readonly remaining: number;
      /** The limit is that of the exchange, not of the run. */
      readonly ofExchange?: true;
    }
  /** One of the messages no longer waits: nothing was reserved. */
  | { readonly kind: "stale" };

/** Everything that a turn changes, in one commit. */
export type TurnCommit = {
  readonly stepKey: number;
  readonly turnIndex: number;
  /** A response without tool calls is journaled and committed at once. */
  readonly journal: TurnJournal | null;
  /** The user message after the response, if the agent needs one to continue. */
  readonly followUp: string | null;
  readonly receipts: readonly NewReceipt[];
  readonly isComplete: boolean;
  /**
   * For a turn of a conversation: a complete answer ends the exchange, unless a message of its sender waits that is to join
   * it. Then the turn is stored as incomplete, and the result says so.
   */
  readonly unlessMessages?: true;
  /** The messages and tokens that this turn adds to the history. */
  readonly messages: number;
  readonly tokens: number;
  readonly next: TurnOpening | null;
  readonly session?: SessionCommit;
};

/** What a commit has resulted in. */
export type TurnCommitted = {
  readonly next: TurnOpened | null;
  readonly checkpoint: number | null;
  /** False if a message has come that belongs to the same exchange. */
  readonly isComplete: boolean;
};

/** A request for the summary of a conversation, with the amount to reserve for it. */
export type SummaryOpening = {
  readonly stepKey: number;
  /** The turn that follows: the request counts as an attempt before its own. */
  readonly turnIndex: number;
  readonly reserve: Amount;
};

/** A history that is replaced by its summary. */
export type Compaction = {
  readonly stepKey: number;
  /** The first turn of the new lineage: the one after the last commit. */
  readonly turnIndex: number;
  readonly summary: string;
  readonly fingerprint: { readonly hash: string; readonly document: Json };
  /** The model call that the summary is from, with its charge; null if a function wrote it. */
  readonly call: ModelCallSettlement | null;
};
