import { BudgetExceededError } from "../../core/errors.ts";
import type { Budgets } from "../../core/job/budgets.ts";
import { type BudgetName, NO_BUDGETS } from "../../core/usage/budget.ts";

/** The work of a run so far, over all attempts. */
export type WorkDone = { readonly steps: number; readonly toolCalls: number };

/**
 * Counts a run's work against its budgets, while one worker holds the run. No other process adds to the work, so it counts
 * in memory from the figures in the store at the claim. Tokens and money are reserved in the store instead, call by call.
 */
export class RunBudget {
  readonly limits: Budgets;
  readonly #runId: string;
  #steps: number;
  #toolCalls: number;
  #reached: BudgetExceededError | null = null;

  constructor(runId: string, limits: Budgets | null, { steps, toolCalls }: WorkDone) {
    this.#runId = runId;
    this.limits = limits ?? NO_BUDGETS;
    this.#steps = steps;
    this.#toolCalls = toolCalls;
  }

  /** Called before a step instance is entered for the first time. */
  takeStep(): void {
    const { maxSteps } = this.limits;
    if (maxSteps !== null && this.#steps + 1 > maxSteps)
      throw this.exceeded("maxSteps", maxSteps, this.#steps + 1);
    this.#steps += 1;
  }

  /** Called before a call that is not in the ledger yet. */
  takeToolCall(): void {
    const { maxToolCalls } = this.limits;
    if (maxToolCalls !== null && this.#toolCalls + 1 > maxToolCalls)
      throw this.exceeded("maxToolCalls", maxToolCalls, this.#toolCalls + 1);
    this.#toolCalls += 1;
  }

  /** Calls of a response enter the ledger even if they may not run: it is paid for and never requested again. */
  addToolCalls(count: number): void {
    this.#toolCalls += count;
  }

  /** Called when a response is dropped before any of its calls ran, and they leave the ledger. */
  giveBackToolCalls(count: number): void {
    this.#toolCalls -= count;
  }

  allowsToolCalls(more: number): boolean {
    const { maxToolCalls } = this.limits;
    return maxToolCalls === null || this.#toolCalls + more <= maxToolCalls;
  }

  /** Called before the first call of a turn runs: all of its calls run, or none. */
  assertToolCalls(): void {
    const { maxToolCalls } = this.limits;
    if (maxToolCalls !== null && this.#toolCalls > maxToolCalls)
      throw this.exceeded("maxToolCalls", maxToolCalls, this.#toolCalls);
  }

  /** Marks a budget as exceeded: work in progress finishes, and no new work begins. */
  reach(budget: BudgetName, limit: number, used: number): void {
    this.#reached ??= this.exceeded(budget, limit, used);
  }

  /** The error to throw instead of beginning new work; null while no budget is exceeded. */
  get reached(): BudgetExceededError | null {
    return this.#reached;
  }

  exceeded(budget: BudgetName, limit: number, used: number): BudgetExceededError {
    return budgetExceeded(this.#runId, budget, limit, used);
  }
}

const WHAT = {
  maxWallclockMinutes: "minutes of wall-clock time",
  maxSteps: "steps",
  maxToolCalls: "tool calls",
  maxRetriesPerToolCall: "retries of one tool call",
  maxSameErrorRepeats: "identical failures in a row",
  maxTokens: "tokens",
  maxCostUsd: "dollars",
} as const satisfies Record<BudgetName, string>;

export function budgetExceeded(
  runId: string,
  budget: BudgetName,
  limit: number,
  used: number,
): BudgetExceededError {
  return new BudgetExceededError(
    `Run ${runId} may use ${limit} ${WHAT[budget]} (${budget}) and is at ${used}: no new work is started. Finished work is kept; resume it with a higher ${budget} to continue.`,
    { budget, limit, used },
  );
}
