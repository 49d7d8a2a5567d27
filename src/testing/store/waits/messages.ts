import assert from "node:assert/strict";
import {
  ConfigurationError,
  MessageRefusedError,
  NotJsonError,
  RunNotFoundError,
} from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import type { NewMessage, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral, rejection } from "../check.ts";
import { queuedRun } from "../runs/queue.ts";
import { FAILED, SampleRun, SUCCEEDED } from "../sample-run.ts";

function message(id: string, over: Partial<NewMessage> = {}): NewMessage {
  return { id, event: "payment.confirmed", body: { amount: 7 }, by: { by: "bank" }, ...over };
}

/** Calls of the first turn that wait for these events. */
async function waiting(store: Store, ...patterns: readonly string[]): Promise<SampleRun> {
  const run = await SampleRun.create(store);
  await run.journaled(
    1,
    patterns.map(() => "running"),
  );
  for (const i of patterns.keys()) await run.endAttempt(1, i + 1, { outcome: "needs_wait" });
  await run.waiting(
    ...patterns.map((matches, i) => run.wait(1, i + 1, { kind: "message", question: "…", matches })),
  );
  return run;
}

async function statuses(store: Store, runId = "run-1"): Promise<(readonly [string, string])[]> {
  return (await store.listMessages(runId)).map(({ id, status }) => [id, status]);
}

