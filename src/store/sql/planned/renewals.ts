import { StoreUnavailableError } from "../../../core/errors.ts";
import type { Row } from "../row.ts";
import type { CommitPlan } from "./plan.ts";

/** True if a plan extends a lease, and does nothing else. */
export function isRenewal({ writes }: CommitPlan): boolean {
  return writes.length > 0 && writes.every(({ kind }) => kind === "renew");
}

/** The plans whose runs another session has locked, by the answers to the renewals: these leases were not extended. */
export function lockedPlans(plans: readonly CommitPlan[], answers: readonly Row[]): readonly CommitPlan[] {
  const locked = new Set(answers.flatMap((row) => row.optionalText("locked")?.split(" ") ?? []));
  return plans.filter(({ writes }) =>
    writes.some((write) => write.kind === "renew" && locked.has(String(write.key))),
  );
}

export function lockedRun({ pending: { runId } }: CommitPlan): StoreUnavailableError {
  return new StoreUnavailableError(
    `Run ${runId} is locked by another session, so its lease was not renewed: end that transaction, or wait for it.`,
    { reason: "busy" },
  );
}
