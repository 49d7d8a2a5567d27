import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { WaitRecord } from "../../store/store.ts";
import type { CommandInput } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";

/** The command lines that a wait can be answered with, the most likely one first. */
export function waitHints(input: CommandInput, wait: WaitRecord): readonly string[] {
  const hint = (...words: readonly string[]) => commandHint(input, ...words);
  const { waitId, toolCallId } = wait;
  switch (wait.kind) {
    case "approval":
      return [hint("approve", waitId), hint("deny", waitId, "--why", "…")];
    case "in_doubt":
      return settleHints(input, toolCallId ?? waitId);
    case "escalation":
      return [hint("settle", toolCallId ?? waitId, "--retry"), hint("answer", waitId, "…")];
    case "question":
      return answersOf(wait).map((answer) => hint("answer", waitId, answer));
    case "budget":
      return [hint("answer", waitId, higherThan(wait)), hint("deny", waitId, "--why", "…")];
  }
}

/** What can be said about a call in doubt. */
export function settleHints(input: CommandInput, callId: string): readonly string[] {
  const hint = (...words: readonly string[]) => commandHint(input, "settle", callId, ...words);
  return [hint("--succeeded", "{…}"), hint("--retry"), hint("--failed", "…")];
}

function answersOf({ subject }: WaitRecord): readonly string[] {
  const choices = choicesOf(subject);
  return choices.length === 0 ? ["…"] : choices;
}

/** What a question gives to choose from, where it gives anything. */
export function choicesOf({ arguments: asked }: JsonObject): readonly string[] {
  const choices = isJsonObject(asked) ? asked.choices : null;
  return Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string") : [];
}

/** Why a person is not shown something, and what is known of it all the same. */
export function hiddenBecause({ hidden }: JsonObject): readonly string[] {
  return Array.isArray(hidden) ? hidden.filter((why) => typeof why === "string") : [];
}

/** Twice as much: a number that works, for the person to change. */
function higherThan({ subject }: WaitRecord): string {
  return typeof subject.limit === "number" ? String(subject.limit * 2) : "…";
}
