import { type BudgetExceededError, ConfigurationError, DeadlineExceededError } from "../../core/errors.ts";
import type { Budgets } from "../../core/job/budgets.ts";
import type { Clock } from "../ports/clock.ts";
import { systemClock } from "../ports/system-clock.ts";
import type { RunTime, RunWith } from "./active-run.ts";
import { budgetExceeded } from "./run-budget.ts";

/**
 * The moment after which no new work of a run begins. It is a wall-clock time, so it is the same for every process that
 * resumes the run.
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

  /** A deadline this many milliseconds from now. */
  static in(ms: number, clock: Clock = systemClock): Deadline {
    return new Deadline(Math.round(clock.now() + ms));
  }

  /** Milliseconds left; zero or less once it has passed. */
  remaining(clock: Clock = systemClock): number {
    return this.at - clock.now();
  }
}

/** The error to throw after a run's deadline; null before it. A call in progress finishes, and nothing else begins. */
export function deadlineError(
  runId: string,
  { clock, deadline }: Pick<RunTime, "clock" | "deadline">,
  /** If a RunSpec set the time limit, the error is about this budget. */
  limits: Pick<Budgets, "maxWallclockMinutes"> | null = null,
): DeadlineExceededError | BudgetExceededError | null {
  if (deadline === null || clock.now() < deadline) return null;
  const minutes = limits?.maxWallclockMinutes ?? null;
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
    `The deadline of run ${runId} was ${at}: no new work is started. Committed work is kept; resume it with a later deadline to continue.`,
    { deadline: at },
  );
}

export function runDeadlineError({
  runId,
  time,
  contract,
}: RunWith<"runId" | "time" | "contract">): ReturnType<typeof deadlineError> {
  return deadlineError(runId, time, contract.budget.limits);
}

export function assertInTime(run: RunWith<"runId" | "time" | "contract">): void {
  const late = runDeadlineError(run);
  if (late !== null) throw late;
}

/** Called before a step, a model call or a call of a code step: none of them begins in a run that must stop. */
export function assertMayBegin(run: RunWith<"runId" | "time" | "contract" | "stop">): void {
  run.stop.releasing.throwIfAborted();
  const { reached } = run.contract.budget;
  if (reached !== null) throw reached;
  assertInTime(run);
}