export const messageChecks: readonly Check[] = [
  check(
    "a message answers the call that waits for it, in the same commit",
    async ({ store, now, advance }) => {
      const run = await waiting(store, "payment.confirmed");
      advance(5);
      const events = (await store.listEvents(run.runId)).length;
      const sent = await store.sendMessage(run.runId, message("m-1"));
      assert.deepEqual(sent, {
        runId: "run-1",
        messageNo: 1,
        isDuplicate: false,
        hasStarted: false,
        status: "taken",
        reason: null,
      });
      assert.equal((await store.listEvents(run.runId)).length, events + 1);
      const { receipt } = await run.callAt(1, 1);
      const at = new Date(now()).toISOString();
      assert.deepEqual(receipt?.output.value, {
        event: "payment.confirmed",
        data: { amount: 7 },
        by: "bank",
        at,
      });
      assert.deepEqual([receipt?.source, (await run.record()).status], ["pawl", "queued"]);
      const [stored] = await store.listMessages(run.runId);
      assert.deepEqual([stored?.toolCallId, stored?.settledAt], [run.callId(1, 1), now()]);
    },
  ),

  check("a message that came before anything waited for it is there", async ({ store }) => {
    const run = await SampleRun.create(store);
    const { status } = await store.sendMessage(run.runId, message("m-1"));
    assert.equal(status, "waiting");
    await run.journaled(1, ["running"]);
    await run.endAttempt(1, 1, { outcome: "needs_wait" });
    await run.waiting(run.wait(1, 1, { kind: "message", matches: "payment.*" }));
    assert.equal((await run.record()).status, "queued");
    assert.deepEqual(await statuses(store), [["m-1", "taken"]]);
  }),

  check("a message that nothing waits for stays, and leaves the run as it is", async ({ store }) => {
    const run = await waiting(store, "payment.confirmed");
    await store.sendMessage(run.runId, message("m-1", { event: "payment.failed" }));
    assert.equal((await run.record()).status, "waiting");
    assert.deepEqual(await statuses(store), [["m-1", "waiting"]]);
    assert.deepEqual(await store.listMessages(run.runId, { status: "taken" }), []);
  }),

  check("messages are taken in order, each by one call", async ({ store }) => {
    const run = await waiting(store, "a.*", "a.two", "*");
    for (const event of ["b", "a.two", "a.one"])
      await store.sendMessage(run.runId, message(event, { event }));
    const taken = (await store.listMessages(run.runId)).map(({ id, toolCallId }) => [id, toolCallId]);
    assert.deepEqual(taken, [
      ["b", run.callId(1, 3)],
      ["a.two", run.callId(1, 1)],
      ["a.one", null],
    ]);
    await store.sendMessage(run.runId, message("again", { event: "a.two" }));
    assert.equal((await run.record()).status, "queued");
  }),

  check("the same message again changes nothing; the same id for another one is refused", async (scene) => {
    const { store } = scene;
    const run = await waiting(store, "payment.confirmed");
    await store.sendMessage(run.runId, message("m-1"));
    const events = (await store.listEvents(run.runId)).length;
    const again = await store.sendMessage(run.runId, message("m-1"));
    assert.deepEqual([again.isDuplicate, again.status, again.messageNo], [true, "taken", 1]);
    assert.equal((await store.listEvents(run.runId)).length, events);
    for (const over of [{ body: { amount: 8 } }, { event: "other" }, { by: { by: "ann" } }])
      await assertRefused(
        store,
        run.runId,
        () => store.sendMessage(run.runId, message("m-1", over)),
        MessageRefusedError,
      );
  }),

  check("a message to a run that has ended is returned, with the reason", async ({ store }) => {
    for (const [runId, end] of Object.entries({ done: SUCCEEDED, broken: FAILED })) {
      const run = await SampleRun.create(store, runId);
      await store.sendMessage(runId, message("early"));
      await store.releaseRun(run.fence, end);
      const late = await store.sendMessage(runId, message("late"));
      const reason = end.status;
      assert.deepEqual([late.status, late.reason], ["returned", reason]);
      const stored = await store.listMessages(runId);
      assert.deepEqual(
        stored.map(({ id, status, reason: why }) => [id, status, why]),
        [
          ["early", "returned", reason],
          ["late", "returned", reason],
        ],
      );
    }
  }),

  check("a failed run that is claimed again has its messages back", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.sendMessage(run.runId, message("early"));
    await store.releaseRun(run.fence, FAILED);
    await store.sendMessage(run.runId, message("late"));
    const again = await run.takenOver(store, { from: ["failed"] });
    const resent = await store.sendMessage(run.runId, message("late"));
    assert.deepEqual([resent.isDuplicate, resent.status], [true, "waiting"]);
    await store.releaseRun(again.fence, SUCCEEDED);
    const stored = await store.listMessages(run.runId);
    assert.deepEqual(new Set(stored.map(({ reason }) => reason)), new Set(["succeeded"]));
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  check("a cancelled run returns its messages", async ({ store }) => {
    await store.enqueueRun(queuedRun("run-1"));
    await store.sendMessage("run-1", message("m-1"));
    await store.requestCancel("run-1");
    const [stored] = await store.listMessages("run-1");
    assert.deepEqual([stored?.status, stored?.reason], ["returned", "cancelled"]);
  }),

  check("a text to a run that is no conversation is returned", async ({ store }) => {
    const run = await waiting(store, "*");
    const sent = await store.sendMessage(run.runId, message("m-1", { event: null, body: "Hello?" }));
    assert.deepEqual([sent.status, sent.reason], ["returned", "no_conversation"]);
    assert.equal((await run.record()).status, "waiting");
  }),

  check("a message can be withdrawn until a call has taken it", async ({ store }) => {
    const run = await waiting(store, "payment.confirmed");
    await store.sendMessage(run.runId, message("m-1", { event: "other" }));
    assert.equal(await store.withdrawMessage(run.runId, "m-1"), "withdrawn");
    assert.equal(await store.withdrawMessage(run.runId, "m-1"), "withdrawn");
    await store.sendMessage(run.runId, message("m-2"));
    assert.equal(await store.withdrawMessage(run.runId, "m-2"), "taken");
    assert.deepEqual(await statuses(store), [
      ["m-1", "withdrawn"],
      ["m-2", "taken"],
    ]);
    await assertRefused(store, run.runId, () => store.withdrawMessage(run.runId, "m-3"), MessageRefusedError);
  }),

  check("a message starts the run that it is for, if the sender wants that", async ({ store }) => {
    const error = await rejection(store.sendMessage("run-1", message("m-1")));
    assert.ok(RunNotFoundError.isInstance(error));
    const sent = await store.sendMessage("run-1", message("m-1"), queuedRun("run-1"));
    assert.deepEqual([sent.hasStarted, sent.status, sent.messageNo], [true, "waiting", 1]);
    const again = await store.sendMessage("run-1", message("m-1"), queuedRun("run-1"));
    assert.deepEqual([again.hasStarted, again.isDuplicate], [false, true]);
    assert.equal((await store.getRun("run-1"))?.status, "queued");
  }),

  check("messages that cannot be stored are refused in a sentence", async ({ store }) => {
    const run = await waiting(store, "*");
    const mistakes: readonly [Partial<NewMessage>, { isInstance(error: unknown): boolean }][] = [
      [{ event: "" }, ConfigurationError],
      [{ event: "no blanks" }, ConfigurationError],
      [{ event: "x".repeat(300) }, ConfigurationError],
      [{ body: undefined as unknown as Json }, NotJsonError],
      [{ id: "" }, MessageRefusedError],
      [{ id: "i".repeat(2_000) }, ConfigurationError],
    ];
    for (const [over, expected] of mistakes) {
      const error = await rejection(store.sendMessage(run.runId, message("m-1", over)));
      assert.ok(expected.isInstance(error), String(error));
    }
    assert.deepEqual(await statuses(store), []);
  }),

  check("an address leads to its run until that has ended", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", { address: "invoice:7" });
    assert.equal(await store.findAddress("invoice:7"), "run-1");
    assert.equal(await store.findAddress("invoice:8"), null);
    const error = await rejection(store.enqueueRun(queuedRun("run-2", { address: "invoice:7" })));
    assert.ok(ConfigurationError.isInstance(error));
    await store.releaseRun(run.fence, SUCCEEDED);
    assert.equal(await store.findAddress("invoice:7"), null);
    await store.enqueueRun(queuedRun("run-2", { address: "invoice:7" }));
    assert.equal(await store.findAddress("invoice:7"), "run-2");
    const failed = await SampleRun.create(store, "run-3", { address: "invoice:9" });
    await store.releaseRun(failed.fence, FAILED);
    assert.equal(await store.findAddress("invoice:9"), "run-3", "it may be resumed");
  }),

  check("a wait gives its run an address, and fails if another run has it", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    for (const call of [1, 2]) await run.endAttempt(1, call, { outcome: "needs_wait" });
    await SampleRun.create(store, "run-2", { address: "invoice:8" });
    const wait = { kind: "message", question: "…", matches: "payment.*" } as const;
    await run.waiting(
      run.wait(1, 1, { ...wait, address: "invoice:7" }),
      run.wait(1, 2, { ...wait, address: "invoice:8" }),
    );
    assert.equal(await store.findAddress("invoice:7"), run.runId);
    assert.equal(await store.findAddress("invoice:8"), "run-2");
    await store.wakeRun(run.runId);
    const waits = await store.listWaits(run.runId);
    assert.deepEqual(
      waits.map(({ status }) => status),
      ["open", "answered"],
    );
    const [, refused] = await store.listToolCalls(run.runId);
    assert.match(JSON.stringify(refused?.receipt?.output), /belongs to run run-2, which has not ended/);
    await store.sendMessage(run.runId, message("m-1"));
    assert.equal((await run.record()).status, "queued");
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  checkSeveral("of runs that take an address at once, one has it", async ({ store, openAnother }) => {
    const stores = [store, await openAnother()];
    const taken = await Promise.allSettled(
      Array.from({ length: 6 }, (_, i) =>
        (stores[i % 2] ?? store).enqueueRun(queuedRun(`run-${i}`, { address: "invoice:7" })),
      ),
    );
    const refused = taken.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
    assert.equal(refused.length, 5);
    assert.ok(
      refused.every((error) => ConfigurationError.isInstance(error)),
      String(refused[0]),
    );
  }),

  checkSeveral("of senders at once, each message is taken once", async ({ store, openAnother }) => {
    const run = await waiting(store, ...Array.from({ length: 6 }, () => "payment.*"));
    const other = await openAnother();
    const senders = [store, other];
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (senders[i % 2] ?? store).sendMessage(run.runId, message(`m-${Math.floor(i / 2)}`)),
      ),
    );
    const stored = await store.listMessages(run.runId);
    assert.equal(stored.length, 6);
    assert.equal(new Set(stored.map(({ toolCallId }) => toolCallId)).size, 6);
    assert.ok(stored.every(({ status }) => status === "taken"));
    assert.equal((await run.record()).status, "queued");
  }),
];
