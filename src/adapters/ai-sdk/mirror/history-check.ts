import { canonicalHash, isJson } from "../../../core/canonical-json.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import { isToolCallPart, textOf } from "../../../core/message.ts";
import type { TurnRecord } from "../../../store/store.ts";
import type { GivenCall, GivenMessages } from "./given-messages.ts";
import { stringIn } from "./mirrored-content.ts";

/** What the store has of a run, as far as a caller can have seen it. */
export type StoredHistory = {
  /** The texts that people sent, in order. */
  readonly texts: readonly string[];
  readonly turns: readonly TurnRecord[];
};

/**
 * Refuses messages that are not those of the store. What the model sees is the store's history, so a caller whose history
 * differs would get an answer to something else than it shows. Results of tools are not compared: the ledger has them.
 */
export function assertSameHistory(runId: string, given: GivenMessages, stored: StoredHistory): void {
  const problems = [textProblem(given, stored), answerProblem(given, stored), callProblem(given, stored)];
  const [first] = problems.flatMap((problem) => problem ?? []).toSorted((a, b) => a.at - b.at);
  if (first === undefined) return;
  throw new ConfigurationError(
    `Message ${first.at + 1} is not the one that run ${runId} has (${first.what}): the store's history is what the model sees, so send its messages as they are. To change one, fork the run.`,
    { runId, message: first.at + 1 },
  );
}

type HistoryProblem = { readonly at: number; readonly what: string };

/** Texts by their position, also the new ones: one that is stored already is the same message again. */
function textProblem({ texts }: GivenMessages, stored: StoredHistory): HistoryProblem | null {
  const index = texts.findIndex(({ text }, i) => stored.texts[i] !== undefined && stored.texts[i] !== text);
  const differing = texts[index];
  return differing === undefined ? null : { at: differing.at, what: "another text was sent there" };
}

function answerProblem({ answers }: GivenMessages, { turns }: StoredHistory): HistoryProblem | null {
  // One answer may have the texts of several turns, and a turn that was asked again may have been left out.
  const texts = turns.map(({ response }) => textOf(response.content)).filter((text) => text !== "");
  let next = 0;
  for (const { text, at } of answers) {
    const end = endOfAnswer(texts, next, text);
    if (end === null) return { at, what: "the agent answered something else" };
    next = end;
  }
  return null;
}

/** The place behind the turns whose texts are this answer; null if there are none. */
function endOfAnswer(texts: readonly string[], from: number, answer: string): number | null {
  for (let start = from; start < texts.length; start++) {
    let rest = answer;
    for (let i = start; i < texts.length && rest.startsWith(texts[i] ?? ""); i++) {
      rest = rest.slice((texts[i] ?? "").length);
      if (rest === "") return i + 1;
    }
  }
  return null;
}

function callProblem({ calls }: GivenMessages, { turns }: StoredHistory): HistoryProblem | null {
  const stored = new Map(turns.flatMap(callsOf));
  for (const call of calls) {
    const known = stored.get(call.toolCallId);
    if (known === undefined) return { at: call.at, what: `it has no call ${call.toolCallId}` };
    if (!isSameCall(call, known)) return { at: call.at, what: `call ${call.toolCallId} has other arguments` };
  }
  return null;
}

type StoredCall = { readonly toolName: string; readonly input: Json };

/** By the ids of the ledger, and by those of the provider. */
function callsOf({ response, calls }: TurnRecord): readonly (readonly [string, StoredCall])[] {
  const parts = response.content.filter((part) => part.type === "tool-call");
  const ofProvider = parts.map(
    ({ toolCallId, toolName, input = null }) =>
      [stringIn(toolCallId), { toolName: stringIn(toolName), input }] as const,
  );
  const own = response.content.filter(isToolCallPart);
  const ofLedger = calls.map(
    ({ toolCallId, tool, request, callIndex }) =>
      [
        toolCallId,
        { toolName: own[callIndex - 1]?.toolName ?? tool, input: own[callIndex - 1]?.input ?? request },
      ] as const,
  );
  return [...ofProvider, ...ofLedger];
}

function isSameCall({ toolName, input }: GivenCall, known: StoredCall): boolean {
  return toolName === known.toolName && isSameJson(input, known.input);
}

export function isSameJson(given: unknown, stored: Json): boolean {
  const value = given ?? null;
  return isJson(value) && canonicalHash(value).equals(canonicalHash(stored));
}
