import assert from "node:assert/strict";
import { ConfigurationError, ResumeError } from "../../../core/errors.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { readEverything } from "../everything.ts";
import { CHARGE, LEASE_MS, limited, newReceipt, SampleRun, sha256 } from "../sample-run.ts";
import { milestoneTurn } from "../sample-session.ts";

const ARGUMENTS = sha256("arguments").toString("hex");

function drop(run: SampleRun, turnIndex: number): Promise<void> {
  return run.store.dropTurn(run.fence, { stepKey: run.stepKey, turnIndex });
}

/** A run whose second turn has a response with calls that were not dispatched. */
async function answered(store: Store, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.committedWithCall(1);
  await run.journaled(2, ["prepared", "prepared"]);
  return run;
}

/** Answers the second turn of such a run again. */
async function answeredAgain(run: SampleRun, attempt: number): Promise<void> {
  const opened = await run.open(2);
  assert.equal(opened.kind === "opened" && opened.attempt, attempt);
  await run.store.journalResponse(run.fence, run.journal(2, ["prepared", "prepared"], { attempt }));
}

export const droppedTurnChecks: readonly Check[] = [
  check("a dropped turn has no response and no calls", async (scene) => {
    const { store } = scene;
    const run = await answered(store);
    await drop(run, 2);
    const conversation = await store.readConversation(run.runId, run.stepKey, 1_000);
    assert.deepEqual([conversation.turnIndex, conversation.journaled], [1, null]);
    assert.deepEqual([conversation.messages, conversation.tokens], [2, 17]);
    assert.deepEqual(
      (await store.listTurns(run.runId)).map(({ turnIndex }) => turnIndex),
      [1],
    );
    assert.deepEqual(
      (await store.listToolCalls(run.runId)).map(({ toolCallId }) => toolCallId),
      ["run-1/draft#1.1"],
    );
    assert.equal(await store.getToolCall("run-1/draft#2.1"), null);
    assert.equal(await store.hasToolCall(run.runId, run.callKey(2, 1)), false);
    assert.deepEqual(await store.countWork(run.runId), { steps: 1, toolCalls: 1 });
    const { type, data } = await run.lastEvent();
    assert.deepEqual([type, data], ["turn.dropped", { step: "draft", turn: 2, calls: 2 }]);
    await assertRefused(store, run.runId, () => run.start(2, 1));
    await assertRefused(store, run.runId, () => run.receipt(2, 1, { status: "cancelled" }));
    const receipts = [1, 2].map((n) => newReceipt(n, { status: "cancelled" }));
    await assertRefused(store, run.runId, () => store.commitTurn(run.fence, run.commit(2, { receipts })));
  }),

  check("the cost of a dropped response stays charged", async ({ store, now }) => {
    const run = await answered(store);
    const before = { usage: await store.readUsage(run.runId), charged: (await run.record()).charged };
    const calls = await store.listModelCalls(run.runId);
    await drop(run, 2);
    assert.deepEqual(
      { usage: await store.readUsage(run.runId), charged: (await run.record()).charged },
      before,
    );
    assert.deepEqual(await store.listModelCalls(run.runId), calls);
    assert.deepEqual([calls[1]?.turnIndex, calls[1]?.charge, calls[1]?.settledAt], [2, CHARGE, now()]);
    assert.equal((await run.record()).reserved.tokens, 0);
  }),

  check("the model is asked again, and the attempt numbers continue", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committedWithCall(1);
    await run.open(2);
    const failed = { stepKey: run.stepKey, turnIndex: 2, attempt: 1, charge: CHARGE };
    await store.settleModelCall(run.fence, failed);
    await answeredAgain(run, 2);
    await drop(run, 2);
    await answeredAgain(run, 3);
    await drop(run, 2);
    await answeredAgain(run, 4);
    assert.deepEqual(
      (await store.listModelCalls(run.runId)).map(({ turnIndex, attempt }) => [turnIndex, attempt]),
      [
        [1, 1],
        [2, 1],
        [2, 2],
        [2, 3],
        [2, 4],
      ],
    );
    assert.equal((await run.record()).charged.tokens, 5 * CHARGE.amount.tokens);
    await run.start(2, 1, 2);
    const receipts = [newReceipt(1), newReceipt(2)];
    await store.commitTurn(run.fence, run.commit(2, { receipts, isComplete: true }));
  }),

  check("the calls of the new response may be those of the old one", async ({ store }) => {
    const run = await answered(store);
    await drop(run, 2);
    await answeredAgain(run, 2);
    const call = await store.findToolCall(run.runId, run.callKey(2, 1));
    assert.deepEqual([call?.toolCallId, call?.status, call?.attempt], ["run-1/draft#2.1", "prepared", 0]);
    assert.equal((await store.listToolCalls(run.runId)).length, 3);
    await run.start(2, 1);
    await run.receipt(2, 1);
    assert.equal((await run.callAt(2, 1)).receipt?.status, "succeeded");
  }),

  check("charged amounts cannot be reserved again", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", limited(120));
    await run.journaled(1, ["prepared"]);
    await drop(run, 1);
    const denied = await run.open(1);
    assert.deepEqual(denied, { kind: "denied", unit: "tokens", wanted: 100, remaining: 90 });
  }),

  check("a response without calls is dropped like any other", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1);
    await drop(run, 1);
    assert.deepEqual(await store.listTurns(run.runId), []);
    await assertRefused(store, run.runId, () => store.commitTurn(run.fence, run.commit(1)));
    await run.open(1);
    const commit = run.commit(1, { journal: run.journal(1, [], { attempt: 2 }) });
    await store.commitTurn(run.fence, commit);
  }),

  check(
    "a turn that was opened in the previous commit can be dropped and opened on its own",
    async (scene) => {
      const { store } = scene;
      const run = await SampleRun.create(store);
      await run.open(1);
      await store.commitTurn(run.fence, run.commit(1, { journal: run.journal(1), next: run.opening(2) }));
      await store.journalResponse(run.fence, run.journal(2, ["prepared"]));
      await drop(run, 2);
      await answeredAgain(run, 2);
    },
  ),

  check("a turn is not dropped once one of its calls was dispatched", async ({ store }) => {
    const run = await answered(store);
    await run.start(2, 2);
    await assertRefused(store, run.runId, () => drop(run, 2), ConfigurationError);
    await run.endAttempt(2, 2, { inDoubt: false });
    await assertRefused(store, run.runId, () => drop(run, 2), ConfigurationError);
    await run.start(2, 2);
    await run.receipt(2, 2);
    await assertRefused(store, run.runId, () => drop(run, 2), ConfigurationError);
  }),

  check("a turn is not dropped while one of its calls is in doubt", async ({ store, advance }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["prepared", "running"]);
    advance(LEASE_MS);
    run = await run.takenOver();
    await assertRefused(store, run.runId, () => drop(run, 1), ConfigurationError);
  }),

  ...(["cancelled", "deduplicated"] as const).map((status) =>
    check(`a turn is not dropped once one of its calls is ${status}`, async ({ store }) => {
      const run = await answered(store);
      await run.receipt(2, 1, { status, source: "pawl" });
      await assertRefused(store, run.runId, () => drop(run, 2), ConfigurationError);
    }),
  ),

  check("only the turn that was answered last can be dropped", async ({ store }) => {
    const run = await SampleRun.create(store);
    await assertRefused(store, run.runId, () => drop(run, 1));
    await run.open(1);
    await assertRefused(store, run.runId, () => drop(run, 1), ConfigurationError);
    await store.commitTurn(run.fence, run.commit(1, { journal: run.journal(1) }));
    const late = await assertRefused(store, run.runId, () => drop(run, 1), ResumeError);
    assert.ok(ResumeError.isInstance(late) && late.recoverable, "reloading helps");
    await run.journaled(2, ["prepared"]);
    for (const turn of [1, 3, 0, -1]) await assertRefused(store, run.runId, () => drop(run, turn));
    await drop(run, 2);
    await assertRefused(store, run.runId, () => drop(run, 2), ConfigurationError);
  }),

  check("open waits about its calls are withdrawn", async ({ store, now, advance }) => {
    let run = await answered(store);
    await run.waiting(run.approval(2, 1, ARGUMENTS), run.approval(2, 2, ARGUMENTS));
    await store.approve("run-1~2", { by: "Ann" });
    run = await run.takenOver();
    advance(5);
    await drop(run, 2);
    const waits = await run.waits();
    assert.deepEqual(
      waits.map(({ status, answeredAt, answeredBy, toolCallId }) => [
        status,
        answeredAt,
        answeredBy,
        toolCallId,
      ]),
      [
        ["withdrawn", now(), null, null],
        ["answered", now() - 5, "Ann", null],
      ],
      "the calls that they are about are no more",
    );
    assert.deepEqual(await store.listOpenWaits(), []);
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  check("an approval of a dropped call lets no other call run", async ({ store }) => {
    let run = await answered(store);
    await run.waiting(run.approval(2, 1, ARGUMENTS));
    await store.approve("run-1~1");
    run = await run.takenOver();
    await drop(run, 2);
    await answeredAgain(run, 2);
    await assertRefused(store, run.runId, () => run.startApproved(2, 1, ARGUMENTS));
    await run.waiting(run.approval(2, 1, ARGUMENTS));
    assert.equal((await run.waits()).at(-1)?.status, "open", "it is asked about again");
    await store.approve("run-1~2");
    await (await run.takenOver()).startApproved(2, 1, ARGUMENTS);
  }),

  check("other turns, steps and runs are unchanged", async ({ store }) => {
    const run = await answered(store);
    const polish = await run.at("polish");
    await polish.journaled(1, ["prepared"]);
    const other = await answered(store, "run-2");
    await other.waiting(other.approval(2, 1, ARGUMENTS));
    const theirs = await readEverything(store, other.runId);
    const [first] = await store.listTurns(run.runId);
    await drop(run, 2);
    assert.deepEqual(await readEverything(store, other.runId), theirs);
    const turns = await store.listTurns(run.runId);
    assert.deepEqual(
      turns.map(({ stepPath, turnIndex }) => [stepPath, turnIndex]),
      [
        ["draft", 1],
        ["polish", 1],
      ],
    );
    assert.deepEqual(turns[0], first);
    await polish.start(1, 1);
    await store.commitTurn(polish.fence, polish.commit(1, { receipts: [newReceipt(1)] }));
  }),

  check("the session and its checkpoints are unchanged", async ({ store }) => {
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    await run.open(2);
    const checkpoint = { type: "pre_side_effect", snapshot: { turn: 2 }, cursor: {} } as const;
    await store.journalResponse(run.fence, { ...run.journal(2, ["prepared"]), checkpoint });
    const before = await store.listCheckpoints(run.runId);
    assert.equal(before.length, 2);
    await drop(run, 2);
    assert.deepEqual(await store.listCheckpoints(run.runId), before);
    assert.deepEqual((await store.readCheckpoint(run.runId))?.snapshot, { turn: 1 });
  }),

  checkSeveral("a turn dropped by one worker is gone for the next", async (scene) => {
    const run = await answered(scene.store);
    const other = await scene.openAnother();
    assert.equal((await other.readConversation(run.runId, run.stepKey, 0)).journaled?.turnIndex, 2);
    await drop(run, 2);
    assert.equal((await other.readConversation(run.runId, run.stepKey, 0)).journaled, null);
    await scene.fallSilent(LEASE_MS);
    const later = await run.takenOver(other);
    await answeredAgain(later, 2);
    await later.start(2, 1, 2);
    const receipts = [newReceipt(1), newReceipt(2)];
    await other.commitTurn(later.fence, later.commit(2, { receipts }));
    await scene.fallSilent(LEASE_MS);
    const last = await later.takenOver(scene.store);
    await last.committed(3);
  }),
];
