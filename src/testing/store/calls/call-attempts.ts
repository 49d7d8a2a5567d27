import assert from "node:assert/strict";
import type { FailedAttemptOutcome } from "../../../core/call/tool-call-decision.ts";
import { ResumeError } from "../../../core/errors.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { LEASE_MS, newReceipt, newStart, SampleRun, TIMEOUT_MS } from "../sample-run.ts";

const OUTCOMES: readonly Exclude<FailedAttemptOutcome, "lost">[] = [
  "failed",
  "not_applied",
  "needs_human",
  "timed_out",
  "aborted",
];

/** Asserts a refusal because of another writer: the caller reloads and continues. */
async function assertSettledMeanwhile(run: SampleRun, attempt: () => Promise<unknown>): Promise<void> {
  const error = await assertRefused(run.store, run.runId, attempt, ResumeError);
  assert.ok(ResumeError.isInstance(error) && error.recoverable, "the caller can reload and continue");
}

export const callAttemptChecks: readonly Check[] = [
  check(
    "a call in doubt can be started again, and the attempt is counted",
    async ({ store, now, advance }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["running", "running"]);
      await run.endAttempt(1, 1, { inDoubt: true });
      advance(5);
      await run.start(1, 1);
      const { status, attempt, startedAt, endsBy } = await run.callAt(1, 1);
      assert.deepEqual(
        { status, attempt, startedAt, endsBy },
        { status: "running", attempt: 2, startedAt: now(), endsBy: now() + TIMEOUT_MS },
      );
      advance(LEASE_MS);
      const later = await run.takenOver();
      await later.start(1, 1, 2);
      assert.deepEqual([(await run.callAt(1, 1)).attempt, (await run.callAt(1, 2)).attempt], [3, 2]);
    },
  ),

  check("each call gets the timeout of its start", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    const calls = [run.call(1, 1, { timeoutMs: 11 }), run.call(1, 2, { status: "prepared", timeoutMs: 12 })];
    const journal = run.journal(1, ["running", "prepared"]);
    await store.journalResponse(run.fence, { ...journal, calls });
    await store.openToolCall(run.fence, run.codeCall(1, { timeoutMs: 13 }));
    const prepared = run.codeCall(2, { status: "prepared", timeoutMs: 14 });
    await store.openToolCall(run.fence, prepared);
    const ends = async () =>
      (await store.listToolCalls(run.runId)).map(({ endsBy }) => endsBy && endsBy - now());
    assert.deepEqual(await ends(), [11, null, 13, null], "a prepared call has no time to end by");
    const start = { stepKey: run.stepKey, calls: [newStart(2, { timeoutMs: 15 })] };
    await store.startToolCalls(run.fence, { ...start, turnIndex: 1 });
    await store.startToolCalls(run.fence, { ...start, turnIndex: 0 });
    assert.deepEqual(await ends(), [11, 15, 13, 15]);
  }),

  check("a running attempt excludes another", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared", "prepared"]);
    await store.openToolCall(run.fence, run.codeCall(1));
    await assertRefused(store, run.runId, () => run.start(1, 1));
    await assertRefused(store, run.runId, () => run.start(0, 1));
    await assertRefused(store, run.runId, () => run.start(1, 2, 2));
    await assertRefused(store, run.runId, () => run.start(1, 2, 1));
    await run.start(1, 2);
    await assertRefused(store, run.runId, () => run.start(1, 2, 3));
    await run.start(1, 3);
  }),

  check("the end of an earlier attempt does not end the running one", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.endAttempt(1, 1, { inDoubt: false });
    await assertRefused(store, run.runId, () => run.start(1, 2));
    await run.start(1, 1);
    await assertRefused(store, run.runId, () => run.start(1, 1));
    await run.endAttempt(1, 1, { attempt: 2, inDoubt: false });
    await run.start(1, 1);
    assert.equal((await run.callAt(1, 1)).attempt, 3);
  }),

  check("a call with a receipt is not started again, and the refusal is recoverable", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running", "prepared", "prepared", "running"]);
    const statuses = ["succeeded", "failed", "deduplicated", "cancelled"] as const;
    for (const [i, status] of statuses.entries()) {
      await run.receipt(1, i + 1, { status });
      await assertSettledMeanwhile(run, () => run.start(1, i + 1));
      await assertSettledMeanwhile(run, () => run.endAttempt(1, i + 1));
      await assertSettledMeanwhile(run, () => run.endAttempt(1, i + 1, { inDoubt: false }));
    }
    await run.endAttempt(1, 5, { inDoubt: true });
    await run.receipt(1, 5);
    await assertSettledMeanwhile(run, () => run.start(1, 5));
  }),

  check(
    "a call of a code step is prepared, started and attempted like one of a turn",
    async ({ store, now }) => {
      const run = await SampleRun.create(store);
      await store.openToolCall(run.fence, run.codeCall(1, { status: "prepared" }));
      const { status, attempt, startedAt, endsBy } = await run.callAt(0, 1);
      assert.deepEqual([status, attempt, startedAt, endsBy], ["prepared", 0, null, null]);
      await run.start(0, 1);
      await run.endAttempt(0, 1, { inDoubt: false });
      await run.start(0, 1);
      await run.endAttempt(0, 1, { attempt: 2, inDoubt: true });
      const call = await run.callAt(0, 1);
      assert.deepEqual([call.status, call.attempt, call.startedAt], ["in_doubt", 2, now()]);
      assert.deepEqual(
        (await run.tries()).map((each) => [each.toolCallId, each.attempt]),
        [
          ["run-1/draft#0.1", 1],
          ["run-1/draft#0.1", 2],
        ],
      );
    },
  ),

  check(
    "an attempt that brought no receipt is stored with everything known about it",
    async ({ store, now, advance }) => {
      const run = await SampleRun.create(store);
      await run.journaled(
        1,
        OUTCOMES.map(() => "running"),
      );
      for (const [i, outcome] of OUTCOMES.entries()) {
        advance(7);
        const [errorCode, errorDetail, correlationId] = [`code-${i}`, `naïve ${i} 🙂`, `message-${i}`];
        await run.endAttempt(1, i + 1, { outcome, errorCode, errorDetail, correlationId });
        assert.deepEqual((await run.tries())[i], {
          toolCallId: `run-1/draft#1.${i + 1}`,
          attempt: 1,
          startedAt: now() - 7 * (i + 1),
          endedAt: now(),
          outcome,
          errorCode,
          errorDetail,
          correlationId,
          late: null,
        });
      }
      await run.start(1, 1);
      await run.endAttempt(1, 1, { attempt: 2, errorCode: null, errorDetail: null, correlationId: null });
      const kept = (await run.tries())[1];
      assert.deepEqual([kept?.errorCode, kept?.errorDetail, kept?.correlationId], [null, null, null]);
    },
  ),

  check("an attempt ends once, and only if it is running", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared"]);
    for (const attempt of [0, 2, -1, 1.5])
      await assertRefused(store, run.runId, () => run.endAttempt(1, 1, { attempt }));
    for (const attempt of [0, 1])
      await assertRefused(store, run.runId, () => run.endAttempt(1, 2, { attempt }));
    await run.endAttempt(1, 1, { inDoubt: false });
    for (const inDoubt of [false, true])
      await assertRefused(store, run.runId, () => run.endAttempt(1, 1, { inDoubt }));
    await run.start(1, 1);
    await assertRefused(store, run.runId, () => run.endAttempt(1, 1, { attempt: 1 }));
    await run.endAttempt(1, 1, { attempt: 2, inDoubt: true });
    for (const inDoubt of [false, true])
      await assertRefused(store, run.runId, () => run.endAttempt(1, 1, { attempt: 2, inDoubt }));
  }),

  check("an attempt of a call that is not in the ledger cannot end", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    for (const [turn, call] of [
      [1, 0],
      [1, 2],
      [2, 1],
      [0, 1],
    ] as const)
      await assertRefused(store, run.runId, () => run.endAttempt(turn, call));
  }),

  check("the end of an attempt puts its call in doubt only if it says so", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running", "running"]);
    await run.endAttempt(1, 1, { inDoubt: true });
    await run.endAttempt(1, 2, { inDoubt: false });
    assert.deepEqual(
      (await store.listToolCalls(run.runId)).map(({ status, attempt, receipt }) => [
        status,
        attempt,
        receipt,
      ]),
      [
        ["in_doubt", 1, null],
        ["running", 1, null],
        ["running", 1, null],
      ],
    );
  }),

  check(
    "an ended attempt has no more time; one that was given up on does",
    async ({ store, now, advance }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["running", "running", "running", "running"]);
      const until = now() + TIMEOUT_MS;
      advance(5);
      await run.endAttempt(1, 1, { hasEnded: true, inDoubt: true });
      await run.endAttempt(1, 2, { hasEnded: true, inDoubt: false });
      await run.endAttempt(1, 3, { hasEnded: false, inDoubt: true });
      assert.deepEqual(
        (await store.listToolCalls(run.runId)).map(({ endsBy }) => endsBy),
        [now(), now(), until, until],
      );
    },
  ),

  check("attempts are listed by run, by call and in order", async ({ store }) => {
    const run = await SampleRun.create(store);
    const other = await SampleRun.create(store, "run-2");
    const polish = await run.at("polish");
    for (const each of [run, other, polish]) await each.journaled(1, ["running", "running"]);
    await run.endAttempt(1, 2, { inDoubt: false });
    await polish.endAttempt(1, 1);
    await run.endAttempt(1, 1, { inDoubt: false });
    await run.start(1, 1, 2);
    await other.endAttempt(1, 1);
    await run.endAttempt(1, 2, { attempt: 2 });
    await run.endAttempt(1, 1, { attempt: 2 });
    const listed = async (runId: string) =>
      (await store.listToolCallAttempts(runId)).map(({ toolCallId, attempt }) => `${toolCallId} ${attempt}`);
    assert.deepEqual(await listed("run-1"), [
      "run-1/draft#1.1 1",
      "run-1/draft#1.1 2",
      "run-1/draft#1.2 1",
      "run-1/draft#1.2 2",
      "run-1/polish#1.1 1",
    ]);
    assert.deepEqual(await listed("run-2"), ["run-2/draft#1.1 1"]);
  }),

  check("attempts stay when their call has its receipt and their turn is committed", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.endAttempt(1, 1, { inDoubt: false });
    await run.start(1, 1);
    await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(1)] }));
    assert.deepEqual(
      (await run.tries()).map(({ attempt, outcome }) => [attempt, outcome]),
      [[1, "timed_out"]],
    );
    assert.equal((await run.callAt(1, 1)).attempt, 2);
  }),
];
