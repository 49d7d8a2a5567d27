import { choicesOf } from "../../account/wait-acts.ts";
import type { Json } from "../../core/json.ts";
import { approvalNeedOf } from "../../core/person.ts";
import { isoTime } from "../../export/figures.ts";
import type { WaitRecord } from "../../store/store.ts";
import { decisionDocument } from "./decision-document.ts";

/** A wait of a run of this pipeline. */
export function waitDocument(wait: WaitRecord, pipeline: string) {
  const { waitId, runId, kind, status, question, subject, toolCallId, argumentsHash } = wait;
  const { answeredBy, people, answer, onDue } = wait;
  const need = approvalNeedOf(subject);
  return {
    waitId,
    runId,
    pipeline,
    kind,
    status,
    question,
    subject,
    tool: typeof subject.tool === "string" ? subject.tool : null,
    toolCallId,
    argumentsHash,
    choices: choicesOf(subject),
    createdAt: isoTime(wait.createdAt),
    answeredAt: isoTime(wait.answeredAt),
    answeredBy,
    people: people.map(decisionDocument),
    peopleNeeded: need.people,
    notStarter: need.notStarter,
    answer: answer as Json,
    dueAt: isoTime(wait.dueAt),
    onDue: onDue?.action ?? null,
    escalatedAt: isoTime(wait.escalatedAt),
    distrusted: wait.distrusted ?? null,
  };
}
