import { AlreadySettledError } from "../../core/errors.ts";
import { approvalNeedOf } from "../../core/person.ts";
import { asksPeople, asksPermission, type Settlement } from "../../core/wait.ts";
import type { Store, WaitRecord } from "../../store/store.ts";
import type { PersonStandIn } from "./scenario.ts";
import type { Effect, Witness } from "./witness.ts";

const ANSWERED_BY = { by: "somebody" };

/** Answers every open wait; a call in doubt by what happened outside. Another process may have answered first. */
export async function answerWaits(
  store: Store,
  witness: Witness,
  person: PersonStandIn,
  waits: readonly WaitRecord[],
): Promise<void> {
  for (const wait of waits) {
    try {
      if (wait.status === "open" && asksPeople(wait.kind)) await answer(store, witness, person, wait);
    } catch (error) {
      if (!AlreadySettledError.isInstance(error)) throw error;
    }
  }
}

async function answer(
  store: Store,
  witness: Witness,
  { approval = () => "approve", inDoubt = settleByEffect, question = () => "Yes." }: PersonStandIn,
  wait: WaitRecord,
): Promise<void> {
  const { kind, waitId, toolCallId } = wait;
  if (asksPermission(kind)) {
    const verdict = approval(wait);
    if (verdict === "approve") await approve(store, wait);
    else await store.deny(waitId, verdict.deny, ANSWERED_BY);
  } else if (kind === "question") {
    await store.answer(waitId, question(wait), ANSWERED_BY);
  } else if (toolCallId !== null) {
    const call = await store.getToolCall(toolCallId);
    const seen = call === null ? null : (witness.effectsOf(call.idempotencyKey).at(-1) ?? null);
    await store.settle(toolCallId, inDoubt(wait, seen), ANSWERED_BY);
  }
}

/** Approves as often as needed, one person after the other; after a crash, the approvals that are missing. */
async function approve(store: Store, { waitId, subject, people }: WaitRecord): Promise<void> {
  const need = approvalNeedOf(subject);
  if (need.people === 1 && !need.notStarter) return store.approve(waitId, ANSWERED_BY);
  for (let i = people.length; i < need.people; i++) {
    try {
      await store.approve(waitId, { by: `approver ${i + 1}` });
    } catch (error) {
      // Another process was faster.
      if (!AlreadySettledError.isInstance(error)) throw error;
    }
  }
}

function settleByEffect(_: WaitRecord, seen: Effect | null): Settlement {
  return seen === null ? { as: "retry" } : { as: "succeeded", result: seen.result };
}
