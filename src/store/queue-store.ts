import type { Person } from "../core/person.ts";
import type { ResumeRequest } from "../core/run/resume-request.ts";
import type { ExchangeEnd, StopOutcome } from "./exchange/exchange-records.ts";
import type { MessageStatus, NewMessage, SentMessage } from "./queue-records.ts";
import type { Fence, NewRun } from "./store-intents.ts";
import type { RunRecord } from "./store-records.ts";
import type { Compaction, SummaryOpening, TurnOpened } from "./turn-commits.ts";
import type { WorkerReport } from "./worker-records.ts";

/** A run to create without claiming it. */
export type QueuedRun = Omit<NewRun, "leaseMs" | "marksEffects"> & {
  /** It is not ready before this time, in milliseconds since 1970. */
  readonly notBefore?: number | null;
};

/** The outcome of a request to resume a run. */
export type ResumeOutcome =
  /** It is queued: the next worker resumes it. */
  | { readonly kind: "requested"; readonly run: RunRecord }
  /** A living process holds it, until this time if it does not renew its lease. */
  | { readonly kind: "busy"; readonly owner: string; readonly until: number }
  /** It has succeeded, or was moved: there is nothing to resume. */
  | { readonly kind: "over"; readonly run: RunRecord }
  /** Its last event has another number than the request names: somebody has acted meanwhile. */
  | { readonly kind: "changed"; readonly run: RunRecord; readonly seq: number };

/** The intents of a store around runs that nobody works on: those that wait for a worker, the clock or a message. */
export interface QueueStore {
  /**
   * Creates the run for a worker to claim. `exists` if the id is taken; then nothing changes, and the run is the one
   * that is there.
   */
  enqueueRun(run: QueuedRun): Promise<{ readonly kind: "created" | "exists"; readonly run: RunRecord }>;

  /**
   * Does what the clock has to do about the run: answers waits that are due, reminds people, makes a queued run ready
   * whose time has come. Never early, by the store's clock. Anybody may call it, any number of times. Resolves to
   * when it has something to do next; null if never.
   */
  wakeRun(runId: string): Promise<number | null>;

  /**
   * Puts a message into the mailbox of a run. If the run waits for it, that wait is answered in the same transaction.
   * The same message again changes nothing; the same id with other contents, or of another sender, is refused with
   * `MessageRefusedError`. A message that no call can take any more is stored as returned, with the reason. A claim of
   * a failed run puts those back that were returned because it had failed. With `orStart`, the run is created in the same
   * transaction if it does not exist.
   */
  sendMessage(runId: string, message: NewMessage, orStart?: QueuedRun): Promise<SentMessage>;

  /**
   * Asks that a worker resumes a run that no living process holds: the run is queued, and ready now, whatever it waited for.
   * Waits that are open stay open. The next claim takes the request; another request before that replaces it, and a cancel
   * withdraws it. What a dead worker left open is settled as by a claim.
   */
  requestResume(runId: string, request: ResumeRequest, person?: Person): Promise<ResumeOutcome>;

  /** Withdraws a message, if no call has taken it. Resolves to what became of it. */
  withdrawMessage(runId: string, messageId: string): Promise<MessageStatus>;

  /**
   * Stores what a worker reports about itself, for people to see; nothing is decided by it, and no run's log has it.
   * Workers that have not reported for a minute are removed.
   */
  reportWorker(report: WorkerReport): Promise<void>;

  /** Removes the worker, which has ended, from those that people see. */
  forgetWorker(workerId: string): Promise<void>;
}

/** The intents of a store around the exchanges of conversations. A turn takes messages as it is opened. */
export interface ExchangeStore {
  /**
   * Ends the open exchange of a step without a complete answer. Refused while a turn is journaled and not committed, and
   * while a model call is open.
   */
  endExchange(fence: Fence, end: ExchangeEnd): Promise<void>;

  /**
   * Reserves quota for a request for the summary of a conversation; durable before a byte is sent. Only between two
   * exchanges: `ResumeError` (recoverable) otherwise. The request is settled by `compactHistory` or `settleModelCall`.
   */
  openSummary(
    fence: Fence,
    opening: SummaryOpening,
  ): Promise<Exclude<TurnOpened, { readonly kind: "stale" }>>;

  /**
   * Replaces the history of a conversation by its summary: a new lineage begins with it, and the model call that it is from
   * is charged, in one transaction. Messages, exchanges, receipts and the session stay as they are. Only between two
   * exchanges: `ResumeError` (recoverable) otherwise.
   */
  compactHistory(fence: Fence, compaction: Compaction): Promise<void>;

  /**
   * Asks to end the present exchange of the run, and never the run: no model is asked any more, and tools in progress are
   * completed. What the exchange waits for is answered with a refusal, but calls in doubt stay for people. The same again
   * changes nothing.
   */
  requestStop(runId: string, person?: Person): Promise<StopOutcome>;
}
