import type { Budgets } from "../../core/job/budgets.ts";
import { assertRunSpec, type RunSpec } from "../../core/job/run-spec.ts";
import type { BudgetName } from "../../core/usage/budget.ts";
import type { NewBudgetWait } from "../../core/wait.ts";
import type { Store } from "../../store/store.ts";
import { SampleRun } from "./sample-run.ts";

/** A contract with these budgets, and defaults for the rest. */
export function newSpec(budgets: Partial<Budgets> = {}): RunSpec {
  return assertRunSpec({ objective: "Write a report.", budgets });
}

/** A run that was started with these budgets. */
export function runWithBudgets(store: Store, budgets: Partial<Budgets>, runId?: string): Promise<SampleRun> {
  return SampleRun.create(store, runId, { spec: newSpec(budgets) });
}

/** Asks whether the run may use more than its budget. */
export function budgetWait(budget: BudgetName, limit: number, used: number = limit): NewBudgetWait {
  return { kind: "budget", question: "How much may it use?", subject: { budget, limit, used } };
}

export async function budgetsOf(run: SampleRun): Promise<Budgets | null> {
  return (await run.record()).budgets;
}
