import { asksPeople, asksPermission } from "../../../core/wait.ts";
import type { TurnRecord, WaitRecord } from "../../../store/store.ts";

// What a mirror shows next, from what the store has. Null: that is not decided yet.

/** How the part of a run that is shown has ended. */
export type MirroredEnd =
  /** With the answer in turn `lastTurn`; null if that is whichever comes last. */
  | { readonly kind: "complete"; readonly lastTurn: number | null }
  | { readonly kind: "failed"; readonly error: Error }
  /** Nothing happens until people have answered these. */
  | { readonly kind: "waits"; readonly waits: readonly WaitRecord[] };

/** What becomes of a turn without calls, or after all of its calls have receipts. */
export type TurnFate = "last" | "continues";

export type TurnFacts = {
  readonly turn: TurnRecord;
  readonly hasNext: boolean;
  readonly end: MirroredEnd | null;
  /** A committed turn is not the last one, unless the end has been stored with it. */
  readonly endsWithCommit: boolean;
};

/** The fate of a turn; an end other than a complete answer is for the next look, which reports it. */
export function decideTurnFate({ turn, hasNext, end, endsWithCommit }: TurnFacts): TurnFate | null {
  if (end?.kind === "complete") {
    const { lastTurn } = end;
    const isLast = lastTurn === null ? !hasNext : turn.turnIndex >= lastTurn;
    return isLast ? "last" : "continues";
  }
  if (hasNext || end !== null) return "continues";
  return turn.committed && endsWithCommit ? "continues" : null;
}

/** What becomes of a call. */
export type CallFate =
  /** It has its receipt. */
  | { readonly kind: "settled" }
  /** A person is asked whether it may run. */
  | { readonly kind: "asked"; readonly wait: WaitRecord }
  /** It cannot get a receipt before something else happens. */
  | { readonly kind: "stuck"; readonly end: Exclude<MirroredEnd, { kind: "complete" }> };

export type CallFacts = {
  readonly toolCallId: string;
  readonly hasReceipt: boolean;
  /** The open waits of the run. */
  readonly waits: readonly WaitRecord[];
  readonly end: MirroredEnd | null;
};

export function decideCallFate({ toolCallId, hasReceipt, waits, end }: CallFacts): CallFate | null {
  if (hasReceipt) return { kind: "settled" };
  const wait = waits.find((each) => each.toolCallId === toolCallId && asksPermission(each.kind));
  if (wait !== undefined) return { kind: "asked", wait };
  return end === null || end.kind === "complete" ? null : { kind: "stuck", end };
}

/** The waits for people that keep a run from continuing. A time or a message comes without them. */
export function waitsForPeople(waits: readonly WaitRecord[]): readonly WaitRecord[] {
  return waits.filter(({ kind }) => asksPeople(kind));
}
