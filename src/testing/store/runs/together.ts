import assert from "node:assert/strict";
import {
  LeaseLostError,
  ResumeError,
  RunNotFoundError,
  StoreUnavailableError,
} from "../../../core/errors.ts";
import type { Fence } from "../../../store/store.ts";
import { type Check, check, checkSeveral, rejection } from "../check.ts";
import { newRun, newStep, SampleRun, SUCCEEDED } from "../sample-run.ts";

export const togetherChecks: readonly Check[] = [
  check("intents of one tick run in order, each seeing the ones before it", async ({ store }) => {
    const run = await SampleRun.create(store);
    const { fence } = run;
    const [opened, , committed, reopened] = await Promise.all([
      run.open(1),
      store.journalResponse(fence, run.journal(1)),
      store.commitTurn(fence, run.commit(1, { next: run.opening(2) })),
      store.commitTurn(fence, run.commit(2, { journal: run.journal(2), next: run.opening(3) })),
    ]);
    assert.equal(opened.kind, "opened");
    assert.equal(committed.next?.kind, "opened");
    assert.equal(reopened.next?.kind, "opened");
    assert.equal((await store.readConversation(run.runId, run.stepKey, 0)).turnIndex, 2);
  }),

  check(
    "each intent of a tick has an outcome of its own: a refused one does not fail the others",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      const stale: Fence = { runId: run.runId, epoch: 99 };
      const outcomes = await Promise.allSettled([
        store.createRun(newRun("other")),
        store.beginStep(stale, newStep("stale")),
        run.open(1),
        run.open(3),
        store.renewLease({ runId: "nobody", epoch: 1 }, 1),
        store.createRun(newRun("other")),
        store.beginStep(run.fence, newStep("polish")),
        store.finishStep(run.fence, { stepKey: -1, output: null, context: null }),
        store.claimRun("other", { leaseMs: 1, from: ["running"] }),
      ]);
      const reasons = outcomes.map((outcome) =>
        outcome.status === "rejected" ? (outcome.reason as unknown) : null,
      );
      assert.deepEqual(
        reasons.map((reason) => reason === null),
        [true, false, true, false, false, true, true, false, true],
      );
      assert.ok(LeaseLostError.isInstance(reasons[1]));
      assert.ok(ResumeError.isInstance(reasons[3]));
      assert.ok(RunNotFoundError.isInstance(reasons[4]));
      const kinds = outcomes.map((outcome) =>
        outcome.status === "fulfilled" && outcome.value !== undefined && "kind" in outcome.value
          ? outcome.value.kind
          : null,
      );
      assert.deepEqual([kinds[0], kinds[2], kinds[5], kinds[8]], ["created", "opened", "exists", "busy"]);
      assert.deepEqual(
        (await store.listSteps(run.runId)).map(({ path }) => path),
        ["draft", "polish"],
      );
    },
  ),

  check("the first of equal ids created in one tick wins", async ({ store }) => {
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        store.createRun(newRun(`run-${i % 20}`, { entrypoint: String(i) })),
      ),
    );
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      outcomes.map((_, i) => (i < 20 ? "created" : "exists")),
    );
    const runs = await store.listRuns();
    assert.deepEqual(new Set(runs.map(({ entrypoint }) => Number(entrypoint))), new Set(Array(20).keys()));
  }),

  check("many runs work side by side, each as if it were alone", async ({ store }) => {
    const work = async (runId: string, turns: number) => {
      const run = await SampleRun.create(store, runId);
      for (let turn = 1; turn <= turns; turn++) {
        if (turn % 2 === 0) await run.committedWithCall(turn);
        else await run.committed(turn);
      }
      await store.finishStep(run.fence, { stepKey: run.stepKey, output: runId, context: null });
      await store.releaseRun(run.fence, SUCCEEDED);
    };
    const lengths = Array.from({ length: 25 }, (_, i) => 1 + (i % 7));
    await Promise.all(lengths.map((turns, i) => work(`run-${i}`, turns)));
    for (const [i, turns] of lengths.entries()) {
      const runId = `run-${i}`;
      const run = await store.getRun(runId);
      assert.deepEqual(
        [run?.status, run?.charged.tokens, run?.reserved.tokens],
        ["succeeded", 30 * turns, 0],
      );
      assert.deepEqual(
        (await store.listTurns(runId)).map(({ turnIndex }) => turnIndex),
        Array.from({ length: turns }, (_, t) => t + 1),
      );
      assert.equal((await store.listToolCalls(runId)).length, Math.floor(turns / 2));
    }
  }),

  checkSeveral("several processes write at once, and nothing is lost", async (scene) => {
    const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
    await Promise.all(
      stores.map(async (store, i) => {
        const run = await SampleRun.create(store, `run-${i}`);
        for (let turn = 1; turn <= 10; turn++) await run.committedWithCall(turn);
      }),
    );
    for (let i = 0; i < stores.length; i++) {
      const state = await scene.store.readGranularState(`run-${i}`, "draft");
      assert.deepEqual([state?.turnIndex, state?.history.length], [10, 22]);
    }
  }),

  check("closing performs earlier intents, and refuses later ones", async ({ store }) => {
    const pending = Array.from({ length: 10 }, (_, i) => store.createRun(newRun(`run-${i}`)));
    const refused = rejection(store.renewLease({ runId: "nobody", epoch: 1 }, 1));
    const closed = store.close();
    const outcomes = await Promise.all(pending);
    assert.ok(RunNotFoundError.isInstance(await refused));
    await closed;
    assert.deepEqual(new Set(outcomes.map(({ kind }) => kind)), new Set(["created"]));
    for (const ask of [
      () => store.createRun(newRun("late")),
      () => store.getRun("run-1"),
      () => store.listRuns(),
    ]) {
      const error = await rejection(ask());
      assert.ok(StoreUnavailableError.isInstance(error));
      assert.equal(error.details.reason, "closed");
    }
    await store.close();
  }),
];
