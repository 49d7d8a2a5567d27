import { CheckpointStoreError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { StepPath } from "../core/step-path.ts";
import type { MilestoneFrom } from "./milestone-request.ts";
import { type RunHandle, reach } from "./run-handle.ts";
import { cancelled } from "./tool-outcome.ts";
import { makeReceipt, storeReceipt } from "./tool-receipt.ts";
import { planTurnCalls } from "./turn-call-plan.ts";
import { runTurnCalls } from "./turn-calls.ts";
import type { TurnScope } from "./turn-scope.ts";

/**
 * Leaves the line of history that a step is in, and begins a new one from a checkpoint. `reopen` reads the step again.
 * Nothing that was dispatched is left behind unsettled: the ledger holds in the new line too, and what it does not know it
 * could not keep from happening twice.
 */
export async function beginFromMilestone(
  scope: TurnScope,
  from: MilestoneFrom,
  reopen: () => Promise<TurnScope>,
): Promise<void> {
  const { run, path: step, stepKey } = scope;
  const settled = (await cancelWhatWaits(scope)) ? await reopen() : scope;
  await settleOpenTurn(settled);
  const base = await baseOf(run, step, from);
  const rolledBack = run.keeper.rolledBack(base?.snapshot ?? null);
  const checkpoint = rolledBack.isFresh ? null : (base?.checkpoint ?? null);
  const fingerprint = { hash: scope.fingerprint, document: scope.document };
  const { slices } = rolledBack;
  reach(run, "lineage:before-begin", step, scope.conversation.committed);
  const turn = await run.store.beginLineage(run.fence, { stepKey, checkpoint, slices, fingerprint });
  reach(run, "lineage:begun", step, turn);
  run.keeper.rollBack(rolledBack);
  const { runId } = run;
  run.keeper.session.bus.publish("SessionRolledBack", { runId, step, checkpoint });
  run.emit({ type: "lineage.begun", runId, step, turn, checkpoint });
}

/** Calls of the open turn that were never dispatched will not be. Says whether there were any. */
async function cancelWhatWaits({ run, stepKey, path, conversation, options }: TurnScope): Promise<boolean> {
  const { journaled } = conversation;
  if (journaled === null) return false;
  const waiting = journaled.calls.filter(({ receipt, status }) => receipt === null && status === "prepared");
  for (const { callIndex, tool } of waiting) {
    const outcome = cancelled(
      "abandoned",
      `${tool} was not run: its turn was left for an earlier milestone.`,
    );
    const receipt = makeReceipt(run, { callIndex, blobThresholdBytes: options.blobThresholdBytes }, outcome);
    const { turnIndex } = journaled;
    await storeReceipt(run, { stepKey, stepPath: path, turnIndex, attempt: 0, receipt });
  }
  return waiting.length > 0;
}

/** Calls that were dispatched are brought to their end, by what their tools allow; or a person is asked. */
async function settleOpenTurn(scope: TurnScope): Promise<void> {
  const { run, conversation } = scope;
  const { journaled } = conversation;
  if (journaled === null || journaled.calls.every(({ receipt }) => receipt !== null)) return;
  const { turnIndex, response } = journaled;
  const calls = await planTurnCalls(scope, turnIndex, response, { known: journaled.calls });
  const { unstored } = await runTurnCalls(scope, turnIndex, calls);
  for (const pending of unstored) await storeReceipt(run, pending);
}

/**
 * The checkpoint to go back to; null: the session begins empty. It is never one from before the end of an earlier step,
 * which is not entered again: what that step still did would be lost. Nor is it one that the run went back behind since.
 */
async function baseOf(
  { store, runId }: RunHandle,
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
        `Run ${runId} has no checkpoint ${from.checkpoint} in this store: open the store that it was made with.`,
        { reason: "unknown_checkpoint", paths: [] },
      );
    }
  }
}

/** A session has the id of its run. */
function assertOfRun(runId: string, { session }: JsonObject): void {
  const id = isJsonObject(session) ? session.id : runId;
  if (id === runId) return;
  throw new CheckpointStoreError(
    `The checkpoint is of run ${JSON.stringify(id)}, and not of run ${runId}: give one of that run.`,
    { reason: "other_run", paths: [] },
  );
}
