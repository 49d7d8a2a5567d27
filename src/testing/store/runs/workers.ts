import assert from "node:assert/strict";
import type { WorkerRequest } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { claimOptions, FAILED, intentFacts, LEASE_MS, newRun, SampleRun, SUCCEEDED } from "../sample-run.ts";

function request(runId: string, over: Partial<WorkerRequest> = {}): WorkerRequest {
  return { runId, request: { topic: runId }, createdAt: 1_000, deadline: null, ...over };
}

/** The run attempts: where each resumed from, and why. */
async function attemptsOf(run: SampleRun): Promise<unknown[]> {
  const attempts = await run.store.listAttempts(run.runId);
  return attempts.map(({ epoch, resumedFrom, reason }) => [epoch, resumedFrom, reason]);
}

export const workerChecks: readonly Check[] = [
  check("a worker without a request has no work", async ({ store }) => {
    assert.equal(await store.findWork("anna"), null);
    await store.completeWork("anna", "run-1");
    assert.equal(await store.findWork("anna"), null);
  }),

  check("a worker's request is stored as given", async ({ store }) => {
    const asked = request("run-1", {
      request: { z: [1, null, { ü: "naïve 🙂 \u2028" }], a: "" },
      createdAt: 123,
      deadline: 456,
    });
    assert.deepEqual(await store.beginWork("größe/..🙂", asked), asked);
    assert.deepEqual(await store.findWork("größe/..🙂"), { ...asked, completedAt: null });
    const plain = request("run-2", { request: null });
    assert.deepEqual(await store.beginWork("anna", plain), plain);
    assert.deepEqual(await store.findWork("anna"), { ...plain, completedAt: null });
  }),

  check("a request that is not completed stays in effect, whatever is requested later", async ({ store }) => {
    const first = request("run-1", { deadline: 9_000 });
    await store.beginWork("anna", first);
    for (const runId of ["run-2", "run-1"]) {
      const later = request(runId, { request: "other", createdAt: 2_000 });
      assert.deepEqual(await store.beginWork("anna", later), first);
    }
    assert.deepEqual(await store.findWork("anna"), { ...first, completedAt: null });
  }),

  check("a worker that has completed its work accepts the next request", async ({ store, now, advance }) => {
    const first = request("run-1", { deadline: 9_000 });
    await store.beginWork("anna", first);
    advance(5);
    await store.completeWork("anna", "run-1");
    const completed = { ...first, completedAt: now() };
    assert.deepEqual(await store.findWork("anna"), completed);
    advance(5);
    await store.completeWork("anna", "run-1");
    assert.deepEqual(await store.findWork("anna"), completed, "the time of completion does not change");
    const second = request("run-2");
    assert.deepEqual(await store.beginWork("anna", second), second);
    assert.deepEqual(await store.findWork("anna"), { ...second, completedAt: null });
    await store.completeWork("anna", "run-1");
    assert.equal((await store.findWork("anna"))?.completedAt, null);
  }),

  check("completing another run, or another worker, does not complete this one", async ({ store }) => {
    await store.beginWork("anna", request("run-1"));
    await store.beginWork("bert", request("run-2"));
    await store.completeWork("anna", "run-2");
    await store.completeWork("bert", "run-1");
    await store.completeWork("Anna", "run-1");
    assert.equal((await store.findWork("anna"))?.completedAt, null);
    assert.equal((await store.findWork("bert"))?.completedAt, null);
    await store.completeWork("anna", "run-1");
    assert.equal((await store.findWork("bert"))?.completedAt, null);
  }),

  check("the first of several requests at once is in effect for all", async ({ store }) => {
    const requests = Array.from({ length: 20 }, (_, i) => request(`run-${i}`));
    const held = await Promise.all(requests.map((each) => store.beginWork("anna", each)));
    assert.deepEqual(new Set(held.map(({ runId }) => runId)), new Set(["run-0"]));
  }),

  checkSeveral("a worker is the same in every process", async ({ store, openAnother }) => {
    const other = await openAnother();
    const held = await Promise.all(
      [store, other].flatMap((each, i) =>
        [1, 2, 3].map((n) => each.beginWork("anna", request(`run-${i}-${n}`))),
      ),
    );
    const [first] = held;
    assert.ok(first !== undefined);
    for (const each of held) assert.deepEqual(each, first);
    await other.completeWork("anna", first.runId);
    assert.notEqual((await store.findWork("anna"))?.completedAt, null);
    assert.equal((await store.beginWork("anna", request("next"))).runId, "next");
    assert.equal((await other.findWork("anna"))?.runId, "next");
  }),

  check("a worker's work is in no run's log, and needs no run", async ({ store }) => {
    await store.beginWork("anna", request("run-1"));
    assert.equal(await store.getRun("run-1"), null);
    const run = await SampleRun.create(store);
    const before = await store.listEvents(run.runId);
    await store.completeWork("anna", run.runId);
    await store.beginWork("anna", request(run.runId));
    assert.deepEqual(await store.listEvents(run.runId), before);
  }),

  check("every run attempt is stored, with its reason", async (scene) => {
    const { store, now, advance } = scene;
    const start = now();
    let run = await SampleRun.create(store);
    const { owner } = await run.record();
    advance(5);
    await store.releaseRun(run.fence, FAILED);
    advance(5);
    const milestone = { resumedFrom: "milestone", reason: "The prompt has changed 🙂." } as const;
    run = await run.takenOver(store, { attempt: milestone });
    advance(LEASE_MS);
    run = await run.takenOver(store, { attempt: { resumedFrom: "turn", reason: "" } });
    advance(5);
    await store.releaseRun(run.fence, SUCCEEDED);
    const killed = { endedAt: null, endStatus: null };
    const resumed = start + 10;
    assert.deepEqual(await store.listAttempts(run.runId), [
      {
        epoch: 1,
        owner,
        startedAt: start,
        endedAt: start + 5,
        endStatus: "failed",
        resumedFrom: null,
        reason: null,
        traceParent: null,
      },
      { epoch: 2, owner, startedAt: resumed, ...killed, ...milestone, traceParent: null },
      {
        epoch: 3,
        owner,
        startedAt: resumed + LEASE_MS,
        endedAt: now(),
        endStatus: "succeeded",
        resumedFrom: "turn",
        reason: "",
        traceParent: null,
      },
    ]);
  }),

  check("the trace of a worker is stored with its run attempt, and in the log", async ({ store }) => {
    let run = await SampleRun.create(store);
    const traces = ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-another"] as const;
    await store.keepTrace(run.fence, traces[0]);
    await store.releaseRun(run.fence, FAILED);
    run = await run.takenOver(store);
    await store.keepTrace(run.fence, traces[1]);
    const attempts = await store.listAttempts(run.runId);
    assert.deepEqual(
      attempts.map(({ epoch, traceParent }) => [epoch, traceParent]),
      [
        [1, traces[0]],
        [2, traces[1]],
      ],
    );
    const traced = (await store.listEvents(run.runId)).filter(({ type }) => type === "run.traced");
    assert.deepEqual(traced.map(intentFacts), [
      { epoch: 1, traceParent: traces[0] },
      { epoch: 2, traceParent: traces[1] },
    ]);
  }),

  check("a claim returns the calls that were running", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared"]);
    advance(LEASE_MS);
    const claimed = await store.claimRun(run.runId, claimOptions());
    assert.ok(claimed.kind === "claimed");
    const [first, second] = await store.listToolCalls(run.runId);
    assert.deepEqual([first?.status, second?.status], ["in_doubt", "prepared"]);
    assert.deepEqual(claimed.foundInDoubt, [first?.toolCallId]);
    advance(LEASE_MS);
    const again = await store.claimRun(run.runId, claimOptions());
    assert.deepEqual(again.kind === "claimed" && again.foundInDoubt, []);
  }),

  check("a claim that is not granted, or has no reason, stores none", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    const attempt = { resumedFrom: "milestone", reason: "Why not." } as const;
    assert.equal((await store.claimRun(run.runId, claimOptions({ attempt }))).kind, "busy");
    advance(LEASE_MS);
    assert.equal((await store.claimRun(run.runId, claimOptions({ attempt, from: [] }))).kind, "refused");
    await run.takenOver();
    assert.deepEqual(await attemptsOf(run), [
      [1, null, null],
      [2, null, null],
    ]);
  }),

  check("a run has no deadline by default", async ({ store }) => {
    const created = await store.createRun(newRun("never"));
    assert.ok(created.kind === "created");
    assert.equal(created.claim.run.deadline, null);
    assert.equal((await (await SampleRun.create(store, "null", { deadline: null })).record()).deadline, null);
    const bound = await store.createRun(newRun("bound", { deadline: 1_234_567_890_123 }));
    assert.ok(bound.kind === "created");
    assert.equal(bound.claim.run.deadline, 1_234_567_890_123);
    const listed = (await store.listRuns()).map(({ runId, deadline }) => [runId, deadline] as const);
    assert.deepEqual(Object.fromEntries(listed), { bound: 1_234_567_890_123, never: null, null: null });
  }),

  check("a deadline holds until a claim replaces it", async ({ store, advance }) => {
    let run = await SampleRun.create(store, "run-1", { deadline: 5_000 });
    const deadline = async () => (await run.record()).deadline;
    await run.committedWithCall(1);
    await store.releaseRun(run.fence, FAILED);
    assert.equal(await deadline(), 5_000);
    run = await run.takenOver();
    await run.at("draft");
    assert.equal(await deadline(), 5_000, "a claim without one keeps it");
    advance(LEASE_MS);
    run = await run.takenOver(store, { deadline: 9_000 });
    assert.equal(await deadline(), 9_000);
    assert.equal((await store.claimRun(run.runId, claimOptions({ deadline: 1 }))).kind, "busy");
    assert.equal(await deadline(), 9_000);
    await store.releaseRun(run.fence, FAILED);
    run = await run.takenOver(store, { deadline: null });
    assert.equal(await deadline(), null, "null removes the deadline");
    await store.releaseRun(run.fence, SUCCEEDED);
    assert.equal(await deadline(), null);
  }),
];
