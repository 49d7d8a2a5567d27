import type { z } from "zod";
import { PawlError } from "../../../core/errors.ts";
import { decideCancel } from "../../../core/run/cancel-decision.ts";
import { decideResume } from "../../../core/run/resume-decision.ts";
import { everyRecord } from "../../../export/record-pages.ts";
import type { RunRecord, ToolCallRecord } from "../../../store/store.ts";
import type { bulkRequest } from "../../api/schemas/story.ts";
import { HttpProblem } from "../../http-problem.ts";
import type { Principal } from "../../principal.ts";
import { requireRun } from "../../scope/run-scope.ts";
import type { ServerParts } from "../server-parts.ts";
import { cancelRun } from "./cancel.ts";
import { requestResume } from "./resume.ts";

type BulkRequest = z.output<typeof bulkRequest>;
type BulkResult = {
  readonly runId: string;
  readonly outcome: string | null;
  readonly callsRunning?: number;
  readonly problem: { readonly code: string; readonly detail: string } | null;
};

/** Acts on many runs, each by itself: what is wrong with one is in its own result. */
export async function actOnMany(
  parts: ServerParts,
  principal: Principal,
  { action, runIds, isDryRun = false }: BulkRequest,
): Promise<readonly BulkResult[]> {
  const act = isDryRun ? foreseen : performed;
  const results: BulkResult[] = [];
  for (const runId of new Set(runIds)) {
    try {
      const run = await requireRun(parts.store, principal, runId);
      results.push({ runId, ...(await act(parts, principal, action, run)), problem: null });
    } catch (error) {
      results.push({ runId, outcome: null, problem: problemOf(error) });
    }
  }
  return results;
}

/** An error that nothing of Pawl has thrown is the server's, and ends the request. */
function problemOf(error: unknown): { readonly code: string; readonly detail: string } {
  if (error instanceof HttpProblem || PawlError.isInstance(error))
    return { code: error.code, detail: error.message };
  throw error;
}

type Foreseen = { readonly outcome: string; readonly callsRunning?: number };

async function performed(
  parts: ServerParts,
  principal: Principal,
  action: BulkRequest["action"],
  { runId }: RunRecord,
): Promise<Foreseen> {
  if (action === "cancel") return { outcome: await cancelRun(parts, principal, runId) };
  await requestResume(parts, principal, runId, {});
  return { outcome: "requested" };
}

/** What would become of the run now. */
async function foreseen(
  { store }: ServerParts,
  _principal: Principal,
  action: BulkRequest["action"],
  { runId, status }: RunRecord,
): Promise<Foreseen> {
  const isHeld = await store.isHeld(runId);
  if (action === "resume") return { outcome: decideResume({ status, isHeld, seq: 0 }, null).kind };
  const { kind } = decideCancel(status, isHeld);
  const outcome = kind === "ended" ? "cancelled" : kind;
  return status === "running" ? { outcome, callsRunning: await countRunning(store, runId) } : { outcome };
}

/** The calls that are being made: of a run that no worker holds, those that would be in doubt. */
async function countRunning(store: ServerParts["store"], runId: string): Promise<number> {
  let running = 0;
  for await (const { status } of everyRecord<ToolCallRecord>((range) => store.listToolCalls(runId, range)))
    if (status === "running") running += 1;
  return running;
}
