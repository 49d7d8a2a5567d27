import assert from "node:assert/strict";
import type { ReceiptStatus, UnsettledStatus } from "../../../core/call/tool-call-decision.ts";
import { AlreadySettledError, ResumeError } from "../../../core/errors.ts";
import type { NewReceipt, ReceiptSource, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { newReceipt, SampleRun, sha256 } from "../sample-run.ts";

const STATUSES: readonly ReceiptStatus[] = ["succeeded", "failed", "deduplicated", "cancelled"];

/**
 * A call that was never dispatched neither succeeds nor fails; a dispatched one is neither a duplicate nor cancelled.
 */
const ALLOWED_RECEIPTS: { readonly [from in UnsettledStatus]: readonly ReceiptStatus[] } = {
  prepared: ["deduplicated", "cancelled"],
  running: ["succeeded", "failed"],
  in_doubt: ["succeeded", "failed"],
};

const UNSETTLED = Object.keys(ALLOWED_RECEIPTS) as readonly UnsettledStatus[];

/** A run whose first call, of a turn or of its code, has this status. */
async function runWithCall(
  store: Store,
  runId: string,
  turnIndex: number,
  status: UnsettledStatus,
): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  const begun = status === "prepared" ? status : "running";
  if (turnIndex === 0) await store.openToolCall(run.fence, run.codeCall(1, { status: begun }));
  else await run.journaled(turnIndex, [begun]);
  if (status === "in_doubt") await run.endAttempt(turnIndex, 1, { inDoubt: true });
  return run;
}

