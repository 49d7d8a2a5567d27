import assert from "node:assert/strict";
import { ResumeError } from "../../../core/errors.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { LEASE_MS, newReceipt, SampleRun, sha256, TIMEOUT_MS } from "../sample-run.ts";

export const toolCallChecks: readonly Check[] = [
  check("the journal writes a ledger row for each call, running or prepared", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared"]);
    const row = {
      toolCallId: "run-1/draft#1.1",
      stepPath: "draft",
      turnIndex: 1,
      callIndex: 1,
      namespace: "local",
      tool: "search",
      effect: "external",
      recovery: "opaque",
      identityHash: sha256("identity").toString("hex"),
      occurrence: 1,
      idempotencyKey: run.callKey(1, 1).toString("hex"),
      status: "running",
      attempt: 1,
      isSuperseded: false,
      request: { query: "1.1" },
      receipt: null,
      createdAt: now(),
      startedAt: now(),
      endsBy: now() + TIMEOUT_MS,
    };
    const waiting = {
      ...row,
      toolCallId: "run-1/draft#1.2",
      callIndex: 2,
      idempotencyKey: run.callKey(1, 2).toString("hex"),
      status: "prepared",
      attempt: 0,
      request: { query: "1.2" },
      startedAt: null,
      endsBy: null,
    };
    assert.deepEqual(await store.listToolCalls(run.runId), [row, waiting]);
  }),

  check(
    "a call is started before it is dispatched, and each attempt is counted",
    async ({ store, now, advance }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["prepared", "prepared"]);
      for (const attempt of [1, 2]) {
        advance(5);
        await run.start(1, 2);
        const { status, startedAt, endsBy, ...call } = await run.callAt(1, 2);
        assert.deepEqual([status, startedAt, call.attempt], ["running", now(), attempt]);
        assert.equal(endsBy, now() + TIMEOUT_MS);
        await assertRefused(store, run.runId, () => run.start(1, 2));
        await run.endAttempt(1, 2, { attempt, inDoubt: false });
      }
      assert.equal((await run.callAt(1, 1)).status, "prepared");
    },
  ),

  check("calls are started together or not at all", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["prepared", "running"]);
    await run.receipt(1, 2);
    await assertRefused(store, run.runId, () => run.start(1, 1, 2), ResumeError);
    await assertRefused(store, run.runId, () => run.start(1, 1, 3));
    await run.start(1, 1);
  }),

  check("a call that is not in the ledger is neither started nor receipted", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committedWithCall(1);
    const polish = await run.at("polish");
    await polish.journaled(1, ["running"]);
    await run.journaled(2, ["running"]);
    for (const callIndex of [0, -1, 2, 1.5]) {
      await assertRefused(store, run.runId, () => run.start(2, callIndex));
      await assertRefused(store, run.runId, () => run.receipt(2, callIndex));
      const commit = run.commit(2, { receipts: [newReceipt(callIndex)] });
      await assertRefused(store, run.runId, () => store.commitTurn(run.fence, commit));
    }
    await assertRefused(store, run.runId, () => run.receipt(3, 1));
    await assertRefused(store, run.runId, () => run.receipt(0, 1));
  }),

  check("a receipt is stored as given, once", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running", "running"]);
    const texts = ["plain", "naïve 🙂\n\u0000", "<<FL_BLOB_REF:0:size=1>>"];
    const outputs = [
      { type: "json", value: { ü: [1, null, { deep: texts }] } },
      { type: "text", value: texts.join() },
      { type: "error-text", value: "No such city." },
    ] as const;
    for (const [i, output] of outputs.entries()) {
      advance(1);
      const status = output.type === "error-text" ? "failed" : "succeeded";
      const errorCode = status === "failed" ? "not_found" : null;
      await run.receipt(1, i + 1, { output, status, errorCode, tokens: i });
      const call = await run.callAt(1, i + 1);
      assert.equal(call.status, status);
      const { callIndex: _, ...rest } = newReceipt(i + 1, { output, status, errorCode, tokens: i });
      assert.deepEqual(call.receipt, { ...rest, at: now() });
      await assertRefused(store, run.runId, () => run.receipt(1, i + 1, { status: "failed" }), ResumeError);
      await assertRefused(store, run.runId, () => run.start(1, i + 1), ResumeError);
    }
  }),

  check("the first of two receipts of a call in one tick is kept", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    const outcomes = await Promise.allSettled([
      run.receipt(1, 1, { tokens: 1 }),
      run.receipt(1, 1, { tokens: 2 }),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
    assert.equal((await run.callAt(1, 1)).receipt?.tokens, 1);
  }),

  check(
    "the calls of a code step are numbered, run from the start, and keep their arguments",
    async ({ store, now }) => {
      const run = await SampleRun.create(store);
      const request = { query: "ü", list: [null] };
      assert.equal(await store.openToolCall(run.fence, run.codeCall(1, { request })), 1);
      assert.equal(await store.openToolCall(run.fence, run.codeCall(2)), 2);
      const polish = await run.at("polish");
      assert.equal(await store.openToolCall(run.fence, polish.codeCall(1)), 1);
      const call = await run.callAt(0, 1);
      assert.deepEqual(
        [call.toolCallId, call.status, call.attempt, call.request, call.startedAt],
        ["run-1/draft#0.1", "running", 1, request, now()],
      );
      await run.receipt(0, 1);
      assert.equal((await run.callAt(0, 1)).status, "succeeded");
      assert.equal((await run.callAt(0, 2)).receipt, null);
      assert.equal((await polish.callAt(0, 1)).receipt, null);
      assert.deepEqual(await store.listTurns(run.runId), [], "a code step has no turns");
    },
  ),

  check("a key is unique in the ledger", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.openToolCall(run.fence, run.codeCall(1));
    const again = run.codeCall(2, { idempotencyKey: run.callKey(0, 1) });
    await assertRefused(store, run.runId, () => store.openToolCall(run.fence, again));
    await run.open(1);
    const journal = run.journal(1, ["running", "running"]);
    const calls = [run.call(1, 1), run.call(1, 2, { idempotencyKey: run.callKey(1, 1) })];
    await assertRefused(store, run.runId, () => store.journalResponse(run.fence, { ...journal, calls }));
    await store.journalResponse(run.fence, journal);
  }),

  check("a call is found by its key, in every step and run", async ({ store }) => {
    const run = await SampleRun.create(store);
    const other = await SampleRun.create(store, "run-2");
    await run.journaled(1, ["running"]);
    await other.store.openToolCall(other.fence, other.codeCall(1));
    const call = await store.findToolCall(run.runId, run.callKey(1, 1));
    assert.deepEqual(call, await run.callAt(1, 1));
    assert.equal((await store.findToolCall(other.runId, other.callKey(0, 1)))?.toolCallId, "run-2/draft#0.1");
    assert.deepEqual(
      [
        await store.hasToolCall(run.runId, run.callKey(1, 1)),
        await store.hasToolCall(other.runId, other.callKey(0, 1)),
      ],
      [true, true],
    );
    const unknown = sha256("unknown");
    assert.deepEqual(
      [await store.findToolCall("run-1", unknown), await store.hasToolCall("run-1", unknown)],
      [null, false],
    );
  }),

  check("calls are listed by step, turn and call order", async ({ store }) => {
    const run = await SampleRun.create(store);
    const polish = await run.at("polish");
    const code = await run.at("code", { kind: "run" });
    await store.openToolCall(code.fence, code.codeCall(1));
    await polish.journaled(1, ["running", "running"]);
    await run.committedWithCall(1);
    await store.openToolCall(code.fence, code.codeCall(2));
    await run.journaled(2, ["prepared", "running"]);
    assert.deepEqual(
      (await store.listToolCalls(run.runId)).map(({ toolCallId }) => toolCallId),
      ["draft#1.1", "draft#2.1", "draft#2.2", "polish#1.1", "polish#1.2", "code#0.1", "code#0.2"].map(
        (id) => `run-1/${id}`,
      ),
    );
  }),

  check("a new owner finds running calls in doubt, and the others unchanged", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running", "prepared"]);
    await run.receipt(1, 1);
    advance(LEASE_MS);
    const later = await run.takenOver();
    const { journaled } = await store.readConversation(later.runId, later.stepKey, 1_000);
    assert.deepEqual(
      journaled?.calls.map(({ status, attempt, receipt }) => [status, attempt, receipt === null]),
      [
        ["succeeded", 1, false],
        ["in_doubt", 1, true],
        ["prepared", 0, true],
      ],
    );
  }),
];
