import type { Json } from "../../core/json.ts";
import type { StepPath } from "../../core/step-path.ts";
import type { WaitAnswer } from "../../core/wait.ts";
import type { ShownFile } from "../../export/sent-file.ts";
import type { AttemptRecord, MessageMode, Receipt, ToolCallRecord, WaitRecord } from "../../store/store.ts";

// A conversation as items that a page shows one below the other.

/** A text, or its beginning if it has more characters than that. */
export type ShownText = { readonly text: string; readonly characters: number };

/** A value; the beginning of its JSON if that is long; or where its bytes are, which are never in a page. */
export type ShownValue =
  | { readonly kind: "whole"; readonly value: Json }
  | { readonly kind: "beginning"; readonly json: ShownText }
  | { readonly kind: "blob"; readonly blobId: string; readonly size: number };

/** A call, as it is now. */
export type TranscriptCall = Pick<
  ToolCallRecord,
  "toolCallId" | "namespace" | "tool" | "effect" | "recovery" | "status" | "attempt"
> & {
  readonly request: ShownValue;
  readonly result:
    | (Pick<Receipt, "source" | "errorCode" | "uncertain" | "duplicateOf"> & {
        readonly type: Receipt["output"]["type"];
        readonly value: ShownValue;
      })
    | null;
};

/** A part of what the model said, in its order. */
export type TranscriptPart =
  | { readonly kind: "text"; readonly text: ShownText }
  | { readonly kind: "reasoning"; readonly text: ShownText }
  | { readonly kind: "call"; readonly call: TranscriptCall }
  /** A part of another type, as the provider sent it. */
  | { readonly kind: "other"; readonly type: string; readonly value: ShownValue };

type InTurn = { readonly step: StepPath; readonly turn: number };

/** What is said or done at one point of a run. */
export type TranscriptContent =
  /** A message that a turn has taken. */
  | {
      readonly kind: "user";
      readonly step: StepPath | null;
      readonly messageNo: number;
      readonly sentBy: string;
      readonly mode: MessageMode | null;
      readonly text: ShownText;
      readonly files: readonly ShownFile[];
    }
  /** The message that the agent got after a turn, to make it continue. */
  | (InTurn & { readonly kind: "follow_up"; readonly text: ShownText })
  /** `isAbandoned`: a later lineage has given this turn up. */
  | (InTurn & {
      readonly kind: "assistant";
      readonly parts: readonly TranscriptPart[];
      readonly isAbandoned: boolean;
    })
  /** An answer that was dropped. The model was asked again. */
  | (InTurn & { readonly kind: "dropped" })
  /** Calls of the code of a step. */
  | { readonly kind: "calls"; readonly step: StepPath | null; readonly calls: readonly TranscriptCall[] }
  | (Pick<WaitRecord, "waitId" | "toolCallId" | "question" | "status" | "matches"> & {
      readonly kind: "wait";
      readonly waitKind: WaitRecord["kind"];
      readonly dueAt: string | null;
    })
  /** `by` is empty if the clock answered. Without an answer, it is one of several approvals that a call needs. */
  | {
      readonly kind: "answer";
      readonly waitId: string;
      readonly toolCallId: string | null;
      readonly by: readonly string[];
      readonly answer: WaitAnswer | null;
    }
  | TranscriptDivider;

/** A line between parts of a conversation. */
export type TranscriptDivider =
  /** A worker has claimed the run. `afterDeath`: the one before it had died. */
  | {
      readonly kind: "life";
      readonly number: number;
      readonly owner: string;
      readonly resumedFrom: AttemptRecord["resumedFrom"];
      readonly reason: string | null;
      readonly afterDeath: boolean;
    }
  /** The turns up to this one are in the transcript of that run. */
  | (InTurn & { readonly kind: "fork"; readonly runId: string })
  /** `value` is the input of a step that begins, and the output of one that ends. */
  | {
      readonly kind: "step";
      readonly what: "begun" | "entered_again" | "skipped" | "finished";
      readonly step: StepPath;
      readonly stepKind: string;
      readonly phase: string;
      readonly value: ShownValue | null;
    }
  | { readonly kind: "exchange_begun"; readonly step: StepPath | null; readonly exchange: number }
  | {
      readonly kind: "exchange_ended";
      readonly step: StepPath | null;
      readonly exchange: number;
      readonly outcome: string | null;
      readonly why: string | null;
    }
  /** History begins again: turns between `baseTurn` and `firstTurn` are abandoned. */
  | {
      readonly kind: "lineage";
      readonly step: StepPath | null;
      readonly firstTurn: number | null;
      readonly baseTurn: number | null;
    }
  /** The model sees the summary in place of everything before. */
  | { readonly kind: "compaction"; readonly step: StepPath | null; readonly summary: ShownText }
  | { readonly kind: "request"; readonly what: "cancel" | "stop"; readonly by: string | null }
  | { readonly kind: "artifact"; readonly name: string; readonly size: number | null }
  /** The worker released the run, or another ended it; `code` is that of an error. */
  | {
      readonly kind: "run";
      readonly what: "succeeded" | "failed" | "cancelled" | "queued" | "interrupted" | "moved" | "arrived";
      readonly code: string | null;
      readonly by: string | null;
    };

/** One item of a transcript: what it is, and the event of the log that it is from. */
export type TranscriptItem = TranscriptContent & {
  /** Of the event, and which of its items it is: it stays the same. */
  readonly id: string;
  readonly seq: number;
  readonly at: string;
};
