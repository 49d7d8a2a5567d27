import { visibleLine } from "../../../../../src/core/visible-text.ts";
import type { Answer } from "../../../api/client.ts";
import { counted, moneyWords } from "../../../words/money-words.ts";

export type Forecast = Answer<"forecastRun">;

const NAMED = 4;

/** What a resume would do, as the parts of a sentence, in the order in which it would do them. */
export function forecastWords(forecast: Forecast): readonly string[] {
  const { skipped, next, accepts, turn, calls, waits, later } = forecast;
  return [
    ...(skipped.length === 0 ? [] : [`skip ${namesWords(skipped)}`]),
    ...(next === null ? [] : [`${next.isBegun ? "continue" : "begin"} ${visibleLine(next.step)}`]),
    ...(accepts === null
      ? []
      : [`accept the change of ${namesWords(accepts.changes.map(({ what }) => what))}`]),
    ...turnWords(turn),
    ...callWords(calls),
    ...askedWords(turn),
    ...(waits.length === 0 ? [] : [`leave ${counted(waits.length, "question")} open`]),
    ...(later.length === 0 ? [] : [`then ${namesWords(later)}`]),
  ];
}

function namesWords(names: readonly string[]): string {
  const shown = names.slice(0, names.length <= NAMED + 1 ? names.length : NAMED).map(visibleLine);
  const more = names.length - shown.length;
  return more === 0 ? shown.join(", ") : `${shown.join(", ")} and ${more} more`;
}

function turnWords(turn: Forecast["turn"]): readonly string[] {
  switch (turn?.response) {
    case "replayed":
      return [`replay turn ${turn.index} (not asked, not paid)`];
    case "summary":
      return ["compact the history"];
    case "asked":
    case "none":
    case undefined:
      return [];
  }
}

/** After the calls: a turn that is replayed runs them before the model is asked again. */
function askedWords(turn: Forecast["turn"]): readonly string[] {
  if (turn === null || turn.response === "none") return [];
  const { mayCost } = turn;
  if (turn.response === "replayed" && mayCost === null) return [];
  const most =
    mayCost === null || mayCost.microDollars === 0 ? "" : `, at most ${moneyWords(mayCost.microDollars)}`;
  return [`ask the model${turn.response === "asked" ? ` for turn ${turn.index}` : ""}${most}`];
}

const ACTIONS: { readonly [action: string]: (tool: string) => string } = {
  answered: (tool) => `reuse the receipt of ${tool}`,
  run: (tool) => `run ${tool}`,
  run_again: (tool) => `run ${tool} again`,
  look_up: (tool) => `look up ${tool}`,
  ask: (tool) => `ask a person about ${tool}`,
  deduplicated: (tool) => `reuse the result of an equal ${tool}`,
  refused: (tool) => `refuse ${tool}`,
  later: (tool) => `decide about ${tool} later`,
  dropped: (tool) => `drop ${tool}`,
  requested_again: (tool) => `let the step request ${tool} again`,
};

/** Calls that have the same fate are one part. */
function callWords(calls: Forecast["calls"]): readonly string[] {
  const counts = new Map<string, number>();
  for (const call of calls) {
    const { tool, action } = callIn(call);
    const words = (ACTIONS[action] ?? ((name: string) => `${action} ${name}`))(tool);
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return [...counts].map(([words, count]) => (count === 1 ? words : `${words} (${count}×)`));
}

function callIn(call: Forecast["calls"][number]): { readonly tool: string; readonly action: string } {
  const { tool, action } = { tool: "", action: "", ...(call as object) };
  return { tool: visibleLine(tool), action: visibleLine(action) };
}
