import type { JsonObject } from "../../core/json.ts";
import { type StepPath, toolCallId } from "../../core/step-path.ts";
import type { ActiveRun } from "../run/active-run.ts";
import { cursorOf } from "../run/checkpoint-cursor.ts";
import type { PendingSession } from "../run/session-keeper.ts";
import type { TurnCalls } from "./turn-call-plan.ts";
import type { TurnCallResult } from "./turn-calls.ts";
import type { TurnScope } from "./turn-scope.ts";

/** A milestone, where the turn has reached one. */
export async function milestoneOf(
  { run, path, instance }: TurnScope,
  turnIndex: number,
  calls: TurnCalls,
  { isMilestone }: PendingSession,
): Promise<{ readonly type: "milestone"; readonly cursor: JsonObject } | null> {
  if (!isMilestone) return null;
  const last = calls.items.at(-1);
  const id = last === undefined ? null : toolCallId(run.runId, path, turnIndex, last.callIndex);
  return { type: "milestone", cursor: await cursorOf(run, instance, turnIndex, id) };
}

/** Follows the commit of a turn: the session is what was planned, and whoever listens hears of it. */
export async function adoptTurn(
  scope: TurnScope,
  turn: number,
  isComplete: boolean,
  planned: PendingSession,
  results: readonly TurnCallResult[],
  checkpoint: { readonly number: number; readonly cursor: JsonObject } | null,
): Promise<void> {
  const { run, path: step } = scope;
  const { runId, keeper } = run;
  const { session } = keeper;
  keeper.markCommitted(planned, { hasCheckpoint: checkpoint !== null });
  for (const { part, toolCallId: id, output, status, events } of results)
    session.bus.publish("ToolInvoked", {
      runId,
      toolCallId: id,
      tool: part.toolName,
      status,
      result: output.value,
      events,
    });
  session.bus.publish("TurnCommitted", { runId, step, turn, isComplete });
  if (checkpoint !== null) await tellCheckpoint(run, step, turn, planned, checkpoint);
}

/** Whoever listens hears of a checkpoint once it is durable; whoever keeps it elsewhere is waited for. */
export async function tellCheckpoint(
  run: ActiveRun,
  step: StepPath,
  turn: number,
  { state }: PendingSession,
  { number, cursor }: { readonly number: number; readonly cursor: JsonObject },
): Promise<void> {
  const { runId } = run;
  const { session } = run.keeper;
  session.bus.publish("CheckpointSaved", { runId, step, checkpoint: number, turn });
  run.observe.emit({ type: "checkpoint.saved", runId, step, turn, checkpoint: number });
  const snapshot = session.snapshot(state).toJSON();
  await run.observe.onCheckpoint({ snapshot, cursor: { ...cursor, checkpoint: number } });
}
