import { CheckpointStoreError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { StepPath } from "../../core/step-path.ts";
import type { NewReceipt, TurnRecord } from "../../store/store.ts";
import { makeReceipt, storeReceipt } from "../call/call-receipt.ts";
import { cancelled } from "../definition/tool-outcome.ts";
import { type RunWith, reach } from "../run/active-run.ts";
import type { MilestoneFrom } from "../run/milestone-request.ts";
import { planTurnCalls } from "./turn-call-plan.ts";
import { runTurnCalls } from "./turn-call-run.ts";
import type { TurnScope } from "./turn-scope.ts";

/**
 * Abandons the present lineage of a step and begins a new one from a checkpoint. Dispatched calls are settled first: the
 * ledger also protects the new lineage from repeating an effect, and it can do so only for outcomes that it knows.
 */
export async function beginFromMilestone(scope: TurnScope, from: MilestoneFrom): Promise<void> {
  const { run, path: step, stepKey } = scope;
  const { journaled } = scope.conversation;
  if (journaled !== null) await settleDispatched(scope, journaled);
  const receipts = journaled === null ? [] : receiptsOfPrepared(scope, journaled);
  const base = await readBase(run, step, from);
  const rolledBack = run.keeper.planRollback(base?.snapshot ?? null);
  const checkpoint = rolledBack.isFresh ? null : (base?.checkpoint ?? null);
  const fingerprint = { hash: scope.fingerprint, document: scope.document };
  const { slices } = rolledBack;
  reach(run, "lineage:before-begin", step, scope.conversation.committed);
  const turn = await run.store.beginLineage(run.fence, {
    stepKey,
    checkpoint,
    slices,
    receipts,
    fingerprint,
  });
  reach(run, "lineage:begun", step, turn);
  run.keeper.markRolledBack(rolledBack);
  const { runId } = run;
  run.keeper.session.bus.publish("SessionRolledBack", { runId, step, checkpoint });
  run.observe.emit({ type: "lineage.begun", runId, step, turn, checkpoint, reason: "milestone" });
}

/** Settles the dispatched calls of the open turn as their tools allow, or asks a person. */
async function settleDispatched(scope: TurnScope, { turnIndex, response, calls }: TurnRecord): Promise<void> {
  if (!calls.some(({ receipt, status }) => receipt === null && status !== "prepared")) return;
  const planned = await planTurnCalls(scope, turnIndex, response, { known: calls, mode: "abandon" });
  const { unstored } = await runTurnCalls(scope, turnIndex, planned);
  for (const pending of unstored) await storeReceipt(scope.run, pending);
}

/** Receipts for the calls of the open turn that were not dispatched and never will be. */
function receiptsOfPrepared({ run, options }: TurnScope, { calls }: TurnRecord): NewReceipt[] {
  const { blobThresholdBytes } = options;
  return calls
    .filter(({ receipt, status }) => receipt === null && status === "prepared")
    .map(({ callIndex, tool }) => {
      const why = `${tool} was not run: its turn was abandoned for an earlier milestone.`;
      return makeReceipt(run, { callIndex, blobThresholdBytes }, cancelled("abandoned", why));
    });
}

/**
 * The checkpoint to roll back to; null if the session begins empty. It is never one from before the end of an earlier
 * step: that step is not executed again, so its later work would be lost. Nor is it one that a later rollback superseded.
 */
async function readBase(
  { store, runId }: RunWith<"store" | "runId">,
  step: StepPath,
  from: MilestoneFrom,
): Promise<{ readonly snapshot: JsonObject; readonly checkpoint: number } | null> {
  switch (from.kind) {
    case "beginning": {
      const earlier = (await store.listCheckpoints(runId)).findLast(
        ({ stepPath, isSuperseded }) => stepPath !== step && !isSuperseded,
      );
      return earlier === undefined ? null : store.readCheckpoint(runId, earlier.checkpoint);
    }
    case "last":
      return store.readCheckpoint(runId);
    case "given": {
      assertOfRun(runId, from.snapshot);
      const known = await store.readCheckpoint(runId, from.checkpoint);
      if (known?.stepPath === step && !known.isSuperseded) return from;
      if (known !== null) return store.readCheckpoint(runId);
      throw new CheckpointStoreError(
        `Run ${runId} has no checkpoint ${from.checkpoint} in this store. Open the store that it was made with.`,
        { reason: "unknown_checkpoint", paths: [] },
      );
    }
  }
}

/** The id of a session is the id of its run. */
function assertOfRun(runId: string, { session }: JsonObject): void {
  const id = isJsonObject(session) ? session.id : runId;
  if (id === runId) return;
  throw new CheckpointStoreError(
    `The checkpoint belongs to run ${JSON.stringify(id)}, not to run ${runId}. Pass a checkpoint of run ${runId}.`,
    { reason: "other_run", paths: [] },
  );
}
