import assert from "node:assert/strict";
import type { Json, JsonObject } from "../../core/json.ts";
import type { SessionEvent } from "../../core/session-event.ts";
import type {
  NewCheckpoint,
  NewLineage,
  NewReceipt,
  SessionCommit,
  SliceChange,
  Store,
} from "../../store/store.ts";
import { newReceipt, type SampleRun, sha256 } from "./sample-run.ts";

/** The fingerprint of the agent after a deploy. */
export const NEW_FINGERPRINT = {
  hash: sha256("another sample").toString("hex"),
  document: { prompt: "You are bold.", input: "ratchets", model: "sample-2" },
};

export function sessionCommit(over: Partial<SessionCommit> = {}): SessionCommit {
  return { slices: [], applied: [], checkpoint: null, ...over };
}

/** A slice with exactly these values from now on. */
export function wholeSlice(
  name: string,
  values: readonly Json[],
  over: Partial<SliceChange> = {},
): SliceChange {
  const items = values.map((value, i) => [i, value] as const);
  return { name, kind: "state", version: 1, length: values.length, items, ...over };
}

export function milestone(snapshot: JsonObject, cursor: JsonObject = {}): NewCheckpoint {
  return { type: "milestone", snapshot, cursor };
}

export function sampleEvent(what: string): SessionEvent {
  return { type: "Noted", what };
}

/**
 * A turn with one call that has a session event, and a commit that applies it. Returns the number of the checkpoint.
 */
export async function eventTurn(
  run: SampleRun,
  turnIndex: number,
  over: Partial<SessionCommit> = {},
): Promise<number | null> {
  await run.journaled(turnIndex, ["running"]);
  const receipts: NewReceipt[] = [newReceipt(1, { sessionEvents: [sampleEvent(`turn ${turnIndex}`)] })];
  const session = sessionCommit({ applied: [run.callId(turnIndex, 1)], ...over });
  const commit = run.commit(turnIndex, { receipts, messages: 2, tokens: 17, session });
  return (await run.store.commitTurn(run.fence, commit)).checkpoint;
}

/** The same, with a milestone that contains the number of its turn. */
export async function milestoneTurn(run: SampleRun, turnIndex: number): Promise<number> {
  const checkpoint = await eventTurn(run, turnIndex, { checkpoint: milestone({ turn: turnIndex }) });
  assert.ok(checkpoint !== null, "a commit with a checkpoint returns its number");
  return checkpoint;
}

/** Begins a new lineage of the step, from a checkpoint or (null) from the beginning. Returns its first turn. */
export function startLineage(
  run: SampleRun,
  checkpoint: number | null = null,
  over: Partial<NewLineage> = {},
): Promise<number> {
  const lineage = { stepKey: run.stepKey, checkpoint, slices: [], fingerprint: NEW_FINGERPRINT, ...over };
  return run.store.beginLineage(run.fence, lineage);
}

/** The ids of the calls of a run whose events its session includes. */
export async function appliedIn(store: Store, runId: string): Promise<string[]> {
  const ids = (await store.listToolCalls(runId)).map(({ toolCallId }) => toolCallId);
  const applied = await Promise.all(ids.map((id) => store.isApplied(runId, id)));
  return ids.filter((_, i) => applied[i]);
}

/** The session's slices, each with its values. */
export async function slicesOf(store: Store, runId: string): Promise<Record<string, readonly Json[]>> {
  return Object.fromEntries((await store.readSession(runId)).map(({ name, values }) => [name, values]));
}
