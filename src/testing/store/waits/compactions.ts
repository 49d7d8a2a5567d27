import assert from "node:assert/strict";
import { ResumeError } from "../../../core/errors.ts";
import type { Compaction, ModelCallSettlement } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { newFork } from "../sample-fork.ts";
import { CHARGE, LEASE_MS, limited, RESERVE, SampleRun } from "../sample-run.ts";
import { milestone, sessionCommit, slicesOf, startLineage, wholeSlice } from "../sample-session.ts";
import { newCompaction, newSummary, SampleTalk, TALK_SHAPE, taking } from "../sample-talk.ts";

const SUMMARY = {
  role: "user",
  content: "[Summary of the conversation so far]\nThey talked.",
};

/** A conversation after one exchange. */
async function afterOne(store: SampleRun["store"], over: Parameters<typeof SampleRun.create>[2] = {}) {
  const run = await SampleRun.create(store, "run-1", { shape: TALK_SHAPE, input: null, ...over });
  const talk = new SampleTalk(run);
  await talk.begin(1, await talk.say("one"));
  await talk.answer(1, { tokens: 40 });
  return talk;
}

function summaryCall({ run }: SampleTalk, turnIndex: number, attempt = 1): ModelCallSettlement {
  return { stepKey: run.stepKey, turnIndex, attempt, charge: CHARGE };
}

/** Asks for the summary before a turn. */
function ask({ run }: SampleTalk, turnIndex: number) {
  return run.store.openSummary(run.fence, newSummary(run.stepKey, turnIndex));
}

/** Compacts the history before a turn, by a function if nothing else is said. */
function compact({ run }: SampleTalk, turnIndex: number, over: Partial<Compaction> = {}): Promise<void> {
  return run.store.compactHistory(run.fence, newCompaction(run.stepKey, turnIndex, over));
}

