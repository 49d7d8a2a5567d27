import type { RunComparison } from "../../account/compare/compare-runs.ts";
import type { ComparedTurn } from "../../account/compare/compared-turn.ts";
import type { Change } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";

/** Two runs beside each other, without their turns. */
export function comparisonDocument({ a, b, hasSameInput, sameTurns, agents, output }: RunComparison) {
  return {
    a: a.runId,
    b: b.runId,
    hasSameInput,
    samePrefix: sameTurns,
    setup: agents.flatMap(({ step, changes }) =>
      changes.map((change) => ({ step, ...changeDocument(change) })),
    ),
    output: { isSame: output.length === 0, changes: output.map(changeDocument) },
    spent: { a: a.charged, b: b.charged },
    tookMs: { a: a.tookMs, b: b.tookMs },
  };
}

function changeDocument({ what, was, is }: Change) {
  return { path: what, a: was, b: is };
}

export function comparedTurnDocument({ step, turn, isSame, a, b, calls }: ComparedTurn) {
  return {
    stepPath: step,
    turnIndex: turn,
    isSame,
    a: sideDocument(a),
    b: sideDocument(b),
    calls: calls.map(comparedCallDocument),
    spent: { a: a?.charged ?? null, b: b?.charged ?? null },
  };
}

function sideDocument(side: ComparedTurn["a"]): Json {
  return side === null ? null : { ...side, parts: [...side.parts] };
}

/** Calls are matched by their effect: those of a pair are the same. */
function comparedCallDocument({ a, b }: ComparedTurn["calls"][number]) {
  const match: "same" | "only_a" | "only_b" = a === null ? "only_b" : b === null ? "only_a" : "same";
  return {
    match,
    tool: a?.tool ?? b?.tool ?? "",
    a: a?.toolCallId ?? null,
    b: b?.toolCallId ?? null,
  };
}
