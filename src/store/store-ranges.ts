import type { WaitKind } from "../core/wait.ts";
import type { RunScope } from "./run-summary.ts";
import type { CheckpointRecord } from "./session-records.ts";
import type {
  ModelCallRecord,
  StepRecord,
  ToolCallAttempt,
  ToolCallRecord,
  TurnRecord,
  WaitRecord,
} from "./store-records.ts";

/** A part of the events of a run: those after `after`, at most `limit`. */
export type EventRange = { readonly after?: number; readonly limit?: number };

/**
 * A part of a list, in list order: the records after `after`, at most `limit`. Pass the last record of a part
 * as the next `after`; that record need not exist any more. Without a range, the whole list.
 */
export type ListRange<T, Place extends keyof T> = {
  readonly after?: Pick<T, Place>;
  readonly limit?: number;
};

/** A page of the steps of a run. */
export type StepRange = ListRange<StepRecord, "path">;
/** A page of the turns of a run. */
export type TurnRange = ListRange<TurnRecord, "stepPath" | "turnIndex">;
/** A page of the model attempts of a run. */
export type ModelCallRange = ListRange<ModelCallRecord, "stepPath" | "turnIndex" | "attempt">;
/** A page of the ledger of a run. */
export type ToolCallRange = ListRange<ToolCallRecord, "stepPath" | "turnIndex" | "callIndex">;
/** A page of the call attempts of a run. */
export type ToolCallAttemptRange = ListRange<ToolCallAttempt, "toolCallId" | "attempt">;
/** A page of the questions of a run. */
export type WaitRange = ListRange<WaitRecord, "waitId"> & {
  /** Only those that nothing has answered. */
  readonly open?: boolean;
};
/** A page of the checkpoints of a run. */
export type CheckpointRange = ListRange<CheckpointRecord, "checkpoint">;

/** Which open waits of all runs to list, oldest first. All that is given must hold. */
export type OpenWaitRange = RunScope & {
  /** Only those behind this one. */
  readonly after?: Pick<WaitRecord, "createdAt" | "waitId">;
  readonly limit?: number;
  /** One of these; a list of kinds that people answer does not look at the waits of conversations and clocks. */
  readonly kinds?: readonly WaitKind[];
  readonly runId?: string;
};

/** Which answers of people to list, newest first. */
export type AnsweredWaitRange = RunScope & {
  /** Only those behind this one. */
  readonly after?: { readonly answeredAt: number; readonly waitId: string };
  /** One of these kinds. */
  readonly kinds?: readonly WaitKind[];
  readonly runId?: string;
  /** Answered then or later, in milliseconds since 1970. */
  readonly since: number;
  readonly limit: number;
};
