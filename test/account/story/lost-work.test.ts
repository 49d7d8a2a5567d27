import { expect, test } from "vitest";
import { readLostWork } from "../../../src/account/story/lost-work.ts";
import { CHARGE, LEASE_MS, RESERVE, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { tickingStore } from "../../export/sample-store.ts";

const NONE = { modelCalls: 0, charged: { tokens: 0, microDollars: 0 } };

test("a run that loses nothing has lost nothing", async () => {
  const { store } = await tickingStore();
  const run = await SampleRun.create(store);
  await run.committed(1);
  expect(await readLostWork(store, run.runId)).toEqual({
    unanswered: NONE,
    abandoned: NONE,
    dropped: NONE,
    total: NONE,
  });
});

test("requests without an answer, dropped answers and abandoned turns are each counted once", async () => {
  const { store, clock } = await tickingStore();
  const first = await SampleRun.create(store);
  await first.committed(1);
  // The answer of turn 2 is dropped, and the model is asked again.
  await first.journaled(2);
  await store.dropTurn(first.fence, { stepKey: first.stepKey, turnIndex: 2 });
  await first.open(2);
  await store.commitTurn(first.fence, first.commit(2, { journal: first.journal(2, [], { attempt: 2 }) }));
  // The worker dies while the model answers.
  await first.open(3);
  clock.at += 2 * LEASE_MS;
  const second = await first.takenOver();
  // It starts again from the beginning: turns 1 and 2 are abandoned.
  await store.beginLineage(second.fence, {
    stepKey: second.stepKey,
    checkpoint: null,
    fingerprint: second.opening(1).fingerprint,
    slices: [],
  });
  const lost = await readLostWork(store, first.runId);
  const { amount } = CHARGE;
  expect(lost.unanswered).toEqual({ modelCalls: 1, charged: RESERVE });
  const usage = await store.readUsage(first.runId);
  expect(lost.total.charged).toEqual(usage.charged);
  expect(lost.abandoned.modelCalls + lost.dropped.modelCalls).toBe(3);
  expect(lost.abandoned.charged.tokens + lost.dropped.charged.tokens).toBe(3 * amount.tokens);
});

test("a dropped answer is lost work, and the one after it is not", async () => {
  const { store } = await tickingStore();
  const run = await SampleRun.create(store);
  await run.journaled(1);
  await store.dropTurn(run.fence, { stepKey: run.stepKey, turnIndex: 1 });
  await run.open(1);
  await store.commitTurn(run.fence, run.commit(1, { journal: run.journal(1, [], { attempt: 2 }) }));
  expect((await readLostWork(store, run.runId)).dropped).toEqual({ modelCalls: 1, charged: CHARGE.amount });
});
