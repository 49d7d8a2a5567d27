import { isoTime } from "../../export/figures.ts";
import type {
  ModelCallRecord,
  Receipt,
  ToolCallAttempt,
  ToolCallRecord,
  TurnRecord,
} from "../../store/store.ts";
import type { WithIsoTimes } from "../iso-times.ts";

/** A turn. Its calls are named only: the ledger has them. */
export type TurnDocument = WithIsoTimes<Omit<TurnRecord, "calls">, "at"> & {
  readonly calls: readonly string[];
};

export function turnDocument({ calls, ...turn }: TurnRecord): TurnDocument {
  return { ...turn, calls: calls.map(({ toolCallId }) => toolCallId), at: isoTime(turn.at) };
}

/** The outcome of a call. */
type ReceiptDocument = WithIsoTimes<Receipt, "at">;

/** A row of the ledger. */
export type CallDocument = WithIsoTimes<
  Omit<ToolCallRecord, "receipt">,
  "createdAt" | "startedAt" | "endsBy"
> & {
  readonly receipt: ReceiptDocument | null;
};

export function callDocument(call: ToolCallRecord): CallDocument {
  const { receipt } = call;
  return {
    ...call,
    receipt: receipt === null ? null : { ...receipt, at: isoTime(receipt.at) },
    createdAt: isoTime(call.createdAt),
    startedAt: isoTime(call.startedAt),
    endsBy: isoTime(call.endsBy),
  };
}

type LateOutcome = NonNullable<ToolCallAttempt["late"]>;

/** An attempt of a call that brought no receipt. */
export type CallAttemptDocument = WithIsoTimes<Omit<ToolCallAttempt, "late">, "startedAt" | "endedAt"> & {
  readonly late: WithIsoTimes<LateOutcome, "at"> | null;
};

export function callAttemptDocument({ late, ...attempt }: ToolCallAttempt): CallAttemptDocument {
  return {
    ...attempt,
    startedAt: isoTime(attempt.startedAt),
    endedAt: isoTime(attempt.endedAt),
    late: late === null ? null : { ...late, at: isoTime(late.at) },
  };
}

/** A request to a model. */
export type ModelCallDocument = WithIsoTimes<ModelCallRecord, "openedAt" | "settledAt">;

export function modelCallDocument(call: ModelCallRecord): ModelCallDocument {
  return { ...call, openedAt: isoTime(call.openedAt), settledAt: isoTime(call.settledAt) };
}
