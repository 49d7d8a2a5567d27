import { limitOfBudgets, NO_BUDGETS, wallclockOf, withBudget } from "../core/budget.ts";
import { stricter } from "../core/quota.ts";
import type { RunRecord } from "../store/store.ts";
import type { WorkDone } from "./run-budget.ts";
import type { RunHandle } from "./run-handle.ts";
import { limitOf, type ResumeOptions } from "./runner-options.ts";

/** A run as whoever goes on with it like this would have it, and what it has done so far. */
export type AsClaimed = { readonly record: RunRecord; readonly work: WorkDone };

/** What taking the run changes of what it may use. */
export async function asClaimed(
  { store, clock, runId }: Pick<RunHandle, "store" | "clock" | "runId">,
  record: RunRecord,
  { budgets = {}, budget, deadline }: ResumeOptions,
): Promise<AsClaimed> {
  const now = clock.now();
  let claimed = { ...record, deadline: await deadlineAfterWaiting(store, record, now) };
  for (const [name, value] of Object.entries(budgets)) claimed = withRaised(claimed, now, name, value);
  return {
    record: {
      ...claimed,
      ...(budget === undefined
        ? {}
        : { limit: stricter(limitOf(budget), limitOfBudgets(claimed.budgets ?? NO_BUDGETS)) }),
      ...(deadline === undefined ? {} : { deadline: deadline.at }),
    },
    work: await store.countWork(runId),
  };
}

/** The time that a run waited for a person is given back to it, unless its budgets say that it counts. */
async function deadlineAfterWaiting(
  store: RunHandle["store"],
  { runId, deadline, status, budgets }: RunRecord,
  now: number,
): Promise<number | null> {
  if (deadline === null || status !== "waiting" || budgets?.countWaitingTime === true) return deadline;
  const since = (await store.listAttempts(runId)).at(-1)?.endedAt ?? null;
  return since === null ? deadline : deadline + Math.max(0, now - since);
}

function withRaised(record: RunRecord, now: number, name: string, value: number): RunRecord {
  const before = record.budgets ?? NO_BUDGETS;
  const budgets = withBudget(before, name, value);
  const { tokens, microDollars } = limitOfBudgets(budgets);
  switch (name) {
    case "maxTokens":
      return { ...record, budgets, limit: { ...record.limit, tokens } };
    case "maxCostUsd":
      return { ...record, budgets, limit: { ...record.limit, microDollars } };
    case "maxWallclockMinutes": {
      const [was, is] = [wallclockOf(before), wallclockOf(budgets)];
      if (is === null) return { ...record, budgets };
      const deadline = record.deadline === null || was === null ? now + is : record.deadline + is - was;
      return { ...record, budgets, deadline };
    }
    default:
      return { ...record, budgets };
  }
}
