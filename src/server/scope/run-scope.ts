import { isInScope } from "../../core/access/scope.ts";
import { canonicalHash } from "../../core/canonical-json.ts";
import { missingRunError } from "../../core/run/missing-run.ts";
import { parseToolCallId } from "../../core/step-path.ts";
import { parseWaitId } from "../../core/wait.ts";
import type { RunRecord, Store } from "../../store/store.ts";
import { HttpProblem } from "../http-problem.ts";
import type { AccessScope, Principal } from "../principal.ts";

/** True if all runs are in the scope. */
export function isWhole({ pipelines, labels }: AccessScope): boolean {
  return pipelines === null && (labels === null || Object.keys(labels).length === 0);
}

export function hasPipeline({ pipelines }: AccessScope, pipeline: string): boolean {
  return pipelines === null || pipelines.includes(pipeline);
}

/** The same text for the same scope, however it is written down. */
export function scopeKey({ pipelines, labels }: AccessScope): string {
  const names = pipelines === null ? null : [...new Set(pipelines)].sort();
  return canonicalHash({ pipelines: names, labels: labels ?? {} }).toString("hex");
}

/** The run, if the principal may see it. Whether it exists outside of their scope, or did once, is not for them to know. */
export async function requireRun(
  store: Pick<Store, "getRun" | "getTombstone">,
  { scope }: Pick<Principal, "scope">,
  runId: string,
): Promise<RunRecord> {
  const run = await store.getRun(runId);
  if (run !== null && isInScope(scope, run)) return run;
  if (run === null && isWhole(scope)) throw missingRunError(runId, await store.getTombstone(runId));
  throw notFound("run", runId);
}

/** The run of a wait that the principal may see. */
export async function requireRunOfWait(
  store: Pick<Store, "getRun" | "getTombstone">,
  principal: Principal,
  waitId: string,
): Promise<RunRecord> {
  return requireRunOf(store, principal, parseWaitId(waitId)?.runId, notFound("wait", waitId));
}

/** The run of a tool call that the principal may see. */
export async function requireRunOfCall(
  store: Pick<Store, "getRun" | "getTombstone">,
  principal: Principal,
  callId: string,
): Promise<RunRecord> {
  return requireRunOf(store, principal, parseToolCallId(callId)?.runId, notFound("tool_call", callId));
}

async function requireRunOf(
  store: Pick<Store, "getRun" | "getTombstone">,
  { scope }: Principal,
  runId: string | undefined,
  problem: HttpProblem,
): Promise<RunRecord> {
  const run = runId === undefined ? null : await store.getRun(runId);
  if (run === null || !isInScope(scope, run)) throw problem;
  return run;
}

const WHAT = {
  run: "run",
  wait: "wait",
  tool_call: "tool call",
  schedule: "schedule",
  blob: "blob",
  artifact: "artifact",
};

/** The same for what does not exist and for what is outside of the scope. */
export function notFound(what: keyof typeof WHAT, id: string): HttpProblem {
  return new HttpProblem(
    404,
    `${what}_not_found`,
    `There is no ${WHAT[what]} ${id}, or it is outside of your scope: check its id.`,
  );
}
