import type { Reconciliation } from "../definition/tool.ts";
import { errorText, type ToolOutcome } from "../definition/tool-outcome.ts";
import { reach } from "../run/active-run.ts";
import { BoundedAttempt } from "./call-attempt.ts";
import type { Correlation } from "./call-correlation.ts";
import { freshInput, type PreparedCall } from "./call-prepared.ts";
import { callContext, isRunControlError, outcomeOf, type ToolRun, tookTooLong } from "./tool-gateway.ts";

/** Asks the tool's `reconcile` about a call in doubt. Anything but a clear answer counts as `unknown`. */
export async function lookUp(
  run: ToolRun,
  call: PreparedCall,
  attempt: number,
  correlation: Correlation,
): Promise<
  | { readonly status: "done"; readonly outcome: ToolOutcome }
  | { readonly status: "absent" | "unknown"; readonly problem: string | null }
> {
  const { tool, input, stepPath, turnIndex } = call;
  reach(run, "tool:before-reconcile", stepPath, turnIndex);
  run.stop.lease.assertHeld();
  const bounded = new BoundedAttempt(run, tool.timeoutMs);
  const session = run.keeper.draft(call.sessionBase);
  const about = { attempt, signal: bounded.signal, correlation, session, traceHeaders: {} };
  const context = callContext(run, call, about);
  const end = await bounded.run(() => run.effects.reconcile(tool, freshInput(input), context));
  run.stop.signal.throwIfAborted();
  reach(run, "tool:reconciled", stepPath, turnIndex);
  if (end.kind === "given_up") return { status: "unknown", problem: tookTooLong(tool) };
  if (end.kind === "threw") {
    if (isRunControlError(run, end.error)) throw end.error;
    return {
      status: "unknown",
      problem: run.policy.secrets.withTexts(call.ownSecrets).hideText(errorText(end.error)),
    };
  }
  if (!isReconciliation(end.value))
    return {
      status: "unknown",
      problem: `reconcile of ${tool.name} did not return done, absent or unknown.`,
    };
  if (end.value.status !== "done") return { status: end.value.status, problem: null };
  const outcome = await outcomeOf(run, call, end.value.result, correlation, session);
  return { status: "done", outcome: { ...outcome, source: "reconciled" } };
}

function isReconciliation(value: unknown): value is Reconciliation<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    "status" in value &&
    (value.status === "done" || value.status === "absent" || value.status === "unknown")
  );
}
