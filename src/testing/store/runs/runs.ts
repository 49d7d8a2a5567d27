import assert from "node:assert/strict";
import { LeaseLostError, RunNotFoundError } from "../../../core/errors.ts";
import type { RunEnd, StepStatus, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral, rejection } from "../check.ts";
import { readEverything } from "../everything.ts";
import {
  DEFAULT_PLACE,
  FAILED,
  LEASE_MS,
  newRun,
  newStep,
  RESERVE,
  SampleRun,
  SUCCEEDED,
  sha256,
} from "../sample-run.ts";

/** The ways to end a run, each with the resulting status of a running step. */
const ENDS: readonly { readonly end: RunEnd; readonly step: StepStatus }[] = [
  { end: FAILED, step: "failed" },
  { end: { ...FAILED, status: "waiting", waits: [] }, step: "blocked" },
  { end: { status: "cancelled", error: null }, step: "failed" },
  { end: { status: "queued" }, step: "ready" },
];

const READERS: readonly ((store: Store) => Promise<unknown>)[] = [
  (store) => store.readRunInput("nobody"),
  (store) => store.readUsage("nobody"),
  (store) => store.listSteps("nobody"),
  (store) => store.findStep("nobody", "draft"),
  (store) => store.listTurns("nobody"),
  (store) => store.listModelCalls("nobody"),
  (store) => store.listToolCalls("nobody"),
  (store) => store.readHistory("nobody", "draft"),
  (store) => store.readGranularState("nobody", "draft"),
  (store) => store.readBlob("nobody", sha256("blob").toString("hex")),
  (store) => store.listEvents("nobody"),
  (store) => store.isCancelRequested("nobody"),
  (store) => store.listArtifacts("nobody"),
  (store) => store.readArtifact("nobody", "report.txt"),
  (store) => store.countWork("nobody"),
];

