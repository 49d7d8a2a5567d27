import assert from "node:assert/strict";
import {
  AlreadySettledError,
  ConfigurationError,
  NotJsonError,
  RunNotFoundError,
  WaitNotFoundError,
} from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import type { WaitKind } from "../../../core/wait.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral, rejection } from "../check.ts";
import { foundBy } from "../runs/runs.ts";
import { claimOptions, FAILED, newReceipt, SampleRun, sha256 } from "../sample-run.ts";

const ARGUMENTS = sha256("arguments").toString("hex");
const ANN = { by: "Ann 🙂" };
const people = (at: number) => [{ name: ANN.by, at, authenticated: null }];

/** A run that waits for one answer of each given kind, about as many calls. */
async function asked(
  store: Store,
  kinds: readonly Exclude<WaitKind, "budget">[],
  runId?: string,
): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.journaled(
    1,
    kinds.map((kind) => (kind === "approval" ? "prepared" : "running")),
  );
  await run.waiting(
    ...kinds.map((kind, i) =>
      kind === "approval" ? run.approval(1, i + 1, ARGUMENTS) : run.wait(1, i + 1, { kind }),
    ),
  );
  return run;
}

async function statusOf(run: SampleRun): Promise<string> {
  return (await run.record()).status;
}

export const answerChecks: readonly Check[] = [
  check(
    "an approval is stored with its person and time, and queues the run",
    async ({ store, now, advance }) => {
      const run = await asked(store, ["approval"]);
      const [open] = await run.waits();
      advance(5);
      await store.approve("run-1~1", ANN);
      assert.deepEqual(await run.waits(), [
        {
          ...open,
          status: "answered",
          answeredAt: now(),
          answeredBy: "Ann 🙂",
          people: people(now()),
          answer: { approved: true },
        },
      ]);
      const call = await run.callAt(1, 1);
      assert.deepEqual([call.status, call.receipt], ["prepared", null], "it is for a worker to run it");
      assert.equal(await statusOf(run), "queued");
    },
  ),

  check("a denial is stored with its reason, and queues the run", async ({ store, now, advance }) => {
    const run = await asked(store, ["approval"]);
    advance(5);
    await store.deny("run-1~1", "Too naïve: nobody asked for it.", ANN);
    const [wait] = await run.waits();
    assert.deepEqual(
      [wait?.status, wait?.answeredAt, wait?.answeredBy, wait?.answer],
      ["answered", now(), "Ann 🙂", { approved: false, why: "Too naïve: nobody asked for it." }],
    );
    const call = await run.callAt(1, 1);
    assert.deepEqual([call.status, call.receipt], ["prepared", null], "a worker writes the receipt");
    assert.equal(await statusOf(run), "queued");
  }),

  check("an answer becomes the result of the call that asked for it", async ({ store, now, advance }) => {
    const values: readonly Json[] = [
      "Take the 🙂 one.",
      { colour: "grün", sizes: [1, null] },
      null,
      7,
      false,
      "",
    ];
    for (const [i, value] of values.entries()) {
      const run = await asked(store, ["escalation"], `run-${i}`);
      advance(5);
      await store.answer(`run-${i}~1`, value, ANN);
      const [wait] = await run.waits();
      assert.deepEqual(
        [wait?.status, wait?.answeredAt, wait?.answeredBy, wait?.answer],
        ["answered", now(), "Ann 🙂", { as: "answered", value }],
      );
      const { receipt } = await run.callAt(1, 1);
      assert.deepEqual(
        [receipt?.source, receipt?.uncertain, receipt?.at, receipt?.correlationId, receipt?.duplicateOf],
        ["person", true, now(), null, null],
        "an answer is no settlement: it may have happened",
      );
      const said = typeof value === "string" ? value : JSON.stringify(value);
      const shown = receipt?.output.value;
      assert.ok(typeof shown === "string" && shown.endsWith(said), "the caller sees the answer");
      assert.ok((receipt?.tokens ?? 0) > 0, "it is counted like any other result");
      assert.equal(await statusOf(run), "queued");
    }
  }),

  check("a tool that asked for a person has done nothing before", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.endAttempt(1, 1, { outcome: "needs_human" });
    await run.waiting(run.wait(1, 1, { kind: "escalation" }));
    await store.answer("run-1~1", "Use the other one.");
    assert.equal((await run.callAt(1, 1)).receipt?.uncertain, false);
  }),

  check('an answer without a name is by "somebody"', async ({ store }) => {
    const run = await asked(store, ["approval", "approval", "escalation", "in_doubt"]);
    await store.approve("run-1~1");
    await store.deny("run-1~2", "No.");
    await store.answer("run-1~3", 1);
    await store.settle("run-1/draft#1.4", { as: "retry" });
    assert.deepEqual(
      (await run.waits()).map(({ answeredBy }) => answeredBy),
      Array<string>(4).fill("somebody"),
    );
  }),

  check("only the last answer queues the run", async ({ store }) => {
    const run = await asked(store, ["approval", "escalation", "approval", "in_doubt"]);
    const answers = [
      () => store.deny("run-1~3", "No."),
      () => store.settle("run-1/draft#1.4", { as: "failed", why: "It was refused." }),
      () => store.approve("run-1~1"),
    ];
    for (const answer of answers) {
      await answer();
      assert.equal(await statusOf(run), "waiting");
    }
    await store.answer("run-1~2", "yes");
    assert.equal(await statusOf(run), "queued");
  }),

  check("a queued run can be claimed by any worker", async ({ store }) => {
    const run = await asked(store, ["approval"]);
    const { pipeline, inputHash } = await run.record();
    assert.deepEqual(await foundBy(store, pipeline, inputHash), ["run-1 waiting"]);
    await store.approve("run-1~1");
    assert.deepEqual(await foundBy(store, pipeline, inputHash), ["run-1 queued"]);
    assert.deepEqual(
      (await store.listRuns({ status: "queued" })).map(({ runId }) => runId),
      ["run-1"],
    );
    assert.equal((await store.claimRun(run.runId, claimOptions({ from: ["waiting"] }))).kind, "refused");
    const claimed = await store.claimRun(run.runId, claimOptions({ from: ["queued"] }));
    assert.equal(claimed.kind === "claimed" && claimed.claim.run.status, "running");
    assert.deepEqual(await foundBy(store, pipeline, inputHash), ["run-1 running held"]);
    assert.deepEqual(
      (await run.waits()).map(({ status }) => status),
      ["answered"],
    );
  }),

  check("an answer to another run's question queues that run alone", async ({ store }) => {
    const [mine, theirs] = [
      await asked(store, ["approval"], "mine"),
      await asked(store, ["approval"], "theirs"),
    ];
    await store.approve("theirs~1");
    assert.deepEqual([await statusOf(mine), await statusOf(theirs)], ["waiting", "queued"]);
  }),

  check("an answer does not queue a run that is not waiting for one", async ({ store }) => {
    for (const end of [FAILED, { status: "cancelled", error: null } as const]) {
      const run = await asked(store, ["approval"], end.status);
      const later = await run.takenOver();
      await store.releaseRun(later.fence, end);
      await store.approve(`${end.status}~1`);
      assert.equal(await statusOf(run), end.status);
    }
  }),

  check("each kind of wait accepts only its own kind of answer", async ({ store }) => {
    const run = await asked(store, ["approval", "in_doubt", "escalation"]);
    const wrong = [
      () => store.approve("run-1~2"),
      () => store.approve("run-1~3"),
      () => store.deny("run-1~2", "No."),
      () => store.deny("run-1~3", "No."),
      () => store.answer("run-1~1", "yes"),
      () => store.answer("run-1~2", "yes"),
    ];
    for (const attempt of wrong) await assertRefused(store, run.runId, attempt, ConfigurationError);
    await assertRefused(
      store,
      run.runId,
      () => store.settle("run-1/draft#1.1", { as: "retry" }),
      AlreadySettledError,
    );
  }),

  check("an id of no wait answers nothing", async ({ store }) => {
    const run = await asked(store, ["approval", "escalation"]);
    const ids = ["", "1", "~1", "run-1", "run-1~", "run-1~0", "run-1~3", "run-1~01", "run-1~1.0", "run-1~-1"];
    for (const waitId of [...ids, "nobody~1", "run-1/draft#1.1", " run-1~1", "run-1~1 ", "run-1~99999999999"])
      for (const attempt of [
        () => store.approve(waitId),
        () => store.deny(waitId, "No."),
        () => store.answer(waitId, 1),
      ]) {
        const error = await assertRefused(store, run.runId, attempt, WaitNotFoundError);
        assert.deepEqual(WaitNotFoundError.isInstance(error) && error.details, { waitId });
      }
  }),

  check("a wait is answered once, and the first answer stays", async ({ store }) => {
    const run = await asked(store, ["approval", "approval", "escalation"]);
    await store.approve("run-1~1", ANN);
    await store.deny("run-1~2", "No.", ANN);
    await store.answer("run-1~3", "yes", ANN);
    for (const waitId of ["run-1~1", "run-1~2", "run-1~3"])
      for (const attempt of [
        () => store.approve(waitId),
        () => store.deny(waitId, "Yes."),
        () => store.answer(waitId, "no"),
      ]) {
        const error = await assertRefused(store, run.runId, attempt, AlreadySettledError);
        assert.deepEqual(AlreadySettledError.isInstance(error) && error.details, {
          id: waitId,
          status: "answered",
        });
      }
  }),

  check("a withdrawn wait accepts no answer", async ({ store }) => {
    let run = await asked(store, ["approval"]);
    run = await run.takenOver();
    await run.waiting(run.approval(1, 1, sha256("other").toString("hex")));
    const error = await assertRefused(store, run.runId, () => store.approve("run-1~1"), AlreadySettledError);
    assert.deepEqual(AlreadySettledError.isInstance(error) && error.details, {
      id: "run-1~1",
      status: "withdrawn",
    });
  }),

  check("the first of two answers in one tick is kept", async ({ store }) => {
    const run = await asked(store, ["approval"]);
    const outcomes = await Promise.allSettled([
      store.deny("run-1~1", "No.", { by: "Ann" }),
      store.approve("run-1~1", { by: "Bob" }),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
    assert.deepEqual(
      (await run.waits()).map(({ answeredBy }) => answeredBy),
      ["Ann"],
    );
  }),

  check("a denial without a reason is refused, and so is an answer that is not JSON", async ({ store }) => {
    const run = await asked(store, ["approval", "escalation"]);
    for (const why of ["", "  \n", undefined as never, 7 as never])
      await assertRefused(store, run.runId, () => store.deny("run-1~1", why), ConfigurationError);
    for (const value of [undefined, Number.NaN, { a: () => 1 }, "\ud800"])
      await assertRefused(store, run.runId, () => store.answer("run-1~2", value as never), NotJsonError);
    await store.deny("run-1~1", "No.");
    await store.answer("run-1~2", "yes");
  }),

  check("the waits of a run that does not exist are not listed", async ({ store }) => {
    for (const read of [
      () => store.listWaits("nobody"),
      () => store.listToolCallAttempts("nobody"),
      () => store.verify("nobody"),
    ]) {
      assert.ok(RunNotFoundError.isInstance(await rejection(read())));
    }
  }),

  checkSeveral(
    "a person can answer through another store while a worker holds the run, and the worker continues",
    async ({ store, openAnother }) => {
      const run = await asked(store, ["approval", "escalation", "in_doubt", "approval"]);
      const people = await openAnother();
      const worker = await run.takenOver();
      const answers = [
        () => people.approve("run-1~1", ANN),
        () => people.answer("run-1~2", "yes", ANN),
        () => people.settle("run-1/draft#1.3", { as: "succeeded", result: 3 }, ANN),
        () => people.deny("run-1~4", "No.", ANN),
      ];
      for (const answer of answers) {
        await store.renewLease(worker.fence, 30_000);
        await answer();
        const { status, owner } = await run.record();
        assert.equal(status, "running", "the worker keeps the run");
        assert.ok(owner !== null);
      }
      await worker.startApproved(1, 1, ARGUMENTS);
      const receipts = [newReceipt(1), newReceipt(4, { status: "cancelled" })];
      await store.commitTurn(worker.fence, worker.commit(1, { receipts }));
      assert.deepEqual(
        (await people.listToolCalls(run.runId)).map(({ receipt }) => receipt?.source),
        ["tool", "person", "person", "tool"],
      );
      assert.deepEqual(await people.listWaits(run.runId), await store.listWaits(run.runId));
    },
  ),

  checkSeveral("one of several answers from several processes at once wins", async (scene) => {
    const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
    for (let i = 0; i < 5; i++) {
      const run = await asked(scene.store, ["approval"], `run-${i}`);
      const outcomes = await Promise.allSettled(
        stores.map((store, n) => store.approve(`run-${i}~1`, { by: `person ${n}` })),
      );
      const winners = outcomes.flatMap(({ status }, n) => (status === "fulfilled" ? [`person ${n}`] : []));
      assert.deepEqual(
        (await run.waits()).map(({ answeredBy }) => answeredBy),
        winners,
      );
      assert.equal(winners.length, 1);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") assert.ok(AlreadySettledError.isInstance(outcome.reason));
    }
  }),
];
