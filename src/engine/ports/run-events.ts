import type {
  FailedAttemptOutcome,
  ReceiptStatus,
  ReconcileStatus,
} from "../../core/call/tool-call-decision.ts";
import type { Json } from "../../core/json.ts";
import type { Amount, ChargeBasis } from "../../core/usage/usage.ts";
import type { ExchangeOutcome } from "../../store/store.ts";
import type { RunResult } from "./run-result.ts";

/** Something that happened in a run, emitted once it is durable. `stream` yields these. */
export type RunEvent =
  | { readonly type: "run.started"; readonly runId: string; readonly resumed: boolean }
  | {
      readonly type: "step.started" | "step.finished" | "step.skipped";
      readonly runId: string;
      readonly step: string;
    }
  | {
      readonly type: "turn.started";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly replayed: boolean;
    }
  /** An attempt at a model call failed. It is settled: a refused one was charged nothing. */
  | {
      readonly type: "model.failed";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly attempt: number;
      readonly message: string;
      /** Null if there is no next attempt. */
      readonly retryInMs: number | null;
      /**
       * Set while the provider takes no requests (429, 503, 529, no connection): the wall-clock time of the first of these
       * refusals in a row. The run waits, unless `retryInMs` is null: then the outage has reached `maxOutageMs`.
       */
      readonly outageSince: number | null;
    }
  /** A model call was charged without an answer from the provider. */
  | {
      readonly type: "usage.baseline";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly attempt: number;
      readonly charged: Amount;
    }
  /** A model call was settled: the amount reserved for it, and the amount charged. */
  | {
      readonly type: "usage.settled";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly attempt: number;
      readonly basis: ChargeBasis;
      readonly reserved: Amount;
      readonly charged: Amount;
    }
  | {
      readonly type: "tool.started";
      readonly runId: string;
      readonly toolCallId: string;
      readonly tool: string;
      readonly attempt: number;
      readonly input: Json;
    }
  /** A call attempt has ended; `status` is the one that the ledger records. */
  | {
      readonly type: "tool.finished";
      readonly runId: string;
      readonly toolCallId: string;
      readonly tool: string;
      readonly attempt: number;
      readonly status: ReceiptStatus | FailedAttemptOutcome;
    }
  | {
      readonly type: "tool.retrying";
      readonly runId: string;
      readonly toolCallId: string;
      readonly tool: string;
      readonly attempt: number;
      readonly message: string;
      readonly retryInMs: number;
    }
  /** A call in doubt was looked up in the outside system. */
  | {
      readonly type: "tool.reconciled";
      readonly runId: string;
      readonly toolCallId: string;
      readonly tool: string;
      readonly status: ReconcileStatus;
    }
  /** The look-up found no effect, and a lost attempt may still take effect until `until`. */
  | {
      readonly type: "tool.waiting";
      readonly runId: string;
      readonly toolCallId: string;
      readonly tool: string;
      readonly until: number;
    }
  /** The outcome of the call is unknown: it was running when its worker stopped, or it was cut off. */
  | {
      readonly type: "tool.in_doubt";
      readonly runId: string;
      readonly toolCallId: string;
    }
  /** The call did not run: an earlier call succeeded with the same effect. */
  | {
      readonly type: "tool.deduplicated";
      readonly runId: string;
      readonly toolCallId: string;
      readonly tool: string;
      readonly duplicateOf: string;
    }
  | {
      readonly type: "turn.committed";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly text: string;
      readonly isComplete: boolean;
    }
  /** The session after this turn was stored: the step can later be resumed from it. */
  | {
      readonly type: "checkpoint.saved";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly checkpoint: number;
    }
  /** An exchange of a conversation has ended: with the complete answer, or without one. */
  | {
      readonly type: "exchange.ended";
      readonly runId: string;
      readonly step: string;
      readonly exchange: number;
      readonly outcome: ExchangeOutcome;
      /** Why it ended without a complete answer. */
      readonly why: string | null;
    }
  /**
   * A step has a new line of history, and continues with this turn. `milestone`: it abandoned the old one, and is back at a
   * checkpoint or at its beginning (null). `compaction`: a summary is in its place, and nothing was abandoned.
   */
  | {
      readonly type: "lineage.begun";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly checkpoint: number | null;
      readonly reason: "milestone" | "compaction";
    }
  /** Another worker has the run: further writes of this one are refused. */
  | { readonly type: "lease.lost"; readonly runId: string; readonly epoch: number }
  | { readonly type: "warning"; readonly runId: string; readonly message: string }
  | { readonly type: "run.finished"; readonly runId: string; readonly result: RunResult<unknown> };

export type RunEventListener = (event: RunEvent) => void;
