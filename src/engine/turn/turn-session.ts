import type { JsonObject } from "../../core/json.ts";
import { type StepPath, toolCallId } from "../../core/step-path.ts";
import type { RunWith } from "../run/active-run.ts";
import { cursorOf } from "../run/checkpoint-cursor.ts";
import type { PendingSession } from "../run/session-keeper.ts";
import type { TurnCalls } from "./turn-call-plan.ts";
import type { TurnCallResult } from "./turn-call-run.ts";
import type { TurnScope } from "./turn-scope.ts";

/** A milestone checkpoint, without its snapshot. */
type Milestone = { readonly type: "milestone"; readonly cursor: JsonObject };

/** The milestone checkpoint of a turn; null if the turn reached no milestone. */
export async function turnMilestone(
  { run, path, instance }: TurnScope,
  turnIndex: number,
  calls: TurnCalls,
  { milestone }: PendingSession,
): Promise<Milestone | null> {
  if (milestone === "none") return null;
  const last = calls.items.at(-1);
  const id = last === undefined ? null : toolCallId(run.runId, path, turnIndex, last.callIndex);
  return { type: "milestone", cursor: await cursorOf(run, instance, turnIndex, id) };
}

/** Saves the milestone of a committed turn while the run continues with the next one. */
export function saveMilestoneLater(
  { run, path: step, stepKey }: TurnScope,
  turn: number,
  planned: PendingSession,
  { type, cursor }: Milestone,
): void {
  const { keeper, store, fence } = run;
  keeper.saveLater(planned.state, async () => {
    const snapshot = keeper.session.snapshot(planned.state).toJSON();
    const checkpoint = { type, cursor, snapshot };
    const number = await store.saveCheckpoint(fence, { stepKey, turnIndex: turn, checkpoint });
    await announceCheckpoint(run, { step, turn }, planned, { number, cursor });
  });
}

/** A checkpoint with the number that the store gave it. */
export type NumberedCheckpoint = { readonly number: number; readonly cursor: JsonObject };

/** Adopts the session of a committed turn, and publishes the events of the turn. */
export async function adoptTurn(
  scope: TurnScope,
  turn: {
    readonly turnIndex: number;
    readonly isComplete: boolean;
    readonly planned: PendingSession;
    readonly results: readonly TurnCallResult[];
    readonly checkpoint: NumberedCheckpoint | null;
  },
): Promise<void> {
  const { turnIndex, isComplete, planned, results, checkpoint } = turn;
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
  session.bus.publish("TurnCommitted", { runId, step, turn: turnIndex, isComplete });
  if (checkpoint !== null) await announceCheckpoint(run, { step, turn: turnIndex }, planned, checkpoint);
}

/** Announces a checkpoint once it is durable, and waits for `onCheckpoint`, which may keep a copy elsewhere. */
export async function announceCheckpoint(
  run: RunWith<"runId" | "keeper" | "observe">,
  { step, turn }: { readonly step: StepPath; readonly turn: number },
  { state }: PendingSession,
  { number, cursor }: NumberedCheckpoint,
): Promise<void> {
  const { runId } = run;
  const { session } = run.keeper;
  session.bus.publish("CheckpointSaved", { runId, step, checkpoint: number, turn });
  run.observe.emit({ type: "checkpoint.saved", runId, step, turn, checkpoint: number });
  const snapshot = session.snapshot(state).toJSON();
  await run.observe.onCheckpoint({ snapshot, cursor: { ...cursor, checkpoint: number } });
}
