import { ConfigurationError } from "../errors.ts";
import { assertOptions, kindOf, type OptionNames } from "../naming/option-names.ts";
import type { Decision } from "../person.ts";
import { reviveError, type StoredError } from "../stored-error.ts";
import { type BudgetName, NO_BUDGETS, withBudget } from "../usage/budget.ts";
import { type Budget, limitOf } from "../usage/given-budget.ts";
import { type Limit, Quota } from "../usage/quota.ts";

/** Where the current step of a run is resumed: after its last turn, from its last milestone, or from its beginning. */
export type ResumeFrom = "turn" | "milestone" | "beginning";

/** The budgets of a run that a resume gives another limit. */
type RaisedBudgets = { readonly [B in BudgetName]?: number };

/** How a person wants a run to be resumed, by whichever worker claims it next. */
export type ResumeRequest = {
  /** By default `turn`. */
  readonly from?: ResumeFrom;
  /** Drops the response of the open turn and asks the model again; by default false. */
  readonly redoTurn?: boolean;
  /** Why a changed prompt, model or tool is accepted; by default it is not. */
  readonly acceptDivergence?: string | null;
  /**
   * The only changes that `acceptDivergence` accepts: the `changesHash` of a forecast. By default that of the changes that
   * the run failed with; if it has failed for another reason, or not at all, the first ones that a worker finds.
   */
  readonly changesHash?: string | null;
  /** New limits for these budgets; by default none. */
  readonly budgets?: RaisedBudgets;
  /** Replaces the most that the run may use; by default it stays. */
  readonly budget?: Budget;
  /** Replaces the deadline, in milliseconds since 1970; null for none. By default it stays. */
  readonly deadline?: number | null;
  /** Why the run is resumed, recorded with the attempt. By default why it had stopped. */
  readonly reason?: string | null;
  /** The number of the run's last event that the person has seen. The request is refused if there are later ones. */
  readonly ifSeq?: number | null;
};

/** The limits of a run that a resume changes. */
export type ResumeAllowance = {
  readonly budgets?: RaisedBudgets;
  readonly limit?: Limit;
  readonly deadline?: number | null;
};

/** What a worker still has to do of a resume, after its claim. */
export type ResumeWork = {
  readonly from: ResumeFrom;
  readonly redoTurn: boolean;
  readonly acceptDivergence: string | null;
  /** The only changes that are accepted; null for the first ones that a worker finds. */
  readonly changesHash: string | null;
};

/** A resume that a person has asked for, as it is stored with the run until it is done. */
export type RequestedResume = ResumeWork & {
  /** The changes of its limits, which the first claim makes. */
  readonly allowance: ResumeAllowance;
  readonly reason: string;
  readonly by: Decision;
  /** The event of the last claim that took it; null while no worker has. */
  readonly takenSeq: number | null;
};

export const HASH_WITHOUT_CONSENT =
  "changesHash says which changes are accepted: give acceptDivergence too, and say why.";

const NAMES = {
  from: true,
  redoTurn: true,
  acceptDivergence: true,
  changesHash: true,
  budgets: true,
  budget: true,
  deadline: true,
  reason: true,
  ifSeq: true,
} satisfies OptionNames<ResumeRequest>;

const PLACES: readonly unknown[] = ["turn", "milestone", "beginning"] satisfies ResumeFrom[];

/** The checked request, with its defaults: it may come from a caller without types. */
export function readResumeRequest(given: ResumeRequest): {
  readonly work: ResumeWork;
  readonly allowance: ResumeAllowance;
  readonly reason: string | null;
  readonly ifSeq: number | null;
} {
  assertOptions("A resume request", given, NAMES);
  const { from = "turn", redoTurn = false, acceptDivergence = null, reason = null, ifSeq = null } = given;
  const { changesHash = null } = given;
  if (!PLACES.includes(from))
    throw new ConfigurationError(
      `A run cannot be resumed from ${JSON.stringify(from)}: use "turn", "milestone" or "beginning".`,
    );
  const flag: unknown = redoTurn;
  if (typeof flag !== "boolean")
    throw new ConfigurationError(`redoTurn is ${kindOf(flag)}: give true or false.`);
  for (const [name, text] of Object.entries({ acceptDivergence, changesHash, reason } as {
    [name: string]: unknown;
  }))
    if (text !== null && (typeof text !== "string" || text.trim() === ""))
      throw new ConfigurationError(`${name} is ${JSON.stringify(text)}: give a sentence, or leave it out.`);
  if (changesHash !== null && acceptDivergence === null) throw new ConfigurationError(HASH_WITHOUT_CONSENT);
  assertWholeNumber("ifSeq", ifSeq);
  return {
    work: { from, redoTurn, acceptDivergence, changesHash },
    allowance: readAllowance(given),
    reason,
    ifSeq,
  };
}

/** Checked when it is asked for: a claim that refused it would leave the run in the queue for ever. */
function readAllowance({ budgets = {}, budget, deadline }: ResumeRequest): ResumeAllowance {
  for (const [name, value] of Object.entries(budgets)) withBudget(NO_BUDGETS, name, value);
  const limit = budget === undefined ? undefined : limitOf(budget);
  if (limit !== undefined) void new Quota(limit);
  if (deadline !== undefined) assertWholeNumber("deadline", deadline);
  return {
    ...(Object.keys(budgets).length === 0 ? {} : { budgets }),
    ...(limit === undefined ? {} : { limit }),
    ...(deadline === undefined ? {} : { deadline }),
  };
}

function assertWholeNumber(name: string, value: number | null): void {
  if (value === null || (Number.isSafeInteger(value) && value >= 0)) return;
  throw new ConfigurationError(`${name} is ${JSON.stringify(value)}: give a whole number, or leave it out.`);
}

/** Budgets whose use is no longer visible in the store once the failures that used them up are settled. */
const FAILURE_BUDGETS: readonly string[] = ["maxRetriesPerToolCall", "maxSameErrorRepeats"];

/** Throws the run's error again if it exceeded a failure budget that was not raised since. */
export function assertBudgetRaised(
  error: StoredError | null,
  raised: { readonly [budget: string]: unknown } = {},
): void {
  if (error?.code !== "budget_exceeded") return;
  const { budget, limit } = error.details;
  if (typeof budget !== "string" || !FAILURE_BUDGETS.includes(budget)) return;
  if (Number(raised[budget] ?? 0) > Number(limit)) return;
  throw reviveError(error);
}
