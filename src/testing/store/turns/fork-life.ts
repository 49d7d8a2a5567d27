import assert from "node:assert/strict";
import { ConfigurationError, RunBusyError, RunNotFoundError } from "../../../core/errors.ts";
import type { NewFork, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { readEverything } from "../everything.ts";
import { newSpec } from "../sample-contract.ts";
import {
  claimedAt,
  finishedCode,
  forked,
  keyedCall,
  keyedCodeCall,
  keyedTurn,
  newFork,
} from "../sample-fork.ts";
import { claimOptions, FAILED, LEASE_MS, newReceipt, SampleRun, SUCCEEDED, sha256 } from "../sample-run.ts";
import { NEW_FINGERPRINT, startLineage, wholeSlice } from "../sample-session.ts";

const MINUTE_MS = 60_000;

/** A run with two committed turns and no worker. */
async function twoTurns(store: Store, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await keyedTurn(run, 1);
  await keyedTurn(run, 2);
  await store.releaseRun(run.fence, FAILED);
  return run;
}

/** Asserts a refusal that creates and changes nothing. */
async function assertNoFork(
  store: Store,
  fork: NewFork,
  expected: Parameters<typeof assertRefused>[3],
): Promise<unknown> {
  const runs = (await store.listRuns()).length;
  const error = await assertRefused(store, fork.parent, () => store.forkRun(fork), expected);
  assert.equal((await store.listRuns()).length, runs, "no run is left behind");
  return error;
}

export const forkLifeChecks: readonly Check[] = [
  check("no worker takes a fork before a person has it resumed", async ({ store, advance }) => {
    await store.forkRun(newFork(await twoTurns(store), 1));
    const ready = () => store.listReady({ pipelines: ["report"], queues: ["default"], limit: 9 });
    const workers = claimOptions({ from: ["queued", "running"], onlyIfReady: true });
    advance(MINUTE_MS);
    assert.deepEqual([await ready(), await store.countReady()], [[], []]);
    assert.equal((await store.claimRun("fork", workers)).kind, "refused");
    assert.equal((await store.getRun("fork"))?.readyAt, null);
    assert.equal((await store.requestResume("fork", {}, { by: "ann" })).kind, "requested");
    assert.deepEqual(
      (await ready()).map(({ runId }) => runId),
      ["fork"],
    );
    assert.equal((await store.claimRun("fork", workers)).kind, "claimed");
  }),

  check(
    "a fork that its own process resumes is claimed without a request, and is ready once it is given up",
    async ({ store }) => {
      await store.forkRun(newFork(await twoTurns(store), 1));
      const { fence } = await claimedAt(store, "fork");
      await store.releaseRun(fence, { status: "queued" });
      assert.notEqual((await store.getRun("fork"))?.readyAt, null);
    },
  ),

  check(
    "a fork is found by the metadata of its parent, and tools get the same context",
    async ({ store }) => {
      const place = {
        metadata: { tenant: "acme", tags: ["a", "b"] },
        callContext: { customer: 7 },
        queue: "mail",
      };
      const run = await SampleRun.create(store, "run-1", { ...place, address: "invoice:7" });
      await keyedTurn(run, 1);
      await store.releaseRun(run.fence, FAILED);
      await store.forkRun(newFork(run, 1));
      const fork = await store.getRun("fork");
      assert.ok(fork !== null);
      const { metadata, callContext, queue } = fork;
      assert.deepEqual({ metadata, callContext, queue }, place);
      const found = await store.listRuns({ metadata: { tags: "b" } });
      assert.deepEqual(found.map(({ runId }) => runId).sort(), ["fork", "run-1"]);
      assert.equal(await store.findAddress("invoice:7"), "run-1", "messages still reach the parent");
    },
  ),

  check("a fork continues at the next turn, with the first agent it is given", async ({ store }) => {
    const run = await twoTurns(store);
    await forked(store, newFork(run, 1));
    const fork = await claimedAt(store, "fork");
    assert.equal(fork.fence.epoch > 0, true);
    const pinned = async () => (await store.readConversation(fork.runId, fork.stepKey, 0)).fingerprint;
    assert.equal(await pinned(), null);
    const opened = await fork.open(2, { fingerprint: NEW_FINGERPRINT });
    assert.equal(opened.kind === "opened" && opened.attempt, 1);
    assert.deepEqual(await pinned(), NEW_FINGERPRINT);
    await store.commitTurn(fork.fence, fork.commit(2, { journal: fork.journal(2) }));
    await fork.open(3);
    assert.deepEqual(await pinned(), NEW_FINGERPRINT, "it is pinned once");
    const last = fork.commit(3, { journal: fork.journal(3), isComplete: true });
    await store.commitTurn(fork.fence, last);
    const history = await store.readHistory("fork", "draft");
    assert.deepEqual(history[0], { role: "system", content: "You are bold." });
    assert.deepEqual(
      history.slice(2).map(({ role }) => role),
      ["assistant", "tool", "assistant", "assistant"],
    );
    await store.finishStep(fork.fence, { stepKey: fork.stepKey, output: "forked", context: null });
    await store.releaseRun(fork.fence, SUCCEEDED);
    const { status, charged, epoch } = await fork.record();
    assert.deepEqual([status, charged.tokens, epoch], ["succeeded", 60, fork.fence.epoch]);
    assert.equal((await run.record()).status, "failed");
  }),

  check(
    "the history of a fork can be read before an agent opens it, without its first messages",
    async (scene) => {
      const { store } = scene;
      const run = await SampleRun.create(store);
      await keyedTurn(run, 1);
      await keyedTurn(run, 2, [], { isComplete: true });
      await store.releaseRun(run.fence, FAILED);
      const theirs = await store.readHistory("run-1", "draft");
      assert.equal(theirs.length, 5);
      for (const [turnIndex, messages] of [
        [1, 2],
        [2, 3],
      ] as const) {
        const runId = `fork-${turnIndex}`;
        await forked(store, newFork(run, turnIndex, { runId }));
        const history = theirs.slice(2, 2 + messages);
        assert.deepEqual(await store.readHistory(runId, "draft"), history);
        assert.deepEqual(await store.readGranularState(runId, "draft"), {
          turnIndex,
          history,
          isComplete: turnIndex === 2,
          finalOutput: null,
          fingerprint: "",
        });
      }
    },
  ),

  check("a fork that was never opened can accept another agent", async ({ store }) => {
    const run = await twoTurns(store);
    await forked(store, newFork(run, 2));
    const fork = await claimedAt(store, "fork");
    const { stepKey } = fork;
    await store.acceptDivergence(fork.fence, { stepKey, fingerprint: NEW_FINGERPRINT, why: "Bolder." });
    await fork.open(3);
    const { fingerprint } = await store.readConversation("fork", stepKey, 0);
    assert.deepEqual(fingerprint, NEW_FINGERPRINT);
  }),

  check("parent and fork continue independently", async ({ store }) => {
    const run = await twoTurns(store);
    await forked(store, newFork(run, 1));
    const [first, fork] = [await claimedAt(store, "run-1"), await claimedAt(store, "fork")];
    await keyedTurn(fork, 2, [newReceipt(1, { correlationId: "of the fork" })]);
    await keyedTurn(first, 3);
    await keyedTurn(fork, 3);
    const ids = async (runId: string) =>
      (await store.listToolCalls(runId)).map(({ toolCallId, receipt }) => [
        toolCallId,
        receipt?.correlationId ?? null,
      ]);
    assert.deepEqual(await ids("run-1"), [
      ["run-1/draft#1.1", null],
      ["run-1/draft#2.1", null],
      ["run-1/draft#3.1", null],
    ]);
    assert.deepEqual(await ids("fork"), [
      ["fork/draft#1.1", null],
      ["fork/draft#2.1", "of the fork"],
      ["fork/draft#3.1", null],
    ]);
    const before = await readEverything(store, "run-1");
    await store.releaseRun(fork.fence, SUCCEEDED);
    assert.deepEqual(await readEverything(store, "run-1"), before);
  }),

  check("a fork can be forked like any other run", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    const duplicateOf = "run-1/draft#1.1";
    await keyedTurn(run, 2, [newReceipt(1, { status: "deduplicated", source: "pawl", duplicateOf })]);
    await store.releaseRun(run.fence, FAILED);
    await forked(store, newFork(run, 2));
    await forked(store, newFork(run, 1, { parent: "fork", runId: "early" }));
    const fork = await claimedAt(store, "fork");
    await keyedTurn(fork, 3);
    await store.releaseRun(fork.fence, FAILED);
    await forked(store, newFork(fork, 3, { runId: "late" }));
    assert.deepEqual(
      [(await store.getRun("early"))?.forkedFrom, (await store.getRun("late"))?.forkedFrom],
      [1, 3].map((turnIndex) => ({
        runId: "fork",
        stepPath: "draft",
        turnIndex,
        firstRunId: "run-1",
        steps: 1,
        toolCalls: turnIndex,
      })),
    );
    const calls = await store.listToolCalls("late");
    assert.deepEqual(
      calls.map(({ toolCallId, receipt }) => [toolCallId, receipt?.duplicateOf]),
      [
        ["late/draft#1.1", null],
        ["late/draft#2.1", "late/draft#1.1"],
        ["late/draft#3.1", null],
      ],
    );
    const keys = (await Promise.all(["run-1", "fork", "early", "late"].map((id) => store.listToolCalls(id))))
      .flat()
      .map(({ idempotencyKey }) => idempotencyKey);
    assert.equal(new Set(keys).size, 2 + 3 + 1 + 3);
  }),

  check("one turn can be forked any number of times", async ({ store }) => {
    const run = await twoTurns(store);
    for (const runId of ["a", "b", "c"]) await forked(store, newFork(run, 2, { runId }));
    for (const runId of ["a", "b", "c"]) await keyedTurn(await claimedAt(store, runId), 3);
    assert.equal((await store.listRuns()).length, 4);
  }),

  check(
    "its budgets are the current ones of the parent, and its time starts",
    async ({ store, now, advance }) => {
      const spec = newSpec({ maxWallclockMinutes: 10, maxTokens: 500, maxSteps: 3 });
      let run = await SampleRun.create(store, "run-1", { spec });
      await keyedTurn(run, 1);
      await store.releaseRun(run.fence, FAILED);
      run = await run.takenOver(store, { budgets: { maxSteps: 7, maxTokens: 900, maxWallclockMinutes: 20 } });
      await store.releaseRun(run.fence, FAILED);
      advance(30 * MINUTE_MS);
      await forked(store, newFork(run, 1));
      const fork = await store.getRun("fork");
      const { budgets, limit } = await run.record();
      assert.deepEqual([fork?.spec, fork?.budgets, fork?.limit], [spec, budgets, limit]);
      assert.equal(fork?.budgets?.maxSteps, 7);
      assert.equal(fork?.deadline, now() + 20 * MINUTE_MS);
    },
  ),

  check("open waits of the parent are not copied", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    await run.open(2);
    const calls = [keyedCall(run, 2, 1, { status: "prepared" })];
    await store.journalResponse(run.fence, run.journal(2, ["prepared"], { calls }));
    await run.waiting(run.approval(2, 1, sha256("arguments").toString("hex")));
    await forked(store, newFork(run, 1));
    assert.deepEqual(await store.listWaits("fork"), []);
    assert.equal((await store.getRun("fork"))?.status, "queued");
    assert.equal((await store.listOpenWaits()).length, 1);
  }),

  check("a fork can be cancelled before any worker has claimed it", async ({ store }) => {
    const run = await twoTurns(store);
    await forked(store, newFork(run, 2));
    const outcome = await store.requestCancel("fork");
    assert.deepEqual([outcome.kind, (await store.getRun("fork"))?.status], ["ended", "cancelled"]);
    assert.equal((await run.record()).status, "failed");
  }),

  check("a run is not forked while a worker holds it", async ({ store, advance, now }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    const { owner } = await run.record();
    const error = await assertNoFork(store, newFork(run, 1), RunBusyError);
    assert.ok(RunBusyError.isInstance(error));
    const until = new Date(now() + LEASE_MS).toISOString();
    assert.deepEqual(error.details, { runId: "run-1", owner, until });
    advance(LEASE_MS);
    await forked(store, newFork(run, 1));
    assert.equal((await run.record()).status, "running", "one that fell silent is forked as it stands");
  }),

  check("a run is not forked while a call to be copied has no receipt", async ({ store }) => {
    const run = await SampleRun.create(store);
    const code = await run.at("send", { kind: "run" });
    for (const status of ["running", "prepared"] as const)
      await store.openToolCall(code.fence, keyedCodeCall(code, status === "running" ? 1 : 2, { status }));
    const review = await run.at("review");
    await keyedTurn(review, 1);
    await store.releaseRun(run.fence, FAILED);
    const error = await assertNoFork(store, newFork(review, 1), ConfigurationError);
    assert.match(String(error), /run-1\/send#0\.1/, "it names the call");
    await store.settle("run-1/send#0.1", { as: "succeeded", result: 1 });
    await assertNoFork(store, newFork(review, 1), ConfigurationError);
    const later = await claimedAt(store, "run-1", "send");
    await later.receipt(0, 2, { status: "cancelled" });
    await store.releaseRun(later.fence, FAILED);
    await forked(store, newFork(review, 1));
  }),

  check("a call in doubt in a later turn does not prevent a fork", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    await run.open(2);
    const calls = [keyedCall(run, 2, 1)];
    await store.journalResponse(run.fence, run.journal(2, ["running"], { calls }));
    await finishedCode(run, "send", "sent");
    await store.releaseRun(run.fence, FAILED);
    assert.equal((await run.callAt(2, 1)).status, "in_doubt");
    await forked(store, newFork(run, 1));
    assert.equal((await store.listToolCalls("fork")).length, 1);
  }),

  check("a run is forked at a turn that was committed, and at no other", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    await run.open(2);
    await store.journalResponse(run.fence, run.journal(2));
    await store.releaseRun(run.fence, FAILED);
    for (const turnIndex of [0, 2, 3, -1])
      await assertNoFork(store, newFork(run, turnIndex), ConfigurationError);
    await forked(store, newFork(run, 1));
  }),

  check("a run is not forked at a turn that a rollback has abandoned", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    await keyedTurn(run, 2);
    await startLineage(run);
    await store.releaseRun(run.fence, FAILED);
    for (const turnIndex of [1, 2, 3]) await assertNoFork(store, newFork(run, turnIndex), ConfigurationError);
    const later = await claimedAt(store, "run-1");
    await keyedTurn(later, 3);
    await store.releaseRun(later.fence, FAILED);
    await assertNoFork(store, newFork(run, 2), ConfigurationError);
    await forked(store, newFork(run, 3));
  }),

  check("a run is forked at a step with turns, and at no other", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    await finishedCode(run, "send", "sent");
    await run.at("review");
    await store.releaseRun(run.fence, FAILED);
    for (const stepPath of ["send", "review", "nothing", ""])
      await assertNoFork(store, newFork(run, 1, { stepPath }), ConfigurationError);
  }),

  check("a fork needs a free id and an existing parent", async ({ store }) => {
    const run = await twoTurns(store);
    const other = await twoTurns(store, "other");
    const before = await readEverything(store, other.runId);
    for (const runId of ["run-1", "other"])
      await assertNoFork(store, newFork(run, 1, { runId }), ConfigurationError);
    assert.deepEqual(await readEverything(store, other.runId), before);
    await assertNoFork(store, newFork(run, 1, { parent: "nobody" }), RunNotFoundError);
    await forked(store, newFork(run, 1));
    await assertNoFork(store, newFork(run, 1), ConfigurationError);
  }),

  check("a fork is created whole or not at all", async ({ store }) => {
    const run = await twoTurns(store);
    const slices = [wholeSlice("plan", [1], { length: 0 })];
    await assertNoFork(store, newFork(run, 1, { slices }), undefined);
    assert.equal(await store.hasToolCall(run.runId, sha256("nothing")), false);
    await forked(store, newFork(run, 1));
  }),

  checkSeveral("another process can continue a fork", async (scene) => {
    const other = await scene.openAnother();
    const run = await twoTurns(scene.store);
    await other.forkRun(newFork(run, 2));
    const fork = await claimedAt(scene.store, "fork");
    await keyedTurn(fork, 3);
    assert.equal((await other.claimRun("fork", claimOptions())).kind, "busy");
    assert.deepEqual(await readEverything(other, "fork"), await readEverything(scene.store, "fork"));
  }),

  checkSeveral("one of several forks with the same id at once is created", async (scene) => {
    const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
    const run = await twoTurns(scene.store);
    for (let i = 0; i < 5; i++) {
      const fork = newFork(run, 1, { runId: `fork-${i}` });
      const outcomes = await Promise.allSettled(stores.map((store) => store.forkRun(fork)));
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected", "rejected"]);
    }
    assert.equal((await scene.store.listRuns()).length, 6);
  }),
];
