import type { Json } from "../core/json.ts";
import type { Amount, ChargeBasis } from "../core/usage.ts";
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
  | {
      readonly type: "tool.finished";
      readonly runId: string;
      readonly toolCallId: string;
      readonly tool: string;
      readonly status: "succeeded" | "failed";
    }
  | {
      readonly type: "turn.committed";
      readonly runId: string;
      readonly step: string;
      readonly turn: number;
      readonly text: string;
      readonly isComplete: boolean;
    }
  | { readonly type: "warning"; readonly runId: string; readonly message: string }
  | { readonly type: "run.finished"; readonly runId: string; readonly result: RunResult<unknown> };

export type RunEventListener = (event: RunEvent) => void;
