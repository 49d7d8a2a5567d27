import assert from "node:assert/strict";
import { type Message, textOf } from "../../../core/message.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { readEverything } from "../everything.ts";
import { newFork } from "../sample-fork.ts";
import { CHARGE, limited, SampleRun } from "../sample-run.ts";
import { milestone, sessionCommit, startLineage } from "../sample-session.ts";
import { SampleTalk, TALK_SHAPE, taking, talkScenario } from "../sample-talk.ts";

/** Users and agent in turns, as a history has them. */
function said(history: readonly Message[]): string[] {
  return history.map((message) =>
    message.role === "assistant"
      ? `> ${textOf(message.content)}`
      : typeof message.content === "string"
        ? message.content
        : message.role,
  );
}

const takingChecks: readonly Check[] = [
  check("a turn takes its message in the commit that reserves for it", async ({ store, now }) => {
    const talk = await SampleTalk.create(store);
    const first = await talk.say("one");
    await talk.say("two");
    const events = (await store.listEvents("run-1")).length;
    assert.equal((await talk.begin(1, first)).kind, "opened");
    assert.equal((await store.listEvents("run-1")).length, events + 1);
    assert.deepEqual(await talk.messages(), [
      ["one", "taken", 1, 1],
      ["two", "waiting"],
    ]);
    const { exchange, waiting } = await talk.mailbox();
    assert.deepEqual([exchange?.sentBy, exchange?.beganAt, exchange?.endedAt], ["ann", now(), null]);
    assert.deepEqual(
      waiting.map(({ messageNo, joins }) => [messageNo, joins]),
      [[2, false]],
    );
  }),

  check("a message that was withdrawn meanwhile is not taken, and nothing is reserved", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    const first = await talk.say("one");
    await store.withdrawMessage("run-1", "one");
    const before = await readEverything(store, "run-1");
    assert.deepEqual(await talk.begin(1, first), { kind: "stale" });
    assert.deepEqual(await readEverything(store, "run-1"), before);
  }),

  check("an exchange begins with the first text that waits, and with no other", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.say("one");
    assert.equal((await talk.begin(1, await talk.say("two"))).kind, "stale");
    await talk.begin(1, 1);
    assert.equal((await talk.begin(1, 2)).kind, "stale", "one is open");
    await talk.answer(1);
    assert.equal((await talk.begin(2, 2)).kind, "opened");
    assert.deepEqual(await talk.exchanges(), [
      ["ann", 1, 1, "complete"],
      ["ann", 2, null, null],
    ]);
  }),

  check(
    "a text is the turn's and not the attempt's: the next attempt has it, and takes more",
    async (scene) => {
      const { store } = scene;
      const talk = await SampleTalk.create(store);
      const { run } = talk;
      await talk.begin(1, await talk.say("one"));
      await store.settleModelCall(run.fence, {
        stepKey: run.stepKey,
        turnIndex: 1,
        attempt: 1,
        charge: CHARGE,
      });
      const more = await talk.say("more", "interrupt");
      assert.deepEqual(await talk.go(1, more), {
        kind: "opened",
        attempt: 2,
        reserved: { tokens: 100, microDollars: 1_000 },
      });
      const { taken } = await store.readConversation("run-1", run.stepKey, 0);
      assert.deepEqual(
        taken.map(({ body }) => body),
        ["Text one.", "Text more."],
      );
    },
  ),

  check("only texts of the same sender that are meant to join an exchange", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.begin(1, await talk.say("one"));
    const ofBen = await talk.say("ben", "steer", "ben");
    const queued = await talk.say("later");
    for (const wrong of [ofBen, queued]) {
      const { next } = await talk
        .answer(1, { isComplete: false, next: talk.run.opening(2, taking([wrong])) })
        .catch(() => ({ next: null }));
      assert.ok(next === null || next.kind === "stale");
    }
    const [, ben] = await store.listMessages("run-1");
    assert.equal(ben?.mode, "queue", "while another's exchange is open, it waits for its own");
  }),

  check("a commit reserves for the next turn with what was said meanwhile", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.begin(1, await talk.say("one"));
    const more = await talk.say("more", "steer");
    const next = talk.run.opening(2, taking([more]));
    const committed = await talk.answer(1, { isComplete: false, next });
    assert.equal(committed.next?.kind, "opened");
    assert.deepEqual(await talk.messages(), [
      ["one", "taken", 1, 1],
      ["more", "taken", 2, 1],
    ]);
  }),

  check("an answer is not complete if its sender has said more before it was stored", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.begin(1, await talk.say("one"));
    await talk.say("more", "steer");
    assert.equal((await talk.answer(1)).isComplete, false);
    assert.deepEqual(await talk.exchanges(), [["ann", 1, null, null]]);
    await talk.go(2, 2);
    await talk.say("other", "steer", "ben");
    assert.equal((await talk.answer(2)).isComplete, true, "another's text begins an exchange of its own");
    assert.deepEqual(await talk.exchanges(), [["ann", 1, 2, "complete"]]);
  }),

  check("the history has what was said before the response of its turn", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.begin(1, await talk.say("one"));
    await talk.answer(1);
    await talk.begin(2, await talk.say("two"));
    await talk.answer(2);
    const expected = ["Text one.", "> Turn 1.", "Text two.", "> Turn 2."];
    const history = said(await store.readHistory("run-1", "draft"));
    assert.deepEqual(history.slice(-4), expected);
    const turns = await store.listTurns("run-1");
    assert.deepEqual(
      turns.map(({ taken }) => taken.map(({ id, sentBy }) => [id, sentBy])),
      [[["one", "ann"]], [["two", "ann"]]],
    );
  }),

  check("a budget of the run that denies a turn leaves its message where it is", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", { shape: TALK_SHAPE, input: null, ...limited(50) });
    const talk = new SampleTalk(run);
    assert.equal((await talk.begin(1, await talk.say("one"))).kind, "denied");
    assert.deepEqual(await talk.messages(), [["one", "waiting"]]);
    assert.deepEqual(await talk.exchanges(), []);
  }),

  check("the budget of an exchange counts from its beginning", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    const limit = { tokens: 120, microDollars: null };
    const begin = (turn: number, no: number) => talk.run.open(turn, taking([no], { begins: true, limit }));
    await begin(1, await talk.say("one"));
    await talk.answer(1, { isComplete: false });
    const denied = await talk.run.open(2, taking([], { limit }));
    assert.deepEqual(denied, {
      kind: "denied",
      unit: "tokens",
      wanted: 100,
      remaining: 90,
      ofExchange: true,
    });
    const end = { stepKey: talk.run.stepKey, outcome: "budget", why: "It costs too much." } as const;
    await store.endExchange(talk.run.fence, end);
    assert.equal((await begin(2, await talk.say("two"))).kind, "opened");
    assert.deepEqual(await talk.exchanges(), [
      ["ann", 1, 1, "budget"],
      ["ann", 2, null, null],
    ]);
  }),

  check(
    "an exchange that may cost less than one turn has its message, and ends with that",
    async ({ store }) => {
      const talk = await SampleTalk.create(store);
      const limit = { tokens: 5, microDollars: null };
      const denied = await talk.run.open(1, taking([await talk.say("one")], { begins: true, limit }));
      assert.equal(denied.kind, "denied");
      await store.endExchange(talk.run.fence, {
        stepKey: talk.run.stepKey,
        outcome: "budget",
        why: "Too dear.",
      });
      assert.deepEqual(await talk.messages(), [["one", "taken", 1, 1]]);
      assert.deepEqual(await talk.exchanges(), [["ann", 1, null, "budget"]]);
    },
  ),
];

