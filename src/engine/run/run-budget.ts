import { BudgetExceededError } from "../../core/errors.ts";
import type { Budgets } from "../../core/job/run-spec.ts";
import { type BudgetName, NO_BUDGETS } from "../../core/usage/budget.ts";

/** What a run has done so far, over all its resumes. */
export type WorkDone = { readonly steps: number; readonly toolCalls: number };

/**
 * What a run may still do, while one worker has it: nobody else adds to what it has done, so it counts on from what the
 * store said when it took the run. Tokens and money are not counted here but reserved in the store, call by call.
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

  /** Before a step instance that was never entered. */
  takeStep(): void {
    const { maxSteps } = this.limits;
    if (maxSteps !== null && this.#steps + 1 > maxSteps)
      throw this.exceeded("maxSteps", maxSteps, this.#steps + 1);
    this.#steps += 1;
  }

  /** Before a call that is not in the ledger yet. */
  takeToolCall(): void {
    const { maxToolCalls } = this.limits;
    if (maxToolCalls !== null && this.#toolCalls + 1 > maxToolCalls)
      throw this.exceeded("maxToolCalls", maxToolCalls, this.#toolCalls + 1);
    this.#toolCalls += 1;
  }

  /** The calls of a response are in the ledger whether or not they may run: it was paid for, and is not asked for again. */
  addToolCalls(count: number): void {
    this.#toolCalls += count;
  }

  /** A response was dropped before any of its calls ran: they are not in the ledger any more. */
  giveBackToolCalls(count: number): void {
    this.#toolCalls -= count;
  }

  allowsToolCalls(more: number): boolean {
    const { maxToolCalls } = this.limits;
    return maxToolCalls === null || this.#toolCalls + more <= maxToolCalls;
  }

  /** Before the first call of a turn runs: all of them, or none. */
  assertToolCalls(): void {
    const { maxToolCalls } = this.limits;
    if (maxToolCalls !== null && this.#toolCalls > maxToolCalls)
      throw this.exceeded("maxToolCalls", maxToolCalls, this.#toolCalls);
  }

  /** What is under way comes to its end; nothing else begins. */
  reach(budget: BudgetName, limit: number, used: number): void {
    this.#reached ??= this.exceeded(budget, limit, used);
  }

  /** The error to throw before anything begins, once a budget was reached; null while none was. */
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
  maxSameErrorRepeats: "failures in the same way, one after the other",
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
    `Run ${runId} may use ${limit} ${WHAT[budget]} (${budget}) and is at ${used}: nothing more is begun. What is done is kept; resume it with a higher ${budget} to go on.`,
    { budget, limit, used },
  );
}
