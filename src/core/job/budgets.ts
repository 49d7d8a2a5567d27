/** The limits of a run, over all its resumes together; null is no limit. */
export type Budgets = {
  /** The duration of the run since its start; no limit by default. */
  readonly maxWallclockMinutes: number | null;
  /** The number of steps that the run starts; no limit by default. */
  readonly maxSteps: number | null;
  /** The number of tool calls; no limit by default. */
  readonly maxToolCalls: number | null;
  /** Retries of one tool call. By default the runner's limit. */
  readonly maxRetriesPerToolCall: number | null;
  /** Equal failures of a tool in a row. By default the runner's limit. */
  readonly maxSameErrorRepeats: number | null;
  /** Tokens of model calls; no limit by default. */
  readonly maxTokens: number | null;
  /** The cost of model calls in US dollars; no limit by default. Needs a `pricing`. */
  readonly maxCostUsd: number | null;
  /** Time spent waiting for a person counts as wall-clock time; false by default. */
  readonly countWaitingTime: boolean;
};

/** The name of a budget, as in a RunSpec and in errors. */
export type BudgetName = Exclude<keyof Budgets, "countWaitingTime">;

/** The numbers that a budget can be. `must` is the end of a sentence about it. */
export type BudgetRange = {
  readonly least: number;
  readonly most: number;
  readonly isWhole: boolean;
  readonly must: string;
};

/** The same for job files and for people who raise a limit. */
export const BUDGET_RANGES: { readonly [name in BudgetName]: BudgetRange } = {
  // At least 0.06 seconds, so that the deadline does not pass before the run starts.
  maxWallclockMinutes: {
    least: 0.001,
    most: 5_256_000,
    isWhole: false,
    must: "a number of minutes from 0.001 to 5256000 (ten years)",
  },
  maxSteps: wholeNumber(1, 1_000_000),
  maxToolCalls: wholeNumber(0, 10_000_000),
  maxRetriesPerToolCall: wholeNumber(0, 1_000),
  maxSameErrorRepeats: wholeNumber(1, 1_000),
  maxTokens: wholeNumber(1, 1_000_000_000_000),
  // At least one micro-dollar, the smallest unit.
  maxCostUsd: {
    least: 0.000_001,
    most: 1_000_000,
    isWhole: false,
    must: "a number of US dollars from 0.000001 to 1000000",
  },
};

function wholeNumber(least: number, most: number): BudgetRange {
  return { least, most, isWhole: true, must: `a whole number from ${least} to ${most}` };
}

export function isInRange(value: number, { least, most, isWhole }: BudgetRange): boolean {
  return value >= least && value <= most && (!isWhole || Number.isInteger(value));
}
