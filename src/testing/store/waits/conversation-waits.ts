import assert from "node:assert/strict";
import { type Check, check } from "../check.ts";
import { queuedRun } from "../runs/queue.ts";
import { FAILED, SampleRun, SUCCEEDED } from "../sample-run.ts";
import { SampleTalk, TALK_SHAPE, text } from "../sample-talk.ts";

export const conversationWaitChecks: readonly Check[] = [
  check("a conversation waits for a message, which queues it in the same commit", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.run.waiting(talk.mailWait(0));
    assert.equal((await talk.run.record()).status, "waiting");
    const events = (await store.listEvents("run-1")).length;
    await talk.say("one");
    assert.equal((await store.listEvents("run-1")).length, events + 1);
    assert.equal((await talk.run.record()).status, "queued");
    const [wait] = await talk.run.waits();
    assert.deepEqual([wait?.status, wait?.answer], ["answered", { as: "answered", value: { message: 1 } }]);
  }),

  check("a text that came while the worker left is not overlooked", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.say("one");
    await talk.run.waiting(talk.mailWait(0));
    assert.equal((await talk.run.record()).status, "queued");
    assert.deepEqual(await talk.run.waits(), []);
  }),

  check("a wait that is open when a text is taken is withdrawn", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.run.waiting(talk.mailWait(0));
    const again = new SampleTalk(await talk.run.takenOver());
    await again.begin(1, await again.say("one"));
    await again.answer(1);
    const waits = await again.run.waits();
    assert.deepEqual(
      waits.map(({ status }) => status),
      ["withdrawn"],
    );
    await again.run.waiting(again.mailWait(1));
    await again.say("two");
    assert.equal((await again.run.record()).status, "queued");
  }),

  check("a text for an approval answers nothing", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    const { run } = talk;
    await talk.begin(1, await talk.say("one"));
    await store.journalResponse(run.fence, run.journal(1, ["prepared"]));
    await run.waiting(run.approval(1, 1, "00"));
    await talk.say("yes", "interrupt");
    assert.equal((await run.record()).status, "waiting");
    const [wait] = await run.waits();
    assert.equal(wait?.status, "open");
  }),

  check(
    "a conversation that nobody writes to is closed by the clock, and a late text is there",
    async (scene) => {
      const { store, advance } = scene;
      const talk = await SampleTalk.create(store);
      await talk.begin(1, await talk.say("one"));
      await talk.answer(1);
      await talk.run.waiting(talk.mailWait(1, 5_000));
      advance(4_999);
      await store.wakeRun("run-1");
      assert.equal((await talk.mailbox()).isClosed, false);
      advance(1);
      await store.wakeRun("run-1");
      assert.equal((await talk.run.record()).status, "queued");
      assert.equal((await talk.mailbox()).isClosed, true);
      await talk.say("two");
      assert.equal((await talk.mailbox()).isClosed, false);
      const again = new SampleTalk(await talk.run.takenOver());
      await again.begin(2, 2);
      await again.answer(2);
      assert.equal((await again.mailbox()).isClosed, false, "it was closed before that exchange");
    },
  ),

  check("a run that ends returns what nothing has taken", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.begin(1, await talk.say("one"));
    await talk.say("two");
    await talk.answer(1);
    await store.releaseRun(talk.run.fence, SUCCEEDED);
    assert.deepEqual(await talk.messages(), [
      ["one", "taken", 1, 1],
      ["two", "returned"],
    ]);
  }),

  check("a failed conversation that is claimed again has its texts back", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.begin(1, await talk.say("one"));
    await talk.say("two");
    await store.releaseRun(talk.run.fence, FAILED);
    const again = new SampleTalk(await talk.run.takenOver());
    assert.deepEqual(await again.messages(), [
      ["one", "taken", 1, 1],
      ["two", "waiting"],
    ]);
  }),

  check("a message can start a conversation", async ({ store }) => {
    const start = { ...queuedRun("chat"), shape: TALK_SHAPE, input: null };
    const sent = await store.sendMessage("chat", text("one"), start);
    assert.deepEqual([sent.hasStarted, sent.status], [true, "waiting"]);
    assert.equal((await store.getRun("chat"))?.status, "queued");
  }),

  check("a pipeline that is given a conversation takes texts from then on", async ({ store }) => {
    const run = await SampleRun.create(store);
    assert.equal((await store.sendMessage("run-1", text("one"))).reason, "no_conversation");
    await store.pinShape(run.fence, TALK_SHAPE);
    assert.equal((await store.sendMessage("run-1", text("two"))).status, "waiting");
  }),
];
