import assert from "node:assert/strict";
import type { SessionEvent } from "../../../core/session-event.ts";
import type { NewReceipt, Store, ToolCallRecord } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { LEASE_MS, newReceipt, SampleRun } from "../sample-run.ts";
import {
  appliedIn,
  milestone,
  milestoneTurn,
  sampleEvent,
  sessionCommit,
  startLineage,
} from "../sample-session.ts";

const EVENTS: readonly SessionEvent[] = [
  { type: "StepDone", step: { id: 2, title: "naïve 🙂 \u2028" }, list: [1, null, { deep: [] }] },
  { type: "StepDone", step: { id: 2, title: "naïve 🙂 \u2028" }, list: [1, null, { deep: [] }] },
  { type: "Größe", n: -0.25 },
];

/** Asserts that the call has exactly these session events, wherever it can be read. */
async function assertSessionEvents(
  run: SampleRun,
  turn: number,
  call: number,
  events: readonly SessionEvent[],
) {
  const { store, runId, stepKey } = run;
  const id = run.callId(turn, call);
  const { tail, journaled } = await store.readConversation(runId, stepKey, Number.MAX_SAFE_INTEGER);
  const turns = journaled === null ? tail : [...tail, journaled];
  const found: Record<string, readonly ToolCallRecord[]> = {
    listToolCalls: await store.listToolCalls(runId),
    getToolCall: listed(await store.getToolCall(id)),
    findToolCall: listed(await store.findToolCall(run.runId, run.callKey(turn, call))),
    ...(turn === 0
      ? { listCodeStepCalls: await store.listCodeStepCalls(runId, stepKey) }
      : {
          listTurns: (await store.listTurns(runId)).flatMap(({ calls }) => calls),
          readConversation: turns.flatMap(({ calls }) => calls),
        }),
  };
  for (const [reader, calls] of Object.entries(found)) {
    const record = calls.find(({ toolCallId }) => toolCallId === id);
    assert.deepEqual(record?.receipt?.sessionEvents, events, `${reader} gives ${id} with its events`);
  }
}

function listed(call: ToolCallRecord | null): ToolCallRecord[] {
  return call === null ? [] : [call];
}

function eventReceipt(callIndex: number, over: Partial<NewReceipt> = {}): NewReceipt {
  return newReceipt(callIndex, { sessionEvents: EVENTS, ...over });
}

async function lost(store: Store, advance: (ms: number) => void): Promise<[SampleRun, SampleRun]> {
  const early = await SampleRun.create(store);
  await early.journaled(1, ["running"]);
  advance(LEASE_MS);
  return [early, await early.takenOver()];
}

