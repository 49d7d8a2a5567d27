import type { ResumeError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { StepPath } from "../../core/step-path.ts";
import type { NewRunWait, WaitAnswer } from "../../core/wait.ts";
import { personNeeded } from "../call/call-questions.ts";
import { actionFor } from "../definition/waiting/divergence-policy.ts";
import type { RunWith } from "../run/active-run.ts";

/** What a step does that is no longer what it was when it began. */
export type DivergedStep =
  /** It continues with the new agent; the text says why, for the record. */
  | { readonly kind: "accept"; readonly why: string }
  /** It goes back to the last milestone. */
  | { readonly kind: "milestone" };

/** A step that has changed: the error that describes it, and what identifies its present form. */
export type ChangedStep = {
  readonly path: StepPath;
  readonly error: ResumeError;
  /** The fingerprint that it would have from now on. */
  readonly fingerprint: string;
};

/** Why a person accepts these changes, in the resume under way; null if nobody does. */
export function consentTo(
  { acceptDivergence, changesHash }: RunWith<"resume">["resume"],
  { details }: ResumeError,
): string | null {
  return changesHash === null || changesHash === details.changesHash ? acceptDivergence : null;
}

/** Decides by the policy of the runner, or by a person's answer to the same question. Throws if the run stops here. */
export async function decideDiverged(
  run: RunWith<"runId" | "store" | "resume" | "policy">,
  { path, error, fingerprint }: ChangedStep,
): Promise<DivergedStep> {
  const { changes } = error.details;
  const action = await actionFor(run.resume.onDivergence, { runId: run.runId, step: path, changes });
  switch (action) {
    case "fail":
      throw error;
    case "accept":
      return { kind: "accept", why: "The runner accepts changed agents (onDivergence)." };
    case "milestone":
      return { kind: "milestone" };
    case "wait": {
      const answered = await answerAbout(run, path, fingerprint);
      if (answered === null) throw personNeeded(run, [question(path, error, fingerprint)]);
      return answered;
    }
  }
}

/** What a person has decided about this very change; null if nobody has. */
async function answerAbout(
  { store, runId }: RunWith<"runId" | "store">,
  path: StepPath,
  fingerprint: string,
): Promise<DivergedStep | null> {
  const waits = await store.listWaits(runId);
  const about = waits.findLast(
    ({ subject, status }) => status === "answered" && isAbout(subject, path, fingerprint),
  );
  if (about === undefined) return null;
  const value = valueOf(about.answer);
  if (value === "milestone") return { kind: "milestone" };
  if (value === "accept")
    return { kind: "accept", why: `${about.answeredBy ?? "A person"} accepted the change.` };
  return null;
}

function isAbout({ divergence }: JsonObject, path: StepPath, fingerprint: string): boolean {
  if (!isJsonObject(divergence)) return false;
  return divergence.step === path && divergence.fingerprint === fingerprint;
}

function valueOf(answer: WaitAnswer | null): unknown {
  return answer !== null && "as" in answer && answer.as === "answered" ? answer.value : null;
}

function question(path: StepPath, { message, details }: ResumeError, fingerprint: string): NewRunWait {
  return {
    kind: "escalation",
    question: `${message} Answer "accept" to continue with the change, "milestone" to continue from the last milestone, or anything else once the change is undone.`,
    subject: {
      divergence: { step: path, fingerprint, changes: details.changes.map((change) => ({ ...change })) },
    },
  };
}
