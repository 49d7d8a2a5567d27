import { type BudgetExceededError, ConfigurationError, DeadlineExceededError } from "../../core/errors.ts";
import type { Budgets } from "../../core/job/run-spec.ts";
import type { Clock } from "../ports/model-port.ts";
import { systemClock } from "../ports/system-clock.ts";
import { budgetExceeded, type RunBudget } from "./run-budget.ts";

/**
 * The moment at which the time for some work is over. It is kept as a time of day, so that it is the same for every process
 * that goes on with the work.
 *
 * @example
 * await loop.execute(request, { deadline: Deadline.in(2 * 60 * 60_000) });
 */
export class Deadline {
  /** Milliseconds since 1970. */
  readonly at: number;

  constructor(at: Date | number) {
    this.at = at instanceof Date ? at.getTime() : at;
    if (!Number.isSafeInteger(this.at))
      throw new ConfigurationError(
        `${String(at)} cannot be a deadline: give a Date, or whole milliseconds since 1970.`,
      );
  }

  static in(ms: number, clock: Clock = systemClock): Deadline {
    return new Deadline(Math.round(clock.now() + ms));
  }

  /** Milliseconds left; zero or less once it is over. */
  remaining(clock: Clock = systemClock): number {
    return this.at - clock.now();
  }
}

/** The time of a run. What is under way when it is over goes on to its end; nothing else begins. */
type TimedRun = {
  readonly runId: string;
  readonly deadline: number | null;
  readonly clock: Clock;
  /** Where its RunSpec set the time, that is what it has used up. */
  readonly budget?: { readonly limits: Pick<Budgets, "maxWallclockMinutes"> };
};

/** The error to throw once a run's time is over; null while it is not. */
export function whyTooLate({
  runId,
  deadline,
  clock,
  budget,
}: TimedRun): DeadlineExceededError | BudgetExceededError | null {
  if (deadline === null || clock.now() < deadline) return null;
  const minutes = budget?.limits.maxWallclockMinutes ?? null;
  if (minutes !== null) {
    const over = (clock.now() - deadline) / 60_000;
    return budgetExceeded(
      runId,
      "maxWallclockMinutes",
      minutes,
      Math.round((minutes + over) * 1_000) / 1_000,
    );
  }
  const at = new Date(deadline).toISOString();
  return new DeadlineExceededError(
    `The deadline of run ${runId} was ${at}: nothing more is begun. What is committed is kept; resume it with a later deadline to go on.`,
    { deadline: at },
  );
}

export function assertInTime(run: TimedRun): void {
  const late = whyTooLate(run);
  if (late !== null) throw late;
}

/** Before a step, a model call or a code step's call: none begins where the run is to stop. */
export function assertMayBegin(
  run: TimedRun & { readonly budget: RunBudget; readonly releasing: AbortSignal },
): void {
  run.releasing.throwIfAborted();
  if (run.budget.reached !== null) throw run.budget.reached;
  assertInTime(run);
}
