import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { WaitRecord } from "../../store/store.ts";
import type { CommandInput } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";

/** The commands that answer a wait, the most likely one first. */
export function waitHints(input: CommandInput, wait: WaitRecord): readonly string[] {
  const hint = (...words: readonly string[]) => commandHint(input, ...words);
  const { waitId, toolCallId } = wait;
  switch (wait.kind) {
    case "approval":
    case "possible_duplicate":
      return [hint("approve", waitId), hint("deny", waitId, "--why", "…")];
    case "in_doubt":
      return settleHints(input, toolCallId ?? waitId);
    case "escalation":
      return [hint("settle", toolCallId ?? waitId, "--retry"), hint("answer", waitId, "…")];
    case "question":
      return answersOf(wait).map((answer) => hint("answer", waitId, answer));
    case "time":
      return [];
    case "message":
      return wait.matches === null
        ? [hint("chat", wait.runId), hint("send", wait.runId, "…")]
        : [hint("send", wait.runId, "--event", wait.matches, "{…}")];
    case "budget":
      return [hint("answer", waitId, higherThan(wait)), hint("deny", waitId, "--why", "…")];
  }
}

/** The commands that settle a call in doubt. */
export function settleHints(input: CommandInput, callId: string): readonly string[] {
  const hint = (...words: readonly string[]) => commandHint(input, "settle", callId, ...words);
  return [hint("--succeeded", "{…}"), hint("--retry"), hint("--failed", "…")];
}

function answersOf({ subject }: WaitRecord): readonly string[] {
  const choices = choicesOf(subject);
  return choices.length === 0 ? ["…"] : choices;
}

/** The choices of a question, if it has any. */
export function choicesOf({ arguments: asked }: JsonObject): readonly string[] {
  const choices = isJsonObject(asked) ? asked.choices : null;
  return Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string") : [];
}

/** The reasons why parts of the subject are hidden, and what is known about them anyway. */
export function hiddenBecause({ hidden }: JsonObject): readonly string[] {
  return Array.isArray(hidden) ? hidden.filter((why) => typeof why === "string") : [];
}

/** Twice the limit: a number that works, for the user to change. */
function higherThan({ subject }: WaitRecord): string {
  return typeof subject.limit === "number" ? String(subject.limit * 2) : "…";
}
