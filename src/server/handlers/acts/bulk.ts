import type { z } from "zod";
import { decideCancel } from "../../../core/run/cancel-decision.ts";
import { decideResume } from "../../../core/run/resume-decision.ts";
import { everyRecord } from "../../../export/record-pages.ts";
import type { RunRecord, ToolCallRecord } from "../../../store/store.ts";
import type { OperationId } from "../../api/operations.ts";
import type { bulkRequest } from "../../api/schemas/story.ts";
import type { PartialAct } from "../../handler.ts";
import { internalProblem } from "../../http-problem.ts";
import type { Principal } from "../../principal.ts";
import { requireRun } from "../../scope/run-scope.ts";
import { partialProblem } from "../partial-problem.ts";
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

/** What became of each run, and the same for the audit log: as if each had been acted on by a request of its own. */
type ManyActs = { readonly results: readonly BulkResult[]; readonly acts: readonly PartialAct[] };

const ACT_NAMES: { readonly [Action in BulkRequest["action"]]: OperationId } = {
  cancel: "cancelRun",
  resume: "resumeRun",
};

/** Who asks, and where errors are written that no one expected. */
type BulkContext = {
  readonly principal: Principal;
  readonly requestId: string;
  readonly report: (error: unknown) => void;
};

/**
 * Acts on many runs, each by itself: what is wrong with one is in its own result. That holds for a fault of the server too: an
 * answer 500 to the whole would be wrong about the runs before it.
 */
export async function actOnMany(
  parts: ServerParts,
  { principal, requestId, report }: BulkContext,
  { action, runIds, isDryRun = false }: BulkRequest,
): Promise<ManyActs> {
  const act = isDryRun ? foreseen : performed;
  const name = isDryRun ? "bulk.dryRun" : ACT_NAMES[action];
  const results: BulkResult[] = [];
  const acts: PartialAct[] = [];
  for (const runId of new Set(runIds)) {
    try {
      const run = await requireRun(parts.store, principal, runId);
      const done = await act(parts, principal, action, run);
      results.push({ runId, ...done, problem: null });
      const isLater = !isDryRun && done.outcome === "requested";
      acts.push({ act: name, target: runId, status: isLater ? 202 : 200, problem: null });
    } catch (error) {
      const { status, ...problem } = partialProblem(error) ?? internalProblem(requestId);
      if (status === 500) report(error);
      results.push({ runId, outcome: null, problem });
      acts.push({ act: name, target: runId, status, problem: problem.code });
    }
  }
  return { results, acts };
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