const endingChecks: readonly Check[] = [
  check("an exchange ends once, and not while a turn or a request is open", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    const { run } = talk;
    const end = () =>
      store.endExchange(run.fence, { stepKey: run.stepKey, outcome: "failed", why: "No answer." });
    await assertRefused(store, "run-1", end);
    await talk.begin(1, await talk.say("one"));
    await assertRefused(store, "run-1", end);
    await store.journalResponse(run.fence, run.journal(1, ["prepared"]));
    await assertRefused(store, "run-1", end);
    await run.receipt(1, 1, { status: "cancelled" });
    await store.commitTurn(run.fence, run.commit(1, { unlessMessages: true }));
    await end();
    await assertRefused(store, "run-1", end);
    assert.deepEqual(await talk.exchanges(), [["ann", 1, 1, "failed"]]);
  }),

  check("a stop is stored once, and from then on no turn of the exchange is opened", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    assert.deepEqual(await store.requestStop("run-1"), { kind: "nothing" });
    await talk.begin(1, await talk.say("one"));
    assert.deepEqual(await store.requestStop("run-1", { by: "ann" }), {
      kind: "requested",
      exchange: 1,
      again: false,
    });
    const events = (await store.listEvents("run-1")).length;
    assert.deepEqual(await store.requestStop("run-1", { by: "ben" }), {
      kind: "requested",
      exchange: 1,
      again: true,
    });
    assert.equal((await store.listEvents("run-1")).length, events);
    assert.deepEqual(await store.readRequests("run-1"), { cancel: false, stop: true, interrupt: false });
    await talk.say("more", "steer");
    const committed = await talk.answer(1, { isComplete: false, next: talk.run.opening(2, taking([2])) });
    assert.equal(committed.next?.kind, "stale");
    assert.equal((await talk.go(2, 2)).kind, "stale");
    const stopped = { stepKey: talk.run.stepKey, outcome: "stopped", why: "stopped by ann" } as const;
    await store.endExchange(talk.run.fence, stopped);
    assert.equal((await talk.begin(2, 2)).kind, "opened", "the next exchange is another one");
    assert.deepEqual(await store.readRequests("run-1"), { cancel: false, stop: false, interrupt: false });
  }),

  check("a stop refuses what the calls of the exchange wait for, but not a doubt", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    const { run } = talk;
    await talk.begin(1, await talk.say("one"));
    await store.journalResponse(run.fence, run.journal(1, ["prepared", "running", "running"]));
    await run.endAttempt(1, 2, { outcome: "needs_human", inDoubt: false });
    await run.endAttempt(1, 3);
    await run.waiting(run.approval(1, 1, "00"), run.wait(1, 2, { kind: "question" }), run.wait(1, 3));
    await store.requestStop("run-1", { by: "ann" });
    const waits = await run.waits();
    assert.deepEqual(
      waits.map(({ status, answer }) => [status, answer]),
      [
        ["answered", { approved: false, why: "stopped by ann" }],
        ["answered", { as: "timed_out", why: "stopped by ann" }],
        ["open", null],
      ],
    );
    assert.equal((await run.record()).status, "waiting");
    await store.settle(run.callId(1, 3), { as: "failed", why: "It did not happen." });
    assert.equal((await run.record()).status, "queued");
  }),

  check(
    "an interrupting text is seen by the worker, if it is of the exchange's sender",
    async ({ store }) => {
      const talk = await SampleTalk.create(store);
      await talk.begin(1, await talk.say("one"));
      await talk.say("ben", "interrupt", "ben");
      assert.equal((await store.readRequests("run-1")).interrupt, false);
      await talk.say("more", "interrupt");
      assert.equal((await store.readRequests("run-1")).interrupt, true);
    },
  ),

  check(
    "a new line of history puts the messages back that were taken since its checkpoint",
    async (scene) => {
      const { store } = scene;
      const talk = await SampleTalk.create(store);
      const { run } = talk;
      await talk.begin(1, await talk.say("one"));
      await talk.answer(1);
      await talk.begin(2, await talk.say("two"));
      const session = sessionCommit({ checkpoint: milestone({ turn: 2 }) });
      const { checkpoint } = await talk.answer(2, { isComplete: false, session });
      await talk.say("more", "steer");
      await talk.go(3, 3);
      await store.settleModelCall(run.fence, {
        stepKey: run.stepKey,
        turnIndex: 3,
        attempt: 1,
        charge: CHARGE,
      });
      const first = await startLineage(run, checkpoint);
      assert.deepEqual(await talk.messages(), [
        ["one", "taken", 1, 1],
        ["two", "waiting"],
        ["more", "waiting"],
      ]);
      assert.deepEqual(await talk.exchanges(), [
        ["ann", 1, 1, "complete"],
        ["ann", 2, 2, "rolled_back"],
      ]);
      assert.equal((await talk.begin(first, 2)).kind, "opened");
    },
  ),
];

