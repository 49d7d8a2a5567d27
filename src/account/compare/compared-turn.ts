import { canonicalJson } from "../../core/canonical-json.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import type { AssistantPart } from "../../core/message.ts";
import type { StepPath } from "../../core/step-path.ts";
import { type Amount, addAmount, NOTHING } from "../../core/usage/usage.ts";
import type { ModelCallRecord, ToolCallRecord, TurnRecord } from "../../store/store.ts";
import { partsOf } from "../transcript/incident-items.ts";
import { transcriptCall } from "../transcript/shown-values.ts";
import type { TranscriptCall, TranscriptPart } from "../transcript/transcript-items.ts";

/** A turn of one of two runs. */
type TurnSide = {
  readonly parts: readonly TranscriptPart[];
  readonly committed: boolean;
  readonly charged: Amount;
  /** From its first request to its answer; null if the run has no request of its own, as in the start of a fork. */
  readonly tookMs: number | null;
};

/** Calls of two runs that have the same effect, or a call that only one of them has. */
type CallPair = { readonly a: TranscriptCall | null; readonly b: TranscriptCall | null };

/** A turn of two runs, side by side. */
export type ComparedTurn = {
  readonly step: StepPath;
  readonly turn: number;
  /** Both runs have it, and the model said the same. */
  readonly isSame: boolean;
  readonly a: TurnSide | null;
  readonly b: TurnSide | null;
  readonly calls: readonly CallPair[];
};

/** A turn, and the requests to the model that it took. */
export type TurnWithCost = { readonly turn: TurnRecord; readonly requests: readonly ModelCallRecord[] };

export function comparedTurn(
  step: StepPath,
  turn: number,
  a: TurnWithCost | null,
  b: TurnWithCost | null,
): ComparedTurn {
  return {
    step,
    turn,
    isSame: a !== null && b !== null && isSameAnswer(a.turn, b.turn),
    a: a === null ? null : sideOf(a),
    b: b === null ? null : sideOf(b),
    calls: matchedCalls(a?.turn.calls ?? [], b?.turn.calls ?? []),
  };
}

/** Equal but for the ids that a provider makes up for each call. */
export function isSameAnswer(a: TurnRecord, b: TurnRecord): boolean {
  return canonicalJson(comparable(a.response.content)) === canonicalJson(comparable(b.response.content));
}

const MADE_UP: ReadonlySet<string> = new Set(["toolCallId", "providerOptions", "providerMetadata"]);

function comparable(content: readonly AssistantPart[]): Json {
  return content.map((part) =>
    isJsonObject(part)
      ? Object.fromEntries(Object.entries(part).filter(([name]) => !MADE_UP.has(name)))
      : part,
  );
}

function sideOf({ turn, requests }: TurnWithCost): TurnSide {
  const charges = requests.flatMap(({ charge }) => (charge === null ? [] : [charge.amount]));
  const [first] = requests;
  return {
    parts: partsOf(turn),
    committed: turn.committed,
    charged: charges.reduce(addAmount, NOTHING),
    tookMs:
      first === undefined ? null : Math.max(0, (requests.at(-1)?.settledAt ?? turn.at) - first.openedAt),
  };
}

/** By the hash of their identity: a second call of the same effect is matched with the second one. */
function matchedCalls(a: readonly ToolCallRecord[], b: readonly ToolCallRecord[]): readonly CallPair[] {
  const left = [...b];
  const matched = a.map((call) => {
    const index = left.findIndex(({ identityHash }) => identityHash === call.identityHash);
    const [same] = index === -1 ? [] : left.splice(index, 1);
    return { a: transcriptCall(call), b: same === undefined ? null : transcriptCall(same) };
  });
  return [...matched, ...left.map((call) => ({ a: null, b: transcriptCall(call) }))];
}