const replacingChecks: readonly Check[] = [
  check("a summary replaces the history, in one commit with its charge", async ({ store }) => {
    const talk = await afterOne(store);
    const { runId, stepKey } = talk.run;
    const kept = async () => [
      await store.listTurns(runId),
      await store.listToolCalls(runId),
      await talk.messages(),
      await talk.exchanges(),
    ];
    const before = await kept();
    assert.deepEqual(await ask(talk, 2), { kind: "opened", attempt: 1, reserved: RESERVE });
    assert.deepEqual((await talk.run.record()).reserved, RESERVE);
    await compact(talk, 2, { call: summaryCall(talk, 2) });
    const { charged, reserved } = await talk.run.record();
    assert.deepEqual(charged, {
      tokens: 2 * CHARGE.amount.tokens,
      microDollars: 2 * CHARGE.amount.microDollars,
    });
    assert.deepEqual(reserved, { tokens: 0, microDollars: 0 });
    const [spent] = await store.readSpend({
      since: 0,
      until: Number.MAX_SAFE_INTEGER,
      bucketMs: 2 ** 50,
      by: null,
    });
    assert.deepEqual(spent?.charges.provider, { requests: 2, charged });
    assert.deepEqual(spent.lost, { tokens: 0, microDollars: 0 }, "a summary is no lost work");
    const { fingerprint, ...conversation } = await store.readConversation(runId, stepKey, 1_000);
    assert.notEqual(fingerprint, null);
    assert.deepEqual(conversation, {
      turnIndex: 1,
      isComplete: true,
      lineages: [],
      summary: "They talked.",
      isInputRefused: false,
      messages: 0,
      tokens: 0,
      tail: [],
      journaled: null,
      taken: [],
    });
    assert.deepEqual((await store.readHistory(runId, "draft")).slice(-1), [SUMMARY]);
    const [lineage] = await store.listLineages(runId);
    assert.deepEqual(
      [lineage?.firstTurn, lineage?.baseTurn, lineage?.openTurn, lineage?.summary],
      [2, 1, null, "They talked."],
    );
    assert.deepEqual(await kept(), before);
    assert.deepEqual((await store.verify(runId)).problems, []);
  }),

  check("the next exchange has the summary and what follows, as another attempt", async ({ store }) => {
    const talk = await afterOne(store);
    await ask(talk, 2);
    await compact(talk, 2, { call: summaryCall(talk, 2) });
    const opened = await talk.begin(2, await talk.say("two"));
    assert.deepEqual(opened, { kind: "opened", attempt: 2, reserved: RESERVE });
    await talk.answer(2, { journal: talk.run.journal(2, [], { attempt: 2 }), tokens: 30 });
    const { tail, tokens } = await store.readConversation("run-1", talk.run.stepKey, 1_000);
    assert.deepEqual([tail.map(({ turnIndex }) => turnIndex), tokens], [[2], 30]);
    const history = await store.readHistory("run-1", "draft");
    assert.deepEqual(history.slice(-3, -1), [SUMMARY, { role: "user", content: "Text two." }]);
    assert.deepEqual(
      (await store.listModelCalls("run-1")).map(({ turnIndex, attempt }) => [turnIndex, attempt]),
      [
        [1, 1],
        [2, 1],
        [2, 2],
      ],
    );
    assert.deepEqual(await talk.exchanges(), [
      ["ann", 1, 1, "complete"],
      ["ann", 2, 2, "complete"],
    ]);
  }),

  check("a summary of a function costs nothing, and one summary follows another", async ({ store }) => {
    const talk = await afterOne(store);
    const { charged } = await talk.run.record();
    await compact(talk, 2);
    assert.deepEqual((await talk.run.record()).charged, charged);
    await talk.begin(2, await talk.say("two"));
    await talk.answer(2);
    await compact(talk, 3, { summary: "They talked more." });
    assert.deepEqual(
      (await store.listLineages("run-1")).map(({ lineage, summary }) => [lineage, summary]),
      [
        [1, "They talked."],
        [2, "They talked more."],
      ],
    );
    const { summary, lineages } = await store.readConversation("run-1", talk.run.stepKey, 0);
    assert.deepEqual([summary, lineages], ["They talked more.", []]);
  }),

  check("neither the session nor a message changes with it", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", { shape: TALK_SHAPE, input: null });
    const talk = new SampleTalk(run);
    await talk.begin(1, await talk.say("one"));
    const session = sessionCommit({
      slices: [wholeSlice("plan", ["read"])],
      checkpoint: milestone({ turn: 1 }),
    });
    await talk.answer(1, { session });
    await talk.say("two");
    await compact(talk, 2);
    assert.deepEqual(await slicesOf(store, "run-1"), { plan: ["read"] });
    assert.deepEqual(
      (await store.listCheckpoints("run-1")).map(({ isSuperseded }) => isSuperseded),
      [false],
    );
    assert.deepEqual(await talk.messages(), [
      ["one", "taken", 1, 1],
      ["two", "waiting"],
    ]);
  }),

  check("a message of an exchange without an answer is still the next turn's", async ({ store }) => {
    const talk = await afterOne(store);
    const { run } = talk;
    await talk.begin(2, await talk.say("two"));
    await store.settleModelCall(run.fence, summaryCall(talk, 2));
    await store.endExchange(run.fence, { stepKey: run.stepKey, outcome: "failed", why: "No answer." });
    await compact(talk, 2);
    const { taken } = await store.readConversation("run-1", run.stepKey, 0);
    assert.deepEqual(
      taken.map(({ id }) => id),
      ["two"],
    );
  }),

  check("the event of an exchange has why the history before it was not compacted", async ({ store }) => {
    const talk = await afterOne(store);
    const uncompacted = "The model refuses.";
    await talk.run.open(2, taking([await talk.say("two")], { begins: true, uncompacted }));
    const { data } = await talk.run.lastEvent();
    assert.equal((data as { readonly uncompacted?: string }).uncompacted, uncompacted);
  }),
];

