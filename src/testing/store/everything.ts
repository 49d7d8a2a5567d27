import { RunDeletedError, RunNotFoundError } from "../../core/errors.ts";
import type { Store } from "../../store/store.ts";
import { appliedIn } from "./sample-session.ts";

/** Everything that a store returns for a run, to compare before and after; null if the run does not exist. */
export async function readEverything(store: Store, runId: string): Promise<unknown> {
  const steps = await stepsOf(store, runId);
  if (steps === null) return null;
  return {
    run: await store.getRun(runId),
    input: await store.readRunInput(runId),
    usage: await store.readUsage(runId),
    modelCalls: await store.listModelCalls(runId),
    toolCalls: await store.listToolCalls(runId),
    callAttempts: await store.listToolCallAttempts(runId),
    waits: await store.listWaits(runId),
    messages: await store.listMessages(runId),
    exchanges: await store.listExchanges(runId),
    requests: await store.readRequests(runId),
    artifacts: await store.listArtifacts(runId),
    work: await store.countWork(runId),
    isCancelRequested: await store.isCancelRequested(runId),
    hasUncertainCalls: await store.hasUncertainCalls(runId),
    turns: await store.listTurns(runId),
    session: await store.readSession(runId),
    applied: await appliedIn(store, runId),
    checkpoints: await store.listCheckpoints(runId),
    checkpoint: await store.readCheckpoint(runId),
    lineages: await store.listLineages(runId),
    attempts: await store.listAttempts(runId),
    events: await store.listEvents(runId),
    steps: await Promise.all(
      steps.map(async (step) => ({
        step,
        decisions: await store.listLoopDecisions(runId, step.stepKey),
        conversation: await store.readConversation(runId, step.stepKey, Number.MAX_SAFE_INTEGER),
        state: await store.readGranularState(runId, step.path),
      })),
    ),
  };
}

async function stepsOf(store: Store, runId: string) {
  try {
    return await store.listSteps(runId);
  } catch (error) {
    if (RunNotFoundError.isInstance(error) || RunDeletedError.isInstance(error)) return null;
    throw error;
  }
}
