import assert from "node:assert/strict";
import { ResumeError } from "../../../core/errors.ts";
import type { NewToolCall } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { FAILED, FINGERPRINT, FINGERPRINT_DOCUMENT, newReceipt, SampleRun, sha256 } from "../sample-run.ts";

/** Asserts the refusal that lets a runner reload and continue. */
async function assertOutOfStep(run: SampleRun, attempt: () => Promise<unknown>): Promise<void> {
  const error = await assertRefused(run.store, run.runId, attempt, ResumeError);
  assert.ok(ResumeError.isInstance(error) && error.recoverable, "reloading helps");
}

export const turnChecks: readonly Check[] = [
  check("a response without tool calls is journaled and committed at once", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    const journal = run.journal(1);
    const outcome = await store.commitTurn(run.fence, run.commit(1, { journal, messages: 3, tokens: 44 }));
    assert.deepEqual(outcome, { next: null, checkpoint: null, isComplete: false });
    const turn = {
      stepPath: "draft",
      turnIndex: 1,
      response: journal.response,
      tokens: 10,
      followUp: null,
      taken: [],
      calls: [],
      committed: true,
      at: now(),
    };
    assert.deepEqual(await store.listTurns(run.runId), [turn]);
    const { tail, journaled, turnIndex, messages, tokens, isComplete } = await store.readConversation(
      run.runId,
      run.stepKey,
      0,
    );
    assert.deepEqual(
      { tail, journaled, turnIndex, messages, tokens, isComplete },
      { tail: [turn], journaled: null, turnIndex: 1, messages: 3, tokens: 44, isComplete: false },
    );
  }),

  check("a journaled turn with its calls waits for its commit by the next worker", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared"]);
    const { turnIndex, tail, journaled, messages } = await store.readConversation(
      run.runId,
      run.stepKey,
      1_000,
    );
    assert.deepEqual({ turnIndex, tail, messages }, { turnIndex: 0, tail: [], messages: 0 });
    assert.deepEqual(
      journaled?.calls.map(({ callIndex, status }) => [callIndex, status]),
      [
        [1, "running"],
        [2, "prepared"],
      ],
    );
    assert.equal(journaled?.committed, false);
    assert.deepEqual(journaled?.response, run.journal(1, ["running", "prepared"]).response);
    const [turn] = await store.listTurns(run.runId);
    assert.deepEqual(turn, journaled);
  }),

  check(
    "a turn is opened, journaled and committed in order: not twice, not over a gap",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      for (const turnIndex of [0, 2, 3]) await assertOutOfStep(run, () => run.open(turnIndex));
      await run.committed(1);
      await run.committed(2);
      for (const turnIndex of [0, 1, 2, 4, 5]) {
        await assertOutOfStep(run, () => run.open(turnIndex));
        await assertOutOfStep(run, () => store.journalResponse(run.fence, run.journal(turnIndex)));
        const commit = run.commit(turnIndex, { journal: run.journal(turnIndex) });
        await assertOutOfStep(run, () => store.commitTurn(run.fence, commit));
      }
      await run.committed(3);
      assert.deepEqual(
        (await store.listTurns(run.runId)).map(({ turnIndex }) => turnIndex),
        [1, 2, 3],
      );
    },
  ),

  check("a turn is committed once, by the first worker", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.receipt(1, 1);
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map((tokens) => store.commitTurn(run.fence, run.commit(1, { tokens }))),
    );
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "rejected"],
    );
    for (const outcome of outcomes.slice(1))
      assert.ok(outcome.status === "rejected" && ResumeError.isInstance(outcome.reason));
    assert.equal((await store.readConversation(run.runId, run.stepKey, 0)).tokens, 1);
  }),

  check("a committed turn is never changed", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committedWithCall(1);
    const { fence, stepKey } = run;
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => run.open(1),
      () => store.journalResponse(fence, run.journal(1, ["running"], { attempt: 2 })),
      () => run.start(1, 1),
      () => run.receipt(1, 1, { status: "failed" }),
      () => store.commitTurn(fence, run.commit(1, { followUp: "Go on.", isComplete: true })),
      () => store.commitTurn(fence, run.commit(1, { receipts: [newReceipt(1)] })),
      () =>
        store.settleModelCall(fence, { stepKey, turnIndex: 1, attempt: 1, charge: run.journal(1).charge }),
    ];
    for (const attempt of attempts) await assertRefused(store, run.runId, attempt);
  }),

  ...(["prepared", "running"] as const).map((status: NewToolCall["status"]) =>
    check(`a turn with a call that is ${status} and has no receipt is not committed`, async ({ store }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["running", status]);
      await assertRefused(store, run.runId, () => store.commitTurn(run.fence, run.commit(1)));
      const incomplete = run.commit(1, { receipts: [newReceipt(1)] });
      await assertRefused(store, run.runId, () => store.commitTurn(run.fence, incomplete));
      const ended = newReceipt(2, status === "prepared" ? { status: "cancelled" } : {});
      await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(1), ended] }));
    }),
  ),

  check("a turn without a journaled response is not committed", async ({ store }) => {
    const run = await SampleRun.create(store);
    const commit = () => store.commitTurn(run.fence, run.commit(1));
    await assertRefused(store, run.runId, commit);
    await run.open(1);
    await assertRefused(store, run.runId, commit);
    const polish = await run.at("polish");
    await polish.open(1);
    const foreign = run.commit(1, { journal: polish.journal(1) });
    await assertRefused(store, run.runId, () => store.commitTurn(run.fence, foreign));
  }),

  check("a commit with one receipt that cannot be written stores none of it", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.receipt(1, 2);
    const commit = run.commit(1, {
      receipts: [newReceipt(1), newReceipt(2)],
      followUp: "Go on.",
      next: run.opening(2),
    });
    await assertRefused(store, run.runId, () => store.commitTurn(run.fence, commit));
    assert.equal((await store.listToolCalls(run.runId))[0]?.receipt, null);
  }),

  check("a journaled response is not charged again: its turn cannot be opened", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await assertRefused(store, run.runId, () => run.open(1));
    await assertRefused(store, run.runId, () => store.journalResponse(run.fence, run.journal(1)));
    await store.releaseRun(run.fence, FAILED);
    const later = await run.takenOver();
    await assertRefused(store, run.runId, () => later.open(1));
    await store.commitTurn(later.fence, later.commit(1, { receipts: [newReceipt(1)] }));
  }),

  check("the follow-up of a response is stored with its turn", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committed(1, { followUp: "Go on." });
    await run.committedWithCall(2);
    await run.journaled(3);
    await store.commitTurn(run.fence, run.commit(3, { followUp: "Say it as JSON." }));
    assert.deepEqual(
      (await store.listTurns(run.runId)).map(({ followUp }) => followUp),
      ["Go on.", null, "Say it as JSON."],
    );
  }),

  check("no turn follows the last one", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committed(1, { isComplete: true });
    const { isComplete, turnIndex } = await store.readConversation(run.runId, run.stepKey, 0);
    assert.deepEqual({ isComplete, turnIndex }, { isComplete: true, turnIndex: 1 });
    await assertOutOfStep(run, () => run.open(2));
    await assertOutOfStep(run, () => store.commitTurn(run.fence, run.commit(2, { journal: run.journal(2) })));
  }),

  check("the first opening of a step pins its fingerprint, also when it is denied", async ({ store }) => {
    const pinned = { hash: FINGERPRINT, document: FINGERPRINT_DOCUMENT };
    const other = { hash: sha256("other").toString("hex"), document: { prompt: "Other." } };
    const run = await SampleRun.create(store, "run-1", { limit: { tokens: 100, microDollars: null } });
    assert.equal((await store.readConversation(run.runId, run.stepKey, 0)).fingerprint, null);
    assert.equal((await run.open(1, { reserve: { tokens: 101, microDollars: 0 } })).kind, "denied");
    assert.deepEqual((await store.readConversation(run.runId, run.stepKey, 0)).fingerprint, pinned);
    await run.open(1, { fingerprint: other });
    assert.deepEqual((await store.readConversation(run.runId, run.stepKey, 0)).fingerprint, pinned);
    assert.equal((await store.readGranularState(run.runId, "draft"))?.fingerprint, FINGERPRINT);
  }),

  check("each step has turns of its own", async ({ store }) => {
    const run = await SampleRun.create(store);
    const polish = await run.at("polish");
    await run.committed(1);
    await polish.committed(1);
    await run.committed(2, { isComplete: true });
    await polish.committed(2);
    await polish.committed(3);
    assert.deepEqual(
      (await store.listTurns(run.runId)).map(({ stepPath, turnIndex }) => [stepPath, turnIndex]),
      [
        ["draft", 1],
        ["draft", 2],
        ["polish", 1],
        ["polish", 2],
        ["polish", 3],
      ],
    );
  }),

  check("a new owner continues where the last one stopped", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committed(1);
    await run.journaled(2, ["running"]);
    await store.releaseRun(run.fence, FAILED);
    const later = await run.takenOver();
    const { turnIndex, journaled } = await store.readConversation(later.runId, later.stepKey, 1_000);
    assert.deepEqual([turnIndex, journaled?.turnIndex], [1, 2]);
    await later.receipt(2, 1);
    await store.commitTurn(later.fence, later.commit(2));
    await later.committed(3);
    assert.deepEqual(
      (await store.listTurns(run.runId)).map((turn) => [turn.turnIndex, turn.committed]),
      [
        [1, true],
        [2, true],
        [3, true],
      ],
    );
  }),
];
