import { hasEnded } from "../../account/run-status.ts";
import type { Budgets } from "../../core/job/budgets.ts";
import type { RunRecord } from "../../store/store.ts";

type UsedBudget = {
  readonly name: keyof Budgets;
  readonly limit: number;
  readonly used: number;
  readonly reserved: number;
};

const MICRO = 1_000_000;
const MINUTE_MS = 60_000;

/** The budgets of a run that have a limit, and what is used and reserved of each. */
export function budgetUses(
  run: RunRecord,
  work: { readonly steps: number; readonly toolCalls: number },
  now: number,
): readonly UsedBudget[] {
  const { budgets, limit, charged, reserved } = run;
  const money = limit.microDollars === null ? null : limit.microDollars / MICRO;
  return [
    use("maxTokens", limit.tokens, charged.tokens, reserved.tokens),
    use("maxCostUsd", money, charged.microDollars / MICRO, reserved.microDollars / MICRO),
    use("maxSteps", budgets?.maxSteps ?? null, work.steps),
    use("maxToolCalls", budgets?.maxToolCalls ?? null, work.toolCalls),
    minutesUsed(run, now),
  ].flat();
}

function use(name: keyof Budgets, limit: number | null, used: number, reserved = 0): readonly UsedBudget[] {
  return limit === null ? [] : [{ name, limit, used, reserved }];
}

/** The deadline has the time that does not count in it already: so what is left until then is what is not used. */
function minutesUsed({ budgets, deadline, ...run }: RunRecord, now: number): readonly UsedBudget[] {
  const limit = budgets?.maxWallclockMinutes ?? null;
  if (limit === null || deadline === null) return [];
  const left = (deadline - (hasEnded(run) ? run.updatedAt : now)) / MINUTE_MS;
  return use("maxWallclockMinutes", limit, Math.max(0, limit - left));
}
