import type {
  FailedAttemptOutcome,
  ReceiptStatus,
  ReconcileStatus,
} from "../../core/call/tool-call-decision.ts";
import type { Json } from "../../core/json.ts";
import type { Amount, ChargeBasis } from "../../core/usage/usage.ts";
import type { RunResult } from "./run-result.ts";

/** What happens in a run, told after it is durable. `stream` yields these. */
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
  | {
      readonly type: "model.failed";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly attempt: number;
      readonly message: string;
      readonly retryInMs: number | null;
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
  /** What a model call was thought to cost and what it did. */
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
  /** One try is over: with a result, or as the ledger will call it. */
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
  /** The outside world was asked about a call in doubt. */
  | {
      readonly type: "tool.reconciled";
      readonly runId: string;
      readonly toolCallId: string;
      readonly tool: string;
      readonly status: ReconcileStatus;
    }
  /** It is not there, and an attempt that was lost may still land until then. */
  | {
      readonly type: "tool.waiting";
      readonly runId: string;
      readonly toolCallId: string;
      readonly tool: string;
      readonly until: number;
    }
  /** Nobody here knows whether it happened: it was running when its worker stopped, or was given up on. */
  | {
      readonly type: "tool.in_doubt";
      readonly runId: string;
      readonly toolCallId: string;
    }
  /** It was not run: the same effect was had before. */
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
  /** The session was kept as it is after this turn: the work can go on from there. */
  | {
      readonly type: "checkpoint.saved";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly checkpoint: number;
    }
  /** A step left its history and goes on from a checkpoint, or from its beginning (null), with this turn. */
  | {
      readonly type: "lineage.begun";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly checkpoint: number | null;
    }
  /** Another worker has the run: what this one still does is refused. */
  | { readonly type: "lease.lost"; readonly runId: string; readonly epoch: number }
  | { readonly type: "warning"; readonly runId: string; readonly message: string }
  | { readonly type: "run.finished"; readonly runId: string; readonly result: RunResult<unknown> };

export type RunEventListener = (event: RunEvent) => void;
