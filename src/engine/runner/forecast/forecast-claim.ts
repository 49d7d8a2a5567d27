import { allowanceAfter, deadlineAfterWaiting } from "../../../core/usage/allowance.ts";
import { NO_BUDGETS } from "../../../core/usage/budget.ts";
import type { LeftBehind, RunRecord } from "../../../store/store.ts";
import type { RunWith } from "../../run/active-run.ts";
import type { WorkDone } from "../../run/run-budget.ts";
import { limitOf, type ResumeOptions } from "../runner-options.ts";

/** A run as whoever goes on with it like this would have it, and what it has done so far. */
export type AsClaimed = {
  readonly record: RunRecord;
  readonly work: WorkDone;
  /** Calls that were journaled and never sent. */
  readonly unsent: LeftBehind["unsent"];
};

/** What taking the run changes of what it may use. */
export async function asClaimed(
  { store, runId, time: { clock } }: RunWith<"store" | "runId" | "time">,
  record: RunRecord,
  { budgets: raised = {}, budget, deadline }: ResumeOptions,
): Promise<AsClaimed> {
  const now = clock.now();
  const budgets = record.budgets ?? NO_BUDGETS;
  const since =
    record.status === "waiting" ? ((await store.listAttempts(runId)).at(-1)?.endedAt ?? null) : null;
  const found = { ...record, budgets, deadline: deadlineAfterWaiting({ ...record, budgets }, since, now) };
  const allowed = allowanceAfter(found, now, {
    budgets: raised,
    limit: budget === undefined ? undefined : limitOf(budget),
    deadline: deadline?.at,
  });
  const { chargedAsLost, unsent } = await store.readLeftBehind(runId);
  // What was reserved and not sent is free again.
  const taken = { ...record, ...allowed, reserved: chargedAsLost };
  return { record: taken, work: await store.countWork(runId), unsent };
}
