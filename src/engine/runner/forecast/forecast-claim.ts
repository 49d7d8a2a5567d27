import { allowanceAfter, deadlineAfterWaiting } from "../../../core/usage/allowance.ts";
import { NO_BUDGETS } from "../../../core/usage/budget.ts";
import type { LeftBehind, RunRecord } from "../../../store/store.ts";
import type { RunWith } from "../../run/active-run.ts";
import type { WorkDone } from "../../run/run-budget.ts";
import { limitOf, type ResumeOptions } from "../runner-options.ts";

/** A run as it would be after a claim with these options, and the work that it has done. */
export type ClaimForecast = {
  readonly record: RunRecord;
  readonly work: WorkDone;
  /** Calls that were journaled and never sent. */
  readonly unsent: LeftBehind["unsent"];
};

/** Computes how a claim would change the run's budgets, limit and deadline. */
export async function forecastClaim(
  { store, runId, time: { clock } }: RunWith<"store" | "runId" | "time">,
  record: RunRecord,
  { budgets: raised = {}, budget, deadline }: ResumeOptions,
): Promise<ClaimForecast> {
  const now = clock.now();
  const budgets = record.budgets ?? NO_BUDGETS;
  const since =
    record.status === "waiting" ? ((await store.listAttempts(runId)).at(-1)?.endedAt ?? null) : null;
  const waited = { ...record, budgets, deadline: deadlineAfterWaiting({ ...record, budgets }, since, now) };
  const allowed = allowanceAfter(waited, now, {
    budgets: raised,
    limit: budget === undefined ? undefined : limitOf(budget),
    deadline: deadline?.at,
  });
  const { chargedAsLost, unsent } = await store.readLeftBehind(runId);
  // A reservation whose request was not sent is released.
  const claimed = { ...record, ...allowed, reserved: chargedAsLost };
  return { record: claimed, work: await store.countWork(runId), unsent };
}