export const runChecks: readonly Check[] = [
  checkSeveral("every store on a database has the same key for digests of secrets", async (scene) => {
    const key = Buffer.from(scene.store.redactionKey());
    assert.ok(key.length >= 16);
    assert.ok(key.equals((await scene.openAnother()).redactionKey()));
    assert.ok(key.equals(scene.store.redactionKey()));
  }),

  check("creating a run claims it, and stores it as given", async ({ store, now }) => {
    const run = newRun("run-1", { limit: { tokens: 500, microDollars: null } });
    const created = await store.createRun(run);
    assert.ok(created.kind === "created");
    const { owner, inputHash, ...rest } = created.claim.run;
    assert.equal(typeof owner, "string");
    assert.ok(Buffer.from(inputHash).equals(run.inputHash));
    assert.deepEqual(rest, {
      runId: "run-1",
      pipeline: "report",
      entrypoint: "conformance",
      status: "running",
      createdAt: now(),
      updatedAt: now(),
      currentStep: null,
      epoch: 1,
      leaseUntil: now() + LEASE_MS,
      limit: { tokens: 500, microDollars: null },
      deadline: null,
      spec: null,
      budgets: null,
      cancelRequestedAt: null,
      forkedFrom: null,
      moved: null,
      startedBy: null,
      charged: { tokens: 0, microDollars: 0 },
      reserved: { tokens: 0, microDollars: 0 },
      output: null,
      context: null,
      error: null,
      finalArtifact: null,
      ...DEFAULT_PLACE,
    });
    assert.equal(created.claim.epoch, 1);
    assert.deepEqual(await store.getRun("run-1"), created.claim.run);
  }),

  check("the input and the shape are read back as given", async ({ store }) => {
    const input = {
      z: [1, 2.5, -0.25, 1e21, null, true],
      a: { ü: 'naïve 🙂 \u0000 \u2028 "quoted"', "": {} },
    };
    await store.createRun(newRun("run-1", { input, shape: ["draft", { deep: [[]] }] }));
    const shape = ["draft", { deep: [[]] }];
    assert.deepEqual(await store.readRunInput("run-1"), { input, shape, callContext: null });
  }),

  check("an id that is taken creates nothing", async ({ store }) => {
    await store.createRun(newRun("run-1"));
    const before = await readEverything(store, "run-1");
    const again = await store.createRun(newRun("run-1", { pipeline: "other", input: "other", leaseMs: 1 }));
    assert.deepEqual(again, { kind: "exists" });
    assert.deepEqual(await readEverything(store, "run-1"), before);
    assert.equal((await store.listRuns()).length, 1);
  }),

  check("a budget that is not a whole number is refused, and no run is created", async ({ store }) => {
    for (const tokens of [1.5, -1, Number.NaN])
      await rejection(store.createRun(newRun("run-1", { limit: { tokens, microDollars: null } })));
    assert.equal(await store.getRun("run-1"), null);
    assert.deepEqual(await store.listRuns(), []);
  }),

  check("every read of a run that does not exist reports that", async ({ store }) => {
    await store.createRun(newRun("run-1"));
    assert.equal(await store.getRun("nobody"), null);
    const claim = await store.claimRun("nobody", { leaseMs: 1, from: ["running"] });
    assert.deepEqual(claim, { kind: "not_found" });
    for (const read of READERS) {
      const error = await rejection(read(store));
      assert.ok(RunNotFoundError.isInstance(error), `${String(read)} says that there is no such run`);
      assert.equal(error.details.runId, "nobody");
    }
  }),

  check("a run that succeeded keeps its output and its context", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store);
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: 1, context: null });
    advance(5);
    await store.releaseRun(run.fence, SUCCEEDED);
    const { status, output, context, error, owner, leaseUntil, updatedAt } = await run.record();
    assert.deepEqual(
      { status, output, context, error, owner, leaseUntil, updatedAt },
      { ...SUCCEEDED, error: null, owner: null, leaseUntil: 0, updatedAt: now() },
    );
  }),

  ...ENDS.map(({ end, step }) =>
    check(
      `a run released as ${end.status} leaves its running step ${step} and its finished step unchanged`,
      async ({ store }) => {
        const run = await SampleRun.create(store);
        const second = await run.at("polish");
        await store.finishStep(run.fence, { stepKey: run.stepKey, output: "kept", context: null });
        await store.releaseRun(run.fence, end);
        const { status, output, context, owner, ...ended } = await run.record();
        const error = "error" in end ? end.error : null;
        assert.deepEqual(
          { status, output, context, owner, error: ended.error },
          { status: end.status, output: null, context: null, owner: null, error },
        );
        const [finished, interrupted] = await store.listSteps(run.runId);
        assert.deepEqual([finished?.status, finished?.output], ["succeeded", "kept"]);
        assert.deepEqual(
          [interrupted?.path, interrupted?.status, interrupted?.errorCode, interrupted?.errorDetail],
          [second.step.path, step, error?.code ?? null, error?.message ?? null],
        );
      },
    ),
  ),

  check("releasing returns an open reservation and charges nothing", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    assert.deepEqual((await run.record()).reserved, RESERVE);
    await store.releaseRun(run.fence, FAILED);
    const { reserved, charged } = await run.record();
    assert.deepEqual([reserved.tokens, charged.tokens], [0, 0]);
    const [call, ...others] = await store.listModelCalls(run.runId);
    assert.deepEqual(others, []);
    assert.deepEqual([call?.charge?.basis, call?.charge?.amount.tokens, call?.settledAt], ["none", 0, now()]);
  }),

  check("a released run can be claimed by any worker, with all of its data", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await run.committed(1);
    await run.journaled(2, ["running", "prepared"]);
    const { pipeline, inputHash, charged } = await run.record();
    await store.releaseRun(run.fence, { status: "queued" });
    const left = await run.record();
    assert.deepEqual([left.status, left.owner, left.error, left.charged], ["queued", null, null, charged]);
    assert.deepEqual(await foundBy(store, pipeline, inputHash), ["run-1 queued"]);
    const [attempt] = await store.listAttempts(run.runId);
    assert.deepEqual([attempt?.endStatus, attempt?.endedAt], ["queued", now()]);
    const later = await run.takenOver(store, { from: ["queued"] });
    assert.equal((await later.callAt(2, 1)).status, "in_doubt", "a running call is in doubt");
    assert.deepEqual(await store.beginStep(later.fence, newStep("draft")), run.step);
    await later.start(2, 2);
  }),

  check("claiming a failed run clears its error and leaves the rest", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committed(1);
    await store.releaseRun(run.fence, FAILED);
    const later = await run.takenOver();
    const { status, error, currentStep, epoch } = await later.record();
    assert.deepEqual(
      { status, error, currentStep, epoch },
      { status: "running", error: null, currentStep: "draft", epoch: 2 },
    );
    assert.equal((await store.listTurns(run.runId)).length, 1);
  }),

  check("a run is released once", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, SUCCEEDED);
    await assertRefused(store, run.runId, () => store.releaseRun(run.fence, FAILED));
  }),

  check("runs are listed newest first, by status, by pipeline, up to a limit", async ({ store, advance }) => {
    await store.createRun(newRun("a"));
    advance(1);
    await store.createRun(newRun("b", { pipeline: "other" }));
    advance(1);
    await store.createRun(newRun("c"));
    await store.releaseRun({ runId: "c", epoch: 1 }, SUCCEEDED);
    const ids = async (filter: Parameters<Store["listRuns"]>[0]) =>
      (await store.listRuns(filter)).map((run) => run.runId);
    assert.deepEqual(await ids(undefined), ["c", "b", "a"]);
    assert.deepEqual(await ids({ status: "running" }), ["b", "a"]);
    assert.deepEqual(await ids({ pipeline: "report" }), ["c", "a"]);
    assert.deepEqual(await ids({ pipeline: "report", status: "running" }), ["a"]);
    assert.deepEqual(await ids({ limit: 2 }), ["c", "b"]);
    assert.deepEqual(await ids({ status: "cancelled" }), []);
    assert.deepEqual((await store.listRuns({ pipeline: "other" }))[0], await store.getRun("b"));
  }),

  check(
    "the unfinished runs of an input and its newest one are found, newest first, with their owners",
    async (scene) => {
      const { store, advance } = scene;
      const hash = sha256("ratchets");
      for (const run of [
        newRun("old"),
        newRun("ended"),
        newRun("other-input", { inputHash: sha256("pawls") }),
        newRun("other-pipeline", { pipeline: "other" }),
        newRun("young"),
      ]) {
        await store.createRun(run);
        advance(1);
      }
      await store.releaseRun({ runId: "ended", epoch: 1 }, FAILED);
      await store.createRun(newRun("held", { leaseMs: 10 * LEASE_MS }));
      assert.deepEqual(await foundBy(store, "report", hash), [
        "held running held",
        "young running held",
        "old running held",
      ]);
      advance(LEASE_MS);
      assert.deepEqual(await foundBy(store, "report", hash), [
        "held running held",
        "young running",
        "old running",
      ]);
      assert.deepEqual(await foundBy(store, "report", sha256("pawls")), ["other-input running"]);
      assert.deepEqual(await foundBy(store, "report", sha256("nothing")), []);
      await store.createRun(newRun("last"));
      await store.releaseRun({ runId: "last", epoch: 1 }, SUCCEEDED);
      assert.deepEqual(
        (await foundBy(store, "report", hash)).slice(0, 2),
        ["last succeeded", "held running held"],
        "the newest, whatever its status",
      );
    },
  ),

  check("an interrupted run keeps its status, and can be claimed at once", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await run.committed(1);
    await run.journaled(2, ["running", "prepared"]);
    const { charged } = await run.record();
    await store.interruptRun(run.fence);
    const left = await run.record();
    assert.deepEqual([left.status, left.owner, left.error, left.charged], ["running", null, null, charged]);
    assert.equal(await store.isHeld(run.runId), false);
    const [attempt] = await store.listAttempts(run.runId);
    assert.deepEqual([attempt?.endStatus, attempt?.endedAt], ["interrupted", now()]);
    assert.equal((await run.callAt(2, 1)).status, "in_doubt", "it may have been sent");
    const later = await run.takenOver(store, { from: ["running"] });
    assert.deepEqual(await store.beginStep(later.fence, newStep("draft")), run.step);
    await assertRefused(store, run.runId, () => store.interruptRun(run.fence), LeaseLostError);
  }),

  check("an interrupted run is cancelled if that was requested", async ({ store }) => {
    const run = await SampleRun.create(store);
    assert.equal((await store.requestCancel(run.runId, { by: "ann" })).kind, "requested");
    await store.interruptRun(run.fence);
    assert.equal((await run.record()).status, "cancelled");
  }),
];

/** `run-1 running held`, for each run of that input. */
export async function foundBy(store: Store, pipeline: string, inputHash: Uint8Array): Promise<string[]> {
  const found = await store.findRunsOf(pipeline, inputHash);
  return found.map(({ run, isHeld }) => `${run.runId} ${run.status}${isHeld ? " held" : ""}`);
}
