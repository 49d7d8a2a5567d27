import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { WaitRecord } from "../store/store.ts";
import type { Act } from "./act.ts";

/** The acts that answer a wait, the most likely one first. */
export function waitActs(wait: WaitRecord): readonly Act[] {
  const { waitId, runId, toolCallId, argumentsHash, matches } = wait;
  switch (wait.kind) {
    case "approval":
    case "possible_duplicate":
      return [
        { act: "approve", waitId, argumentsHash },
        { act: "deny", waitId },
      ];
    case "in_doubt":
      return settleActs(toolCallId ?? waitId);
    case "escalation":
      return [
        { act: "settle", callId: toolCallId ?? waitId, as: "retry" },
        { act: "answer", waitId, suggested: null },
      ];
    case "question":
      return answersOf(wait).map((suggested) => ({ act: "answer", waitId, suggested }));
    case "time":
      return [];
    case "message":
      return matches === null
        ? [
            { act: "chat", runId },
            { act: "send", runId, event: null },
          ]
        : [{ act: "send", runId, event: matches }];
    case "budget":
      return [
        { act: "answer", waitId, suggested: higherThan(wait) },
        { act: "deny", waitId },
      ];
  }
}

/** The acts that settle a call in doubt. */
export function settleActs(callId: string): readonly Act[] {
  return [
    { act: "settle", callId, as: "succeeded" },
    { act: "settle", callId, as: "retry" },
    { act: "settle", callId, as: "failed" },
  ];
}

function answersOf({ subject }: WaitRecord): readonly (string | null)[] {
  const choices = choicesOf(subject);
  return choices.length === 0 ? [null] : choices;
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

/** Twice the limit: a number that works, for the person to change. */
function higherThan({ subject }: WaitRecord): string | null {
  return typeof subject.limit === "number" ? String(subject.limit * 2) : null;
}