const refusingChecks: readonly Check[] = [
  check("a history is compacted between two exchanges only", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await assertRefused(store, "run-1", () => compact(talk, 1));
    await talk.begin(1, await talk.say("one"));
    for (const attempt of [() => ask(talk, 2), () => compact(talk, 2), () => ask(talk, 1)])
      await assertRefused(store, "run-1", attempt, ResumeError);
    await talk.answer(1);
    for (const turn of [1, 3]) {
      await assertRefused(store, "run-1", () => ask(talk, turn), ResumeError);
      await assertRefused(store, "run-1", () => compact(talk, turn), ResumeError);
    }
    await ask(talk, 2);
    await assertRefused(store, "run-1", () => ask(talk, 2));
    await assertRefused(store, "run-1", () => compact(talk, 2));
    await assertRefused(store, "run-1", () => compact(talk, 2, { call: summaryCall(talk, 2, 2) }));
    await compact(talk, 2, { call: summaryCall(talk, 2) });
    await assertRefused(store, "run-1", () => compact(talk, 2, { call: summaryCall(talk, 2) }));
  }),

  check("a budget that does not cover a summary denies it, and the exchange may begin", async ({ store }) => {
    const talk = await afterOne(store, limited(CHARGE.amount.tokens + RESERVE.tokens - 1));
    const denied = await ask(talk, 2);
    assert.deepEqual(denied, {
      kind: "denied",
      unit: "tokens",
      wanted: RESERVE.tokens,
      remaining: RESERVE.tokens - 1,
    });
    const reserve = { tokens: 10, microDollars: 1 };
    const opened = await talk.run.open(2, { ...taking([await talk.say("two")], { begins: true }), reserve });
    assert.equal(opened.kind, "opened");
  }),

  check("a request for a summary that a dead worker left is charged once, and asked again", async (scene) => {
    const { store, advance } = scene;
    const talk = await afterOne(store);
    await ask(talk, 2);
    advance(LEASE_MS);
    const later = new SampleTalk(await talk.run.takenOver());
    const { charged } = await later.run.record();
    assert.equal(charged.tokens, CHARGE.amount.tokens + RESERVE.tokens);
    const { isComplete, turnIndex } = await store.readConversation("run-1", later.run.stepKey, 0);
    assert.deepEqual([isComplete, turnIndex], [true, 1]);
    assert.deepEqual(await ask(later, 2), { kind: "opened", attempt: 2, reserved: RESERVE });
    await compact(later, 2, { call: summaryCall(later, 2, 2) });
    assert.deepEqual((await store.verify("run-1")).problems, []);
  }),
];

const goingBackChecks: readonly Check[] = [
  check(
    "a fork at a turn before a summary has the history of then, and later ones the summary",
    async (scene) => {
      const { store } = scene;
      const talk = await afterOne(store);
      await compact(talk, 2);
      await talk.begin(2, await talk.say("two"));
      await talk.answer(2);
      await store.interruptRun(talk.run.fence);
      for (const [turn, summary, lineages] of [
        [1, null, 0],
        [2, "They talked.", 1],
      ] as const) {
        const runId = `fork-${turn}`;
        await store.forkRun(newFork(talk.run, turn, { runId }));
        const fork = await store.readConversation(runId, talk.run.stepKey, 1_000);
        assert.deepEqual(
          [fork.summary, fork.tail.map(({ turnIndex }) => turnIndex), fork.isComplete],
          [summary, [turn], true],
        );
        assert.equal((await store.listLineages(runId)).length, lineages);
        assert.deepEqual((await store.verify(runId)).problems, []);
      }
    },
  ),

  check(
    "a step goes back to a milestone before a summary, with the messages since then",
    async ({ store }) => {
      const run = await SampleRun.create(store, "run-1", { shape: TALK_SHAPE, input: null });
      const talk = new SampleTalk(run);
      await talk.begin(1, await talk.say("one"));
      const { checkpoint } = await talk.answer(1, {
        session: sessionCommit({ checkpoint: milestone({ turn: 1 }) }),
      });
      await talk.begin(2, await talk.say("two"));
      await talk.answer(2);
      await compact(talk, 3);
      await talk.begin(3, await talk.say("three"));
      await store.settleModelCall(run.fence, summaryCall(talk, 3));
      assert.equal(await startLineage(run, checkpoint), 3);
      assert.deepEqual(await talk.messages(), [
        ["one", "taken", 1, 1],
        ["two", "waiting"],
        ["three", "waiting"],
      ]);
      const { summary, lineages } = await store.readConversation("run-1", run.stepKey, 0);
      assert.deepEqual([summary, lineages], [null, [{ firstTurn: 3, baseTurn: 1 }]]);
    },
  ),
];

/** Histories that a summary replaces. */
export const compactionChecks: readonly Check[] = [...replacingChecks, ...refusingChecks, ...goingBackChecks];
