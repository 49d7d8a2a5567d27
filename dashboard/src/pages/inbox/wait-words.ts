import { isJsonObject } from "../../../../src/core/json.ts";
import type { Wait, WaitKind } from "../../api/documents.ts";

/** The kinds that people answer: the others are answered by the clock and the mailbox. */
export const PERSON_KINDS = [
  "approval",
  "possible_duplicate",
  "in_doubt",
  "escalation",
  "question",
  "budget",
] as const satisfies readonly WaitKind[];

const KINDS: { readonly [K in WaitKind]: string } = {
  approval: "approval",
  possible_duplicate: "possible duplicate",
  in_doubt: "in doubt",
  escalation: "escalation",
  question: "question",
  budget: "budget",
  time: "time",
  message: "message",
};

export function kindWords(kind: WaitKind): string {
  return KINDS[kind];
}

/** What a wait is about, in a word or two: the tool, the budget, or the question itself. */
export function subjectWords({ tool, kind, subject, question }: Wait): string {
  if (kind === "budget") return fieldOf(subject, "budget") ?? question;
  return kind === "question" ? question : (tool ?? question);
}

/** A text of the subject of a wait. */
function fieldOf(subject: Wait["subject"], name: string): string | null {
  const value = isJsonObject(subject) ? subject[name] : null;
  return typeof value === "string" ? value : null;
}

/** A number of the subject of a wait. */
export function numberOf(subject: Wait["subject"], name: string): number | null {
  const value = isJsonObject(subject) ? subject[name] : null;
  return typeof value === "number" ? value : null;
}

/** Why parts of the subject are not shown. */
export function hiddenBecause(subject: Wait["subject"]): readonly string[] {
  const hidden = isJsonObject(subject) ? subject.hidden : null;
  return Array.isArray(hidden) ? hidden.filter((why) => typeof why === "string") : [];
}

/** What was answered, in a few words. */
export function answerWords({ status, answer }: Pick<Wait, "status" | "answer">): string {
  if (status === "withdrawn") return "withdrawn";
  if (!isJsonObject(answer)) return answer === null ? "answered" : valueWords(answer);
  const why = typeof answer.why === "string" ? `: ${answer.why}` : "";
  if (typeof answer.approved === "boolean") return answer.approved ? "approved" : `denied${why}`;
  switch (typeof answer.as === "string" ? answer.as : "") {
    case "answered":
      return valueWords(answer.value ?? null);
    case "succeeded":
      return `it happened: ${valueWords(answer.result ?? null)}`;
    case "retry":
      return "it did not happen: run again";
    case "failed":
      return `it did not happen, and must not${why}`;
    case "timed_out":
      return `nothing came in time${why}`;
    default:
      return valueWords(answer);
  }
}

function valueWords(value: Wait["answer"]): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
