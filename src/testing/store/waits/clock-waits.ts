import assert from "node:assert/strict";
import { ConfigurationError } from "../../../core/errors.ts";
import type { NewCallWait } from "../../../core/wait.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, rejection } from "../check.ts";
import { SampleRun, sha256 } from "../sample-run.ts";

/** A run whose first call waits as given. */
async function waiting(store: Store, over: Partial<NewCallWait>, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  const isApproval = over.kind === "approval";
  await run.journaled(1, [isApproval ? "prepared" : "running"]);
  if (!isApproval) await run.endAttempt(1, 1, { outcome: "needs_wait", errorCode: over.kind ?? null });
  await run.waiting(run.wait(1, 1, { question: "…", ...over }));
  return run;
}

const SLEEP = { kind: "time", due: { inMs: 1_000 }, onDue: { action: "answer", value: null } } as const;

export const clockWaitChecks: readonly Check[] = [
  check("the clock answers a sleep when its time has come, and never before", async (scene) => {
    const { store, now, advance } = scene;
    const run = await waiting(store, SLEEP);
    const until = now() + 1_000;
    const [wait] = await run.waits();
    assert.deepEqual([wait?.kind, wait?.dueAt, wait?.status], ["time", until, "open"]);
    assert.equal((await run.record()).wakeAt, until);
    advance(999);
    assert.equal(await store.wakeRun(run.runId), until);
    assert.equal((await run.callAt(1, 1)).receipt, null);
    advance(1);
    assert.equal(await store.wakeRun(run.runId), null);
    const { receipt } = await run.callAt(1, 1);
    assert.deepEqual(
      [receipt?.status, receipt?.source, receipt?.output.value],
      ["succeeded", "pawl", { until: new Date(until).toISOString() }],
    );
    const { status, wakeAt, readyAt } = await run.record();
    assert.deepEqual([status, wakeAt, readyAt], ["queued", null, now()]);
    assert.deepEqual(await store.listSleeping({ limit: 1 }), []);
  }),

  check("a call that sleeps is not in doubt: no person settles it", async ({ store, now }) => {
    const run = await waiting(store, SLEEP);
    const id = (await run.callAt(1, 1)).toolCallId;
    const error = await rejection(store.settle(id, { as: "retry" }, { by: "ann" }));
    assert.ok(ConfigurationError.isInstance(error), String(error));
    const until = new Date(now() + 1_000).toISOString();
    assert.equal(
      error.message,
      `Call ${id} is not in doubt, it waits until ${until}: the clock ends that; to give it up, cancel run run-1.`,
    );
    const other = await waiting(store, { kind: "message", matches: "payment.*" }, "run-2");
    const message = (await other.callAt(1, 1)).toolCallId;
    for (const settlement of [
      { as: "failed", why: "No." },
      { as: "succeeded", result: 1 },
    ] as const) {
      const refused = await rejection(store.settle(message, settlement));
      assert.match(String(refused), /not in doubt, it waits for payment\.\*: send the message/);
    }
    const waits = [...(await run.waits()), ...(await other.waits())];
    assert.ok(waits.every(({ status }) => status === "open"));
  }),

  check(
    "the time of a wait is computed once, also if the run asks again",
    async ({ store, now, advance }) => {
      const run = await waiting(store, SLEEP);
      const until = now() + 1_000;
      advance(400);
      const again = await run.takenOver();
      assert.equal((await again.record()).wakeAt, null, "a worker has it");
      await again.waiting(again.wait(1, 1, SLEEP));
      const waits = await again.waits();
      assert.deepEqual(
        waits.map(({ dueAt }) => dueAt),
        [until],
      );
      assert.equal((await again.record()).wakeAt, until);
    },
  ),

  check("a time that is given is kept, also if it has passed", async ({ store, now }) => {
    const run = await waiting(store, { ...SLEEP, due: { at: now() - 5 } });
    assert.equal(await store.wakeRun(run.runId), null);
    assert.equal((await run.record()).status, "queued");
  }),

  check("people cannot answer a sleep", async ({ store }) => {
    const run = await waiting(store, SLEEP);
    for (const attempt of [
      () => store.answer("run-1~1", "wake up"),
      () => store.approve("run-1~1"),
      () => store.deny("run-1~1", "no"),
    ])
      await assertRefused(store, run.runId, attempt, ConfigurationError);
  }),

  check("an approval that nobody gives in time is denied", async ({ store, advance }) => {
    const argumentsHash = sha256("arguments").toString("hex");
    const why = "Nobody approved it within a day.";
    const onDue = { action: "deny", why } as const;
    const run = await waiting(store, { kind: "approval", argumentsHash, due: { inMs: 10 }, onDue });
    advance(10);
    await store.wakeRun(run.runId);
    const [wait] = await run.waits();
    assert.deepEqual(
      [wait?.status, wait?.answer, wait?.answeredBy],
      ["answered", { approved: false, why }, "the clock"],
    );
    assert.equal((await run.record()).status, "queued");
  }),

  check("a question that nobody answers gets the given answer, or fails", async ({ store, advance }) => {
    const answered = { action: "answer", value: "Green." } as const;
    const failed = { action: "fail", why: "Nobody answered." } as const;
    for (const [runId, onDue] of Object.entries({ a: answered, b: failed })) {
      const run = await waiting(store, { kind: "question", due: { inMs: 10 }, onDue }, runId);
      advance(10);
      await store.wakeRun(runId);
      const { receipt } = await run.callAt(1, 1);
      assert.deepEqual(
        [receipt?.status, receipt?.output.value, receipt?.errorCode],
        runId === "a" ? ["succeeded", "Green.", null] : ["failed", "Nobody answered.", "timed_out"],
      );
      assert.equal((await run.record()).status, "queued");
    }
  }),

  check("a doubt that nobody settles in time stays open, and is marked", async ({ store, now, advance }) => {
    const onDue = { action: "escalate" } as const;
    const run = await waiting(store, { kind: "in_doubt", due: { inMs: 10 }, onDue });
    advance(10);
    assert.equal(await store.wakeRun(run.runId), null);
    const [wait] = await run.waits();
    assert.deepEqual([wait?.status, wait?.escalatedAt, wait?.dueAt], ["open", now(), null]);
    assert.equal((await run.record()).status, "waiting");
    await store.settle(run.callId(1, 1), { as: "succeeded", result: 1 });
    assert.equal((await run.record()).status, "queued");
  }),

  check("people are reminded until the time has come", async ({ store, now, advance }) => {
    const begun = now();
    const run = await waiting(store, {
      kind: "question",
      due: { inMs: 100 },
      remindEveryMs: 30,
      onDue: { action: "fail", why: "Nobody answered." },
    });
    assert.equal((await run.record()).wakeAt, begun + 30);
    advance(30);
    assert.equal(await store.wakeRun(run.runId), begun + 60);
    advance(35);
    assert.equal(await store.wakeRun(run.runId), begun + 90, "a reminder that was late moves no other");
    assert.equal((await run.waits())[0]?.reminders, 2);
    advance(35);
    assert.equal(await store.wakeRun(run.runId), null);
    assert.equal((await run.record()).status, "queued");
  }),

  check("a run that waits for several things wakes for each of them", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    for (const call of [1, 2]) await run.endAttempt(1, call, { outcome: "needs_wait" });
    await run.waiting(run.wait(1, 1, SLEEP), run.wait(1, 2, { ...SLEEP, due: { inMs: 3_000 } }));
    const begun = now();
    advance(1_000);
    assert.equal(await store.wakeRun(run.runId), begun + 3_000);
    assert.equal((await run.record()).status, "waiting");
    assert.equal((await run.callAt(1, 1)).status, "succeeded");
    advance(2_000);
    assert.equal(await store.wakeRun(run.runId), null);
    assert.equal((await run.record()).status, "queued");
  }),

  check("a run that was cancelled, or that a worker has, does not wake", async ({ store, advance }) => {
    const run = await waiting(store, SLEEP);
    await store.requestCancel(run.runId);
    const busy = await waiting(store, SLEEP, "run-2");
    await busy.takenOver();
    advance(5_000);
    for (const runId of ["run-1", "run-2"]) {
      const events = (await store.listEvents(runId)).length;
      assert.equal(await store.wakeRun(runId), null);
      assert.equal((await store.listEvents(runId)).length, events);
    }
  }),
];
