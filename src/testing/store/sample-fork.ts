import assert from "node:assert/strict";
import { toolCallKey } from "../../core/call/tool-call-key.ts";
import type { CodeToolCall, NewFork, NewReceipt, NewToolCall, Store, TurnCommit } from "../../store/store.ts";
import { readEverything } from "./everything.ts";
import { claimOptions, newReceipt, newStep, SampleRun, sha256 } from "./sample-run.ts";
import { milestone } from "./sample-session.ts";

type KeyScope = "call" | "effect";

/** The real key of a call of this run: a fork has to derive its own from the stored call. */
export function keyIn(
  { runId, step }: SampleRun,
  { namespace, tool, identityHash, occurrence }: Omit<NewToolCall, "callIndex">,
  kind: KeyScope = "call",
): Buffer {
  const scope = kind === "call" ? { kind, stepPath: step.path } : { kind };
  return toolCallKey({ runId, namespace, tool, identityHash, occurrence, scope });
}

/** A call with an identity of its own, under such a key. */
export function keyedCall(
  run: SampleRun,
  turnIndex: number,
  callIndex: number,
  over: Partial<NewToolCall> = {},
  kind: KeyScope = "call",
): NewToolCall {
  const identityHash = sha256(`${turnIndex}.${callIndex}`);
  const call = run.call(turnIndex, callIndex, { identityHash, ...over });
  return { ...call, idempotencyKey: keyIn(run, call, kind) };
}

/** A turn whose calls have such keys, from its opening to its commit: one call for each receipt. */
export async function keyedTurn(
  run: SampleRun,
  turnIndex: number,
  receipts: readonly NewReceipt[] = [newReceipt(1)],
  over: Partial<TurnCommit> = {},
): Promise<void> {
  const isDispatched = ({ status }: NewReceipt) => status === "succeeded" || status === "failed";
  const statuses = receipts.map((receipt) => (isDispatched(receipt) ? "running" : "prepared"));
  const calls = statuses.map((status, i) => keyedCall(run, turnIndex, i + 1, { status }));
  await run.open(turnIndex);
  await run.store.journalResponse(run.fence, run.journal(turnIndex, statuses, { calls }));
  const tokens = receipts.reduce((sum, receipt) => sum + receipt.tokens, 10);
  const commit = run.commit(turnIndex, { receipts, messages: 1 + receipts.length, tokens, ...over });
  await run.store.commitTurn(run.fence, commit);
}

export function keyedCodeCall(run: SampleRun, n: number, over: Partial<CodeToolCall> = {}): CodeToolCall {
  const call = run.codeCall(n, { identityHash: sha256(`code ${n}`), ...over });
  return { ...call, idempotencyKey: keyIn(run, call) };
}

/** A finished step whose code has made one call. */
export async function finishedCode(run: SampleRun, name: string, output: string): Promise<SampleRun> {
  const code = await run.at(name, { kind: "run" });
  await run.store.openToolCall(code.fence, keyedCodeCall(code, 1));
  await code.receipt(0, 1);
  await run.store.finishStep(code.fence, { stepKey: code.stepKey, output, context: { made: name } });
  return code;
}

/** A fork of the run's current step. */
export function newFork(run: SampleRun, turnIndex: number, over: Partial<NewFork> = {}): NewFork {
  return {
    parent: run.runId,
    runId: "fork",
    stepPath: run.step.path,
    turnIndex,
    slices: [],
    checkpoint: milestone({ turn: turnIndex }),
    ...over,
  };
}

/** Creates the fork, and asserts that the parent is unchanged. */
export async function forked(store: Store, fork: NewFork): Promise<void> {
  const before = await readEverything(store, fork.parent);
  const run = await store.forkRun(fork);
  assert.deepEqual(run, await store.getRun(fork.runId));
  assert.deepEqual(await readEverything(store, fork.parent), before, "the first run is what it was");
}

/** Claims a run for a new worker and enters one of its steps. */
export async function claimedAt(store: Store, runId: string, name = "draft"): Promise<SampleRun> {
  const outcome = await store.claimRun(runId, claimOptions());
  assert.ok(outcome.kind === "claimed", `the run can be claimed, and is not ${outcome.kind}`);
  const fence = { runId, epoch: outcome.claim.epoch };
  return new SampleRun(store, fence, await store.beginStep(fence, newStep(name)));
}
