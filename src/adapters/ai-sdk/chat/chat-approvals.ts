import { AlreadySettledError } from "../../../core/errors.ts";
import type { Person } from "../../../core/person.ts";
import { parseWaitId, waitId as waitIdOf } from "../../../core/wait.ts";
import type { Store, WaitRecord } from "../../../store/store.ts";
import { ChatProblem } from "./chat-problem.ts";
import type { ApprovalAnswer } from "./chat-request.ts";

/**
 * Answers what the user of a chat may answer: waits of this run about tools with `approver: "user"`. All of them are looked
 * at before the first is answered. The same answer again changes nothing.
 */
export async function answerApprovals(
  store: Store,
  runId: string,
  person: Person,
  answers: readonly ApprovalAnswer[],
): Promise<void> {
  const open = [];
  for (const answer of answers) if (await mustAnswer(store, runId, answer)) open.push(answer);
  for (const answer of open) await give(store, runId, person, answer);
}

/** True unless it has this very answer. Throws for what this user may not answer. */
async function mustAnswer(store: Store, runId: string, answer: ApprovalAnswer): Promise<boolean> {
  const wait = await findWait(store, runId, answer.waitId);
  if (wait === null)
    throw new ChatProblem(404, "There is no such request for approval in this chat: load the chat again.");
  if (wait.kind !== "approval" || wait.subject.approver !== "user")
    throw new ChatProblem(
      403,
      "This call is approved by an operator: the chat's user cannot answer for them.",
    );
  if (wait.status === "open") return true;
  const { answer: given } = wait;
  const isSame = given !== null && "approved" in given && given.approved === answer.approved;
  if (isSame) return false;
  throw new ChatProblem(409, "This request for approval was answered otherwise before: load the chat again.");
}

async function findWait(store: Store, runId: string, waitId: string): Promise<WaitRecord | null> {
  const place = parseWaitId(waitId);
  if (place === null || place.runId !== runId) return null;
  const after = place.index === 1 ? {} : { after: { waitId: waitIdOf(runId, place.index - 1) } };
  const [found] = await store.listWaits(runId, { ...after, limit: 1 });
  return found?.waitId === waitId ? found : null;
}

async function give(store: Store, runId: string, person: Person, answer: ApprovalAnswer): Promise<void> {
  const { waitId, approved, reason } = answer;
  try {
    if (approved) await store.approve(waitId, person);
    else await store.deny(waitId, reason ?? "The user denied it.", person);
  } catch (error) {
    // Another tab was faster.
    if (!AlreadySettledError.isInstance(error) || (await mustAnswer(store, runId, answer))) throw error;
  }
}