const copyChecks: readonly Check[] = [
  checkSeveral("two stores see one exchange: the second of two that take a text is told", async (scene) => {
    const other = await scene.openAnother();
    const talk = await SampleTalk.create(scene.store);
    const first = await talk.say("one");
    await other.withdrawMessage("run-1", "one");
    assert.equal((await talk.begin(1, first)).kind, "stale");
  }),

  check(
    "a fork has the exchanges up to its turn, and the last of them is open if it went on",
    async (scene) => {
      const { store } = scene;
      const talk = await talkScenario(store);
      await store.forkRun(newFork(talk.run, 1, { runId: "early" }));
      const early = new SampleTalk(new SampleRun(store, { runId: "early", epoch: 0 }, talk.run.step));
      assert.deepEqual(await early.exchanges(), [["ann", 1, null, null]]);
      assert.deepEqual(await early.messages(), [["one", "taken", 1, 1]]);
      await store.forkRun(newFork(talk.run, 2, { runId: "late" }));
      const late = new SampleTalk(new SampleRun(store, { runId: "late", epoch: 0 }, talk.run.step));
      assert.deepEqual(await late.exchanges(), [["ann", 1, 2, "complete"]]);
      const { isComplete } = await store.readConversation("late", talk.run.stepKey, 0);
      assert.equal(isComplete, true);
      assert.deepEqual(said(await store.readHistory("late", "draft")).slice(-4), [
        "Text one.",
        "> Turn 1.",
        "Text more.",
        "> Turn 2.",
      ]);
    },
  ),
];

export const exchangeChecks: readonly Check[] = [...takingChecks, ...endingChecks, ...copyChecks];