export const receiptChecks: readonly Check[] = [
  check("a call whose failure ended its code step is superseded, and no other is", async ({ store }) => {
    const run = await SampleRun.create(store);
    for (const n of [1, 2, 3, 4]) await store.openToolCall(run.fence, run.codeCall(n));
    await run.receipt(0, 1, { status: "failed" });
    await run.receipt(0, 2, { status: "failed" });
    await run.receipt(0, 3, { status: "failed", source: "person" });
    await run.receipt(0, 4);
    const failWith = async (worker: SampleRun, code: string, toolCallId: string) => {
      const error = { code, message: "It failed.", details: { toolCallId, tool: "search" } };
      await store.releaseRun(worker.fence, { status: "failed", error });
      return worker.takenOver();
    };
    let worker = await failWith(run, "step_failed", "run-1/draft#0.1");
    for (const id of ["run-1/draft#0.3", "run-1/draft#0.4", "run-2/draft#0.1", "run-1/draft#0.9", "nonsense"])
      worker = await failWith(worker, "tool_failed", id);
    assert.ok((await store.listToolCalls("run-1")).every(({ isSuperseded }) => !isSuperseded));
    await failWith(worker, "tool_failed", "run-1/draft#0.2");
    const superseded = (await store.listToolCalls("run-1")).filter(({ isSuperseded }) => isSuperseded);
    assert.deepEqual(
      superseded.map(({ toolCallId }) => toolCallId),
      ["run-1/draft#0.2"],
    );
  }),

  check("an uncertain call is found by its identity, in its own run only", async ({ store }) => {
    const run = await SampleRun.create(store);
    const other = await SampleRun.create(store, "run-2");
    const identity = sha256("identity");
    const found = async () => (await store.findUncertainCall("run-1", identity))?.toolCallId ?? null;
    assert.deepEqual([await store.hasUncertainCalls("run-1"), await found()], [false, null]);
    await run.journaled(1, ["running", "running", "running", "running"]);
    await run.receipt(1, 1, { status: "failed" });
    assert.deepEqual([await store.hasUncertainCalls("run-1"), await found()], [false, null]);
    await run.receipt(1, 2, { status: "failed", uncertain: true });
    await run.receipt(1, 3, { status: "failed", uncertain: true });
    assert.deepEqual([await store.hasUncertainCalls("run-1"), await found()], [true, "run-1/draft#1.3"]);
    assert.equal(await store.findUncertainCall("run-1", sha256("another")), null);
    assert.equal(await store.hasUncertainCalls(other.runId), false);
    assert.equal(await store.findUncertainCall(other.runId, identity), null);
    await run.receipt(1, 4);
    assert.equal(await found(), null, "the effect has succeeded since");
  }),

  check("a receipt is stored only if the state machine allows it", async ({ store }) => {
    for (const from of UNSETTLED)
      for (const status of STATUSES)
        for (const turnIndex of [0, 1]) {
          const run = await runWithCall(store, `${from}-${status}-${turnIndex}`, turnIndex, from);
          if (ALLOWED_RECEIPTS[from].includes(status)) {
            await run.receipt(turnIndex, 1, { status });
            const call = await run.callAt(turnIndex, 1);
            assert.deepEqual([call.status, call.receipt?.status], [status, status]);
          } else await assertRefused(store, run.runId, () => run.receipt(turnIndex, 1, { status }));
        }
  }),

  check("so is a receipt written with a commit", async ({ store }) => {
    for (const from of UNSETTLED)
      for (const status of STATUSES) {
        const run = await runWithCall(store, `${from}-${status}`, 1, from);
        const commit = run.commit(1, { receipts: [newReceipt(1, { status })] });
        if (ALLOWED_RECEIPTS[from].includes(status)) {
          await store.commitTurn(run.fence, commit);
          assert.equal((await run.callAt(1, 1)).status, status);
        } else await assertRefused(store, run.runId, () => store.commitTurn(run.fence, commit));
      }
  }),

  check("a receipt keeps its source and its correlation id", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    const sources: readonly ReceiptSource[] = ["tool", "reconciled", "person", "late", "pawl"];
    await run.journaled(1, [...sources.map(() => "running" as const), "prepared", "prepared"]);
    const receipts: NewReceipt[] = sources.map((source, i) =>
      newReceipt(i + 1, {
        source,
        status: i % 2 === 0 ? "failed" : "succeeded",
        uncertain: i % 2 === 0,
        errorCode: i % 2 === 0 ? `code-${i}` : null,
        correlationId: i === 2 ? null : `naïve-${i} 🙂`,
      }),
    );
    const duplicateOf = "run-1/draft#1.2";
    receipts.push(newReceipt(6, { source: "pawl", status: "deduplicated", duplicateOf }));
    receipts.push(newReceipt(7, { source: "pawl", status: "cancelled", errorCode: "denied" }));
    for (const receipt of receipts.slice(0, 4))
      await store.recordReceipt(run.fence, { stepKey: run.stepKey, turnIndex: 1, receipt });
    await store.commitTurn(run.fence, run.commit(1, { receipts: receipts.slice(4) }));
    const expected = receipts.map(({ callIndex: _, ...rest }) => ({ ...rest, at: now() }));
    const [turn] = (await store.readConversation(run.runId, run.stepKey, 1_000)).tail;
    assert.deepEqual(
      (await store.listToolCalls(run.runId)).map(({ receipt }) => receipt),
      expected,
    );
    assert.deepEqual(
      turn?.calls.map(({ receipt }) => receipt),
      expected,
    );
    assert.deepEqual((await store.findToolCall(run.runId, run.callKey(1, 6)))?.receipt, expected[5]);
  }),

  check("a call that was never dispatched has no attempts", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["prepared"]);
    await run.receipt(1, 1, { status: "cancelled" });
    const { attempt, startedAt, endsBy } = await run.callAt(1, 1);
    assert.deepEqual([attempt, startedAt, endsBy, await run.tries()], [0, null, null, []]);
  }),

  check("a receipt never changes, whatever arrives later", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.endAttempt(1, 1, { inDoubt: true });
    await run.receipt(1, 1, { correlationId: "first" });
    const call = await run.callAt(1, 1);
    advance(5);
    const refused = (
      attempt: () => Promise<unknown>,
      error: typeof ResumeError | typeof AlreadySettledError,
    ) => assertRefused(store, run.runId, attempt, error);
    for (const status of STATUSES) await refused(() => run.receipt(1, 1, { status }), ResumeError);
    const commit = run.commit(1, { receipts: [newReceipt(1), newReceipt(2)] });
    await refused(() => store.commitTurn(run.fence, commit), ResumeError);
    await refused(() => store.settle(call.toolCallId, { as: "succeeded", result: 2 }), AlreadySettledError);
    await refused(() => store.settle(call.toolCallId, { as: "retry" }), AlreadySettledError);
    assert.equal(await store.offerLateReceipt(run.late(1, 1, newReceipt(1, { tokens: 99 }))), "kept");
    assert.deepEqual(await run.callAt(1, 1), call);
    await run.waiting(run.wait(1, 1));
    await run.takenOver();
    assert.deepEqual(await run.callAt(1, 1), call);
  }),
];
