import assert from "node:assert/strict";
import type { Amount } from "../../../core/usage/usage.ts";
import type { Charge } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { CHARGE, FAILED, limited, RESERVE, SampleRun } from "../sample-run.ts";

const NOTHING: Amount = { tokens: 0, microDollars: 0 };
const NO_USAGE = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };
const BASELINE: Charge = { basis: "baseline", amount: RESERVE, usage: NO_USAGE };
const UNSENT: Charge = { basis: "none", amount: NOTHING, usage: NO_USAGE };

export const quotaChecks: readonly Check[] = [
  check("opening a turn reserves", async ({ store, now }) => {
    const run = await SampleRun.create(store, "run-1", limited(100, 1_000));
    assert.deepEqual(await run.open(1), { kind: "opened", attempt: 1, reserved: RESERVE });
    const { reserved, charged } = await run.record();
    assert.deepEqual([reserved, charged], [RESERVE, NOTHING]);
    assert.deepEqual(await store.listModelCalls(run.runId), [
      {
        stepPath: "draft",
        turnIndex: 1,
        attempt: 1,
        reserved: RESERVE,
        charge: null,
        openedAt: now(),
        settledAt: null,
      },
    ]);
  }),

  check(
    "a turn that the budget does not cover is denied, in the unit that is short, and reserves nothing",
    async ({ store }) => {
      for (const [name, limit, unit] of [
        ["tokens", limited(99, 1_000), { unit: "tokens", wanted: 100, remaining: 99 }],
        ["money", limited(100, 999), { unit: "microDollars", wanted: 1_000, remaining: 999 }],
      ] as const) {
        const run = await SampleRun.create(store, name, limit);
        assert.deepEqual(await run.open(1), { kind: "denied", ...unit });
        assert.deepEqual((await run.record()).reserved, NOTHING);
        assert.deepEqual(await store.listModelCalls(name), []);
      }
    },
  ),

  check("a denied turn opens once there is budget", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", limited(99));
    assert.equal((await run.open(1)).kind, "denied");
    await store.releaseRun(run.fence, FAILED);
    const richer = await run.takenOver(store, limited(100));
    assert.deepEqual(await richer.open(1), { kind: "opened", attempt: 1, reserved: RESERVE });
  }),

  check("settling charges the usage and returns the rest", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store, "run-1", limited(120));
    const openedAt = now();
    await run.open(1);
    advance(5);
    const settlement = { stepKey: run.stepKey, turnIndex: 1, attempt: 1, charge: CHARGE };
    await store.settleModelCall(run.fence, settlement);
    const { reserved, charged } = await run.record();
    assert.deepEqual([reserved, charged], [NOTHING, CHARGE.amount]);
    const [call] = await store.listModelCalls(run.runId);
    assert.deepEqual(call, {
      stepPath: "draft",
      turnIndex: 1,
      attempt: 1,
      reserved: RESERVE,
      charge: CHARGE,
      openedAt,
      settledAt: now(),
    });
    assert.deepEqual(await run.open(1), { kind: "denied", unit: "tokens", wanted: 100, remaining: 90 });
  }),

  check("an attempt is settled once, however it ends", async ({ store }) => {
    const run = await SampleRun.create(store);
    const settlement = { stepKey: run.stepKey, turnIndex: 1, attempt: 1, charge: CHARGE };
    const settle = () => store.settleModelCall(run.fence, settlement);
    await assertRefused(store, run.runId, settle);
    await run.open(1);
    await assertRefused(store, run.runId, () =>
      store.settleModelCall(run.fence, { ...settlement, attempt: 2 }),
    );
    await settle();
    await assertRefused(store, run.runId, settle);
    await assertRefused(store, run.runId, () => store.journalResponse(run.fence, run.journal(1)));
    const commit = run.commit(1, { journal: run.journal(1) });
    await assertRefused(store, run.runId, () => store.commitTurn(run.fence, commit));
    await run.open(1);
    await store.journalResponse(run.fence, run.journal(1, [], { attempt: 2 }));
    await assertRefused(store, run.runId, () =>
      store.settleModelCall(run.fence, { ...settlement, attempt: 2 }),
    );
    assert.deepEqual((await run.record()).charged, { tokens: 60, microDollars: 600 });
  }),

  check(
    "one attempt of a turn is open at a time, and the next one gets the next number",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await run.open(1);
      await assertRefused(store, run.runId, () => run.open(1));
      for (const attempt of [1, 2]) {
        await store.settleModelCall(run.fence, {
          stepKey: run.stepKey,
          turnIndex: 1,
          attempt,
          charge: UNSENT,
        });
        assert.deepEqual(await run.open(1), { kind: "opened", attempt: attempt + 1, reserved: RESERVE });
      }
      const calls = await store.listModelCalls(run.runId);
      assert.deepEqual(
        calls.map(({ attempt, charge }) => [attempt, charge?.basis]),
        [
          [1, "none"],
          [2, "none"],
          [3, undefined],
        ],
      );
      assert.deepEqual((await run.record()).reserved, RESERVE);
    },
  ),

  check("usage above the reservation is charged anyway, and the next turn is denied", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", limited(150));
    await run.open(1);
    const amount = { tokens: 170, microDollars: 5 };
    const journal = run.journal(1, [], { charge: { ...CHARGE, amount } });
    await store.commitTurn(run.fence, run.commit(1, { journal }));
    assert.deepEqual((await run.record()).charged, amount);
    assert.deepEqual(await run.open(2), { kind: "denied", unit: "tokens", wanted: 100, remaining: 0 });
  }),

  check("a commit reserves for the next turn after settling this turn's reservation", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", limited(130));
    await run.open(1);
    const commit = run.commit(1, { journal: run.journal(1), next: run.opening(2) });
    const { next } = await store.commitTurn(run.fence, commit);
    assert.deepEqual(next, { kind: "opened", attempt: 1, reserved: RESERVE });
    const { reserved, charged } = await run.record();
    assert.deepEqual([reserved, charged], [RESERVE, CHARGE.amount]);
    await store.commitTurn(run.fence, run.commit(2, { journal: run.journal(2) }));
    assert.deepEqual((await run.record()).reserved, NOTHING);
    assert.deepEqual(
      (await store.listModelCalls(run.runId)).map(({ turnIndex, charge }) => [turnIndex, charge?.basis]),
      [
        [1, "provider"],
        [2, "provider"],
      ],
    );
  }),

  check("a commit holds even if the next turn is denied", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", limited(129));
    await run.open(1);
    const commit = run.commit(1, { journal: run.journal(1), next: run.opening(2) });
    const { next } = await store.commitTurn(run.fence, commit);
    assert.deepEqual(next, { kind: "denied", unit: "tokens", wanted: 100, remaining: 99 });
    assert.equal((await store.readConversation(run.runId, run.stepKey, 0)).turnIndex, 1);
    const { reserved, charged } = await run.record();
    assert.deepEqual([reserved, charged], [NOTHING, CHARGE.amount]);
    assert.equal((await store.listModelCalls(run.runId)).length, 1);
  }),

  check(
    "a commit can only open the next turn of the same step, and only if the step continues",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      const other = await run.at("polish");
      await run.open(1);
      const commit = run.commit(1, { journal: run.journal(1) });
      for (const next of [run.opening(1), run.opening(3), other.opening(1), other.opening(2)])
        await assertRefused(store, run.runId, () => store.commitTurn(run.fence, { ...commit, next }));
      const last = { ...commit, isComplete: true, next: run.opening(2) };
      await assertRefused(store, run.runId, () => store.commitTurn(run.fence, last));
    },
  ),

  check("an outage is in the event of its refused request", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    const outage = { since: now(), retryAt: now() + 500, status: 503 };
    const settle = async (attempt: number, more: { readonly outage?: typeof outage | null }) => {
      await run.open(1);
      const settlement = { stepKey: run.stepKey, turnIndex: 1, attempt, charge: UNSENT, ...more };
      await store.settleModelCall(run.fence, settlement);
      return (await store.listEvents(run.runId)).at(-1)?.data as { readonly outage?: unknown };
    };
    assert.deepEqual((await settle(1, { outage })).outage, outage);
    assert.equal((await settle(2, { outage: null })).outage, undefined);
    assert.equal((await settle(3, {})).outage, undefined);
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  check("usage adds up what the provider reported, and counts the charged calls", async ({ store }) => {
    const run = await SampleRun.create(store);
    assert.deepEqual(await store.readUsage(run.runId), {
      ...NO_USAGE,
      charged: NOTHING,
      modelCalls: 0,
      baseline: { charged: NOTHING, modelCalls: 0 },
    });
    await run.committed(1);
    await run.committed(2);
    for (const [i, charge] of [BASELINE, UNSENT].entries()) {
      await run.open(3);
      await store.settleModelCall(run.fence, {
        stepKey: run.stepKey,
        turnIndex: 3,
        attempt: i + 1,
        charge,
      });
    }
    await run.open(3);
    assert.deepEqual(await store.readUsage(run.runId), {
      inputTokens: 40,
      outputTokens: 20,
      cachedInputTokens: 10,
      reasoningTokens: 4,
      charged: { tokens: 160, microDollars: 1_600 },
      modelCalls: 3,
      baseline: { charged: RESERVE, modelCalls: 1 },
    });
  }),

  check("amounts that are not whole numbers are refused", async ({ store }) => {
    const run = await SampleRun.create(store);
    const odd = { tokens: 0.5, microDollars: 0 };
    const negative = { tokens: 0, microDollars: -1 };
    for (const reserve of [odd, negative])
      await assertRefused(store, run.runId, () => run.open(1, { reserve }));
    await run.open(1);
    for (const amount of [odd, negative]) {
      const charge = { ...CHARGE, amount };
      const settlement = { stepKey: run.stepKey, turnIndex: 1, attempt: 1, charge };
      await assertRefused(store, run.runId, () => store.settleModelCall(run.fence, settlement));
    }
  }),
];
