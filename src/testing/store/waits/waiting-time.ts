import assert from "node:assert/strict";
import type { Store } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import { budgetWait, newSpec, runWithBudgets } from "../sample-contract.ts";
import { FAILED, LEASE_MS, newReceipt, SampleRun, sha256 } from "../sample-run.ts";

const MINUTE_MS = 60_000;
const BUDGETS = { maxWallclockMinutes: 10, maxToolCalls: 1 };
const ARGUMENTS = sha256("arguments").toString("hex");

/** Every action that may be the last one that a run waits for. */
const LAST_ACTIONS: { readonly [action: string]: (store: Store, run: SampleRun) => Promise<unknown> } = {
  "an approval": (store) => store.approve("run-1~1"),
  "a denial": (store) => store.deny("run-1~1", "No."),
  "an answer": (store) => store.answer("run-1~1", "The other one."),
  "a settlement": (store) => store.settle("run-1/draft#1.1", { as: "retry" }),
  "a late receipt": (store, run) => store.offerLateReceipt(run.late(1, 1, newReceipt(1))),
  "a new limit": (store) => store.answer("run-1~1", 2),
  "a wish to end it": (store) => store.requestCancel("run-1"),
  "no action at all": (_, run) => run.takenOver(),
};

/** A run with ten minutes of time, one of them used, that waits for one of these actions. */
async function waitingFor(store: Store, action: string, advance: (ms: number) => void): Promise<SampleRun> {
  const run = await runWithBudgets(store, BUDGETS);
  const isApproval = action === "an approval" || action === "a denial";
  await run.journaled(1, [isApproval ? "prepared" : "running"]);
  advance(MINUTE_MS);
  await store.renewLease(run.fence, LEASE_MS);
  if (isApproval) await run.waiting(run.approval(1, 1, ARGUMENTS));
  else if (action === "an answer") await run.waiting(run.wait(1, 1, { kind: "question" }));
  else if (action === "a new limit") await run.waiting(budgetWait("maxToolCalls", 1, 2));
  else await run.waiting(run.wait(1, 1));
  return run;
}

async function deadlineOf(run: SampleRun): Promise<number | null> {
  return (await run.record()).deadline;
}

export const waitingTimeChecks: readonly Check[] = [
  ...Object.entries(LAST_ACTIONS).map(([action, perform]) =>
    check(
      `the waiting time of a run is added to its deadline with ${action}`,
      async ({ store, now, advance }) => {
        const end = now() + 10 * MINUTE_MS;
        const run = await waitingFor(store, action, advance);
        advance(5 * MINUTE_MS);
        assert.equal(await deadlineOf(run), end, "the waiting time is not known yet");
        await perform(store, run);
        assert.equal(await deadlineOf(run), end + 5 * MINUTE_MS);
      },
    ),
  ),

  check("waiting time counts if the budgets say so", async ({ store, now, advance }) => {
    const end = now() + 10 * MINUTE_MS;
    for (const [runId, isAnswered] of [
      ["answered", true],
      ["claimed", false],
    ] as const) {
      const spec = newSpec({ ...BUDGETS, countWaitingTime: true });
      const run = await SampleRun.create(store, runId, { spec, deadline: end });
      await run.journaled(1, ["prepared"]);
      await run.waiting(run.approval(1, 1, ARGUMENTS));
      advance(5 * MINUTE_MS);
      if (isAnswered) await store.approve(`${runId}~1`);
      else await run.takenOver();
      assert.equal(await deadlineOf(run), end);
    }
  }),

  check("a deadline without a contract is moved too", async ({ store, now, advance }) => {
    const end = now() + 10 * MINUTE_MS;
    const run = await SampleRun.create(store, "run-1", { deadline: end });
    await run.waiting();
    advance(MINUTE_MS);
    assert.equal(await deadlineOf(await run.takenOver()), end + MINUTE_MS);
  }),

  check("a run without a deadline gets none by waiting", async ({ store, advance }) => {
    const run = await runWithBudgets(store, { maxToolCalls: 1 });
    await run.waiting(budgetWait("maxToolCalls", 1, 2));
    advance(MINUTE_MS);
    await store.answer("run-1~1", 2);
    assert.equal(await deadlineOf(run), null);
  }),

  check("a run waits until the last answer, and its time in the queue counts", async (scene) => {
    const { store, now, advance } = scene;
    const end = now() + 10 * MINUTE_MS;
    const run = await runWithBudgets(store, BUDGETS);
    await run.journaled(1, ["prepared", "prepared"]);
    await run.waiting(run.approval(1, 1, ARGUMENTS), run.approval(1, 2, ARGUMENTS));
    advance(MINUTE_MS);
    await store.approve("run-1~2");
    assert.equal(await deadlineOf(run), end);
    advance(MINUTE_MS);
    await store.approve("run-1~1");
    assert.equal(await deadlineOf(run), end + 2 * MINUTE_MS);
    advance(3 * MINUTE_MS);
    assert.equal(await deadlineOf(await run.takenOver()), end + 2 * MINUTE_MS);
  }),

  check("each waiting period is added once", async ({ store, now, advance }) => {
    let run = await runWithBudgets(store, BUDGETS);
    const end = now() + 10 * MINUTE_MS;
    for (const times of [1, 2, 3]) {
      await run.waiting();
      advance(MINUTE_MS);
      run = await run.takenOver();
      assert.equal(await deadlineOf(run), end + times * MINUTE_MS);
    }
    advance(LEASE_MS);
    assert.equal(await deadlineOf(await run.takenOver()), end + 3 * MINUTE_MS);
  }),

  check("a failed or released run has no waiting time", async ({ store, now, advance }) => {
    for (const end of [FAILED, { status: "queued" } as const]) {
      const deadline = now() + 10 * MINUTE_MS;
      const run = await SampleRun.create(store, end.status, { deadline });
      await store.releaseRun(run.fence, end);
      advance(5 * MINUTE_MS);
      assert.equal(await deadlineOf(await run.takenOver()), deadline);
    }
  }),

  check("a wait that needs no answer takes no time", async ({ store, now, advance }) => {
    const run = await runWithBudgets(store, BUDGETS);
    const end = now() + 10 * MINUTE_MS;
    await run.journaled(1, ["running"]);
    await run.receipt(1, 1);
    await run.waiting(run.wait(1, 1));
    advance(MINUTE_MS);
    const later = await run.takenOver();
    assert.equal(await deadlineOf(later), end);
  }),
];
