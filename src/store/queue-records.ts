import type { Json } from "../core/json.ts";
import type { Person } from "../core/person.ts";
import type { MessageFile } from "../core/run/sent-message.ts";
import type { StepPath } from "../core/step-path.ts";
import type { MessageMode } from "./exchange/exchange-records.ts";

// Runs that wait for a worker, and the messages to runs.

/** What a run can be found by: a tenant, a customer, tags. */
export type RunMetadata = { readonly [name: string]: string | readonly string[] };

/** How a new run is found, and where it waits for a worker. */
export type RunPlace = {
  /** `default` by default. */
  readonly queue?: string;
  /** Runs of the same queue and key are limited together. */
  readonly concurrencyKey?: string | null;
  /** Of two ready runs, the one with the higher priority is claimed first; 0 by default. */
  readonly priority?: number;
  readonly metadata?: RunMetadata | null;
  /** Given to its tools, and not part of any prompt. */
  readonly callContext?: Json;
  /** A name by which messages reach it, such as `invoice:7`. No other run has it. */
  readonly address?: string | null;
};

/** A run that waits for a worker. */
export type ReadyRun = {
  readonly runId: string;
  readonly pipeline: string;
  readonly queue: string;
  readonly concurrencyKey: string | null;
  readonly priority: number;
  readonly readyAt: number;
  /** The version of the worker that held it last; null if none did, or had none. */
  readonly workerVersion: string | null;
  /** For how long it has been ready. */
  readonly idleMs: number;
};

/** Which ready runs are listed: those of these pipelines in these queues. */
export type ReadyQuery = {
  readonly pipelines: readonly string[];
  readonly queues: readonly string[];
  readonly limit: number;
  /** Runs of these keys are left out, each with its queue. */
  readonly exceptKeys?: readonly { readonly queue: string; readonly key: string }[];
};

/** The most runs that may be claimed at a time, over all workers. A run that is claimed counts until it is released. */
export type ClaimLimits = {
  /** Of all runs of the store. */
  readonly total?: number;
  /** Of its queue. */
  readonly queue?: number;
  /** Of its queue and key. */
  readonly key?: number;
};

/** The runs of a pipeline that wait in a queue for a worker. */
export type QueueDepth = {
  readonly queue: string;
  readonly pipeline: string;
  readonly ready: number;
  /** How long the first of them has waited. */
  readonly oldestMs: number;
};

/** A run that nobody holds although its last worker has not released it. */
export type AbandonedRun = {
  readonly runId: string;
  readonly pipeline: string;
  readonly queue: string;
  readonly workerVersion: string | null;
  /** Since its worker was last heard of. */
  readonly idleMs: number;
};

/** A run for which the clock has something to do, and how long that is ahead; 0 if it is due. */
export type SleepingRun = { readonly runId: string; readonly inMs: number };

/** The message waits, was taken by a call or a turn, was withdrawn by its sender, or will never be taken. */
export type MessageStatus = "waiting" | "taken" | "withdrawn" | "returned";

/** A message to a run. */
export type NewMessage = {
  /** The sender's own id. The same id again, with the same contents of the same sender, is the same message. */
  readonly id: string;
  /** The name of an event; null for a text. */
  readonly event: string | null;
  /** The text; with files, a `StoredUserMessage`. Of an event its data. */
  readonly body: Json;
  /** The bytes of the files that the body of a text refers to, each once. */
  readonly files?: readonly MessageFile[];
  /** For a text; `queue` by default. */
  readonly mode?: MessageMode;
  readonly by?: Person;
};

/** What became of a message that was sent. */
export type SentMessage = {
  readonly runId: string;
  readonly messageNo: number;
  /** It was sent before; nothing has changed. */
  readonly isDuplicate: boolean;
  /** The message created the run. */
  readonly hasStarted: boolean;
  readonly status: MessageStatus;
  /** Why it was returned. */
  readonly reason: string | null;
};

/** A message, as it is stored. */
export type MessageRecord = {
  readonly runId: string;
  /** From 1, in the order in which the messages came. */
  readonly messageNo: number;
  readonly id: string;
  readonly event: string | null;
  /** The text; with files, a `StoredUserMessage`, whose bytes `readBlob` reads. Of an event its data. */
  readonly body: Json;
  readonly sentAt: number;
  readonly sentBy: string;
  readonly status: MessageStatus;
  readonly settledAt: number | null;
  readonly reason: string | null;
  /** The call that took it. */
  readonly toolCallId: string | null;
  /** Of a text. A `steer` that came while another person's exchange was open is a `queue`. */
  readonly mode: MessageMode | null;
  /** The turn that took it, and the exchange that it belongs to. */
  readonly takenBy: { readonly stepPath: StepPath; readonly turn: number; readonly exchange: number } | null;
};

/** Which messages are listed. */
export type MessageRange = {
  readonly status?: MessageStatus;
  /** Those behind the one of this number. */
  readonly after?: number;
  readonly limit?: number;
};