export const sessionEventChecks: readonly Check[] = [
  check("the session events of a call are stored with its receipt, in order", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.receipt(1, 1, eventReceipt(1));
    await assertSessionEvents(run, 1, 1, EVENTS);
    const commit = run.commit(1, { receipts: [eventReceipt(2, { sessionEvents: [sampleEvent("last")] })] });
    await store.commitTurn(run.fence, commit);
    await assertSessionEvents(run, 1, 1, EVENTS);
    await assertSessionEvents(run, 1, 2, [sampleEvent("last")]);
  }),

  check("a call of a code step can have session events, too", async ({ store }) => {
    const run = await SampleRun.create(store);
    const code = await run.at("code", { kind: "run" });
    for (const n of [1, 2]) await store.openToolCall(code.fence, code.codeCall(n));
    await code.receipt(0, 2, eventReceipt(2));
    await code.receipt(0, 1);
    await assertSessionEvents(code, 0, 2, EVENTS);
    await assertSessionEvents(code, 0, 1, []);
  }),

  check("a receipt without session events has none", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    const { sessionEvents: _, ...silent } = newReceipt(1);
    await store.recordReceipt(run.fence, { stepKey: run.stepKey, turnIndex: 1, receipt: silent });
    await store.commitTurn(run.fence, run.commit(1, { receipts: [{ ...silent, callIndex: 2 }] }));
    for (const call of [1, 2]) await assertSessionEvents(run, 1, call, []);
  }),

  check("a failed or duplicate call may have session events", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared", "prepared"]);
    await run.receipt(1, 1, eventReceipt(1, { status: "failed", uncertain: true, errorCode: "reset" }));
    await run.receipt(1, 2, eventReceipt(2, { status: "deduplicated", duplicateOf: run.callId(1, 1) }));
    await run.receipt(1, 3, eventReceipt(3, { status: "cancelled" }));
    for (const call of [1, 2, 3]) await assertSessionEvents(run, 1, call, EVENTS);
  }),

  check("session events are not applied before a commit lists their call", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.receipt(1, 1, eventReceipt(1));
    assert.deepEqual(await appliedIn(store, run.runId), []);
    const session = sessionCommit({ applied: [run.callId(1, 2)], checkpoint: milestone({}) });
    await store.commitTurn(run.fence, run.commit(1, { receipts: [eventReceipt(2)], session }));
    assert.deepEqual(await appliedIn(store, run.runId), [run.callId(1, 2)]);
  }),

  check("a late receipt that settles its call brings its session events", async (scene) => {
    const { store, advance } = scene;
    const [early, later] = await lost(store, advance);
    assert.equal(await store.offerLateReceipt(early.late(1, 1, eventReceipt(1))), "settled");
    await assertSessionEvents(later, 1, 1, EVENTS);
    await store.commitTurn(later.fence, later.commit(1));
    await assertSessionEvents(later, 1, 1, EVENTS);
  }),

  check("a late receipt that is only evidence brings no session events", async ({ store, advance }) => {
    const [early, later] = await lost(store, advance);
    await store.settle(early.callId(1, 1), { as: "succeeded", result: "It went out." });
    assert.equal(await store.offerLateReceipt(early.late(1, 1, eventReceipt(1))), "kept");
    await assertSessionEvents(later, 1, 1, []);
  }),

  check("a refused receipt brings no session events", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.receipt(1, 1, { sessionEvents: [sampleEvent("first")] });
    await assertRefused(store, run.runId, () => run.receipt(1, 1, eventReceipt(1)));
    await assertSessionEvents(run, 1, 1, [sampleEvent("first")]);
  }),

  check("a call of a turn or of code is found by its id, with its arguments", async ({ store }) => {
    const run = await SampleRun.create(store);
    const code = await run.at("code", { kind: "run", path: "loop[2]/code" });
    await run.journaled(1, ["running", "prepared"]);
    await store.openToolCall(code.fence, code.codeCall(1));
    await run.receipt(1, 1);
    const calls = await store.listToolCalls(run.runId);
    assert.equal(calls.length, 3);
    for (const call of calls) assert.deepEqual(await store.getToolCall(call.toolCallId), call);
    assert.deepEqual((await store.getToolCall("run-1/draft#1.2"))?.request, { query: "1.2" });
    assert.deepEqual((await store.getToolCall("run-1/loop[2]/code#0.1"))?.request, { query: "code 1" });
  }),

  check("an id that no call has finds none", async ({ store }) => {
    const run = await SampleRun.create(store);
    await SampleRun.create(store, "run-2");
    await run.committedWithCall(1);
    const ids = [
      "run-1/draft#1.2",
      "run-1/draft#2.1",
      "run-1/draft#0.1",
      "run-1/draft#1.0",
      "run-1/draft#1.999999999",
      "run-1/draft#99999999.1",
      "run-1/other#1.1",
      "run-1/draft",
      "run-1#1.1",
      "run-2/draft#1.1",
      "nobody/draft#1.1",
      "run-1/draft#1.1 ",
      "run-1/draft#-1.1",
      "run-1/draft#one.1",
      "",
      "?",
    ];
    for (const id of ids) assert.equal(await store.getToolCall(id), null, `there is no call ${id}`);
  }),

  check(
    "prepared calls of an abandoned turn get their receipts with the new lineage, or not at all",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await milestoneTurn(run, 1);
      await run.journaled(2, ["running", "prepared"]);
      const receipts = [newReceipt(2, { status: "cancelled", errorCode: "abandoned", source: "pawl" })];
      await assertRefused(store, run.runId, () => startLineage(run, 1, { receipts }));
      await store.recordReceipt(run.fence, { stepKey: run.stepKey, turnIndex: 2, receipt: newReceipt(1) });
      await startLineage(run, 1, { receipts });
      const calls = (await store.listToolCalls(run.runId)).filter(({ turnIndex }) => turnIndex === 2);
      assert.deepEqual(
        calls.map(({ status }) => status),
        ["succeeded", "cancelled"],
      );
      await assertRefused(store, run.runId, () => startLineage(run, 1, { receipts }));
    },
  ),
];
