import assert from "node:assert/strict";
import { AlreadySettledError, ConfigurationError, NotJsonError } from "../../../core/errors.ts";
import type { Budgets } from "../../../core/job/budgets.ts";
import type { Json } from "../../../core/json.ts";
import { NO_BUDGETS } from "../../../core/usage/budget.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { budgetsOf, budgetWait, runWithBudgets } from "../sample-contract.ts";
import { claimOptions, NO_CLOCK, type SampleRun, SUCCEEDED, sha256 } from "../sample-run.ts";

const ANN = { by: "Ann 🙂" };
const MINUTE_MS = 60_000;

/** A run that has used up its tool calls and waits for a decision about that. */
async function asked(store: Store, budgets: Partial<Budgets> = {}): Promise<SampleRun> {
  const run = await runWithBudgets(store, { maxToolCalls: 10, ...budgets });
  await run.waiting(budgetWait("maxToolCalls", 10, 11));
  return run;
}

async function statusesOf(run: SampleRun): Promise<string[]> {
  return (await run.waits()).map(({ waitId, status }) => `${waitId} ${status}`);
}

/** Values that are not a budget. */
const WRONG: readonly Json[] = [-1, null, true, "", " ", "many", "-3", "Infinity", [20], { limit: 20 }];

export const budgetWaitChecks: readonly Check[] = [
  check("a budget wait is about the run, and stored as asked", async ({ store, now, advance }) => {
    const run = await runWithBudgets(store, { maxToolCalls: 10 });
    advance(5);
    await run.waiting({ ...budgetWait("maxToolCalls", 10, 11), question: "Mehr Aufrufe? 🙂" });
    assert.deepEqual(await run.waits(), [
      {
        waitId: "run-1~1",
        runId: "run-1",
        kind: "budget",
        toolCallId: null,
        attempt: 0,
        question: "Mehr Aufrufe? 🙂",
        subject: { budget: "maxToolCalls", limit: 10, used: 11 },
        argumentsHash: null,
        status: "open",
        createdAt: now(),
        answeredAt: null,
        answeredBy: null,
        people: [],
        answer: null,
        ...NO_CLOCK,
      },
    ]);
    const { status, owner } = await run.record();
    assert.deepEqual([status, owner], ["waiting", null]);
  }),

  check("the answer is the new limit, and queues the run", async ({ store, now, advance }) => {
    const run = await asked(store, { maxSteps: 5 });
    advance(5);
    await store.answer("run-1~1", 20, ANN);
    const [wait] = await run.waits();
    assert.deepEqual(
      [wait?.status, wait?.answeredAt, wait?.answeredBy, wait?.answer],
      ["answered", now(), "Ann 🙂", { as: "answered", value: 20 }],
    );
    const { status, budgets, spec } = await run.record();
    assert.equal(status, "queued");
    assert.deepEqual(budgets, { ...NO_BUDGETS, maxToolCalls: 20, maxSteps: 5 });
    assert.equal(spec?.budgets.maxToolCalls, 10, "the contract stays what it was");
    const claimed = await store.claimRun(run.runId, claimOptions({ from: ["queued"] }));
    assert.equal(claimed.kind === "claimed" && claimed.claim.run.budgets?.maxToolCalls, 20);
    assert.deepEqual(await store.listToolCalls(run.runId), [], "it is no call's result");
  }),

  check("a number that was typed as text is a number", async ({ store }) => {
    const run = await asked(store);
    await store.answer("run-1~1", "20");
    assert.equal((await budgetsOf(run))?.maxToolCalls, 20);
  }),

  check(
    "an answer about tokens, money or time changes limit and deadline",
    async ({ store, now, advance }) => {
      const run = await runWithBudgets(store, { maxTokens: 40, maxCostUsd: 0.001, maxWallclockMinutes: 10 });
      const started = now();
      assert.equal((await run.open(1)).kind, "denied");
      await run.waiting(
        budgetWait("maxTokens", 40, 100),
        budgetWait("maxCostUsd", 0.001, 0.002),
        budgetWait("maxWallclockMinutes", 10, 11),
      );
      advance(MINUTE_MS);
      await store.answer("run-1~1", 400);
      await store.answer("run-1~2", 0.25);
      assert.equal((await run.record()).status, "waiting");
      await store.answer("run-1~3", 12.5);
      const { limit, deadline, status } = await run.record();
      assert.deepEqual(limit, { tokens: 400, microDollars: 250_000 });
      assert.equal(deadline, started + 13.5 * MINUTE_MS, "what it was given, and what it waited");
      assert.equal(status, "queued");
      assert.equal((await (await run.takenOver()).open(1)).kind, "opened");
    },
  ),

  check("usage still counts after a budget was raised", async ({ store }) => {
    const run = await runWithBudgets(store, { maxTokens: 100 });
    await run.committed(1);
    await run.waiting(budgetWait("maxTokens", 100, 130));
    await store.answer("run-1~1", 150);
    const later = await run.takenOver();
    assert.deepEqual((await later.record()).charged, { tokens: 30, microDollars: 300 });
    const wanted = { tokens: 121, microDollars: 0 };
    const denied = await later.open(2, { reserve: wanted });
    assert.deepEqual(denied, { kind: "denied", unit: "tokens", wanted: 121, remaining: 120 });
  }),

  check("an answer that is not a number above 0 is refused, and the wait stays open", async ({ store }) => {
    const run = await runWithBudgets(store, { maxSteps: 1, maxToolCalls: 1, maxCostUsd: 1 });
    const budgets = ["maxSteps", "maxToolCalls", "maxCostUsd"] as const;
    await run.waiting(...budgets.map((budget) => budgetWait(budget, 1, 2)));
    const refused = (n: number, value: unknown, error: typeof ConfigurationError | typeof NotJsonError) =>
      assertRefused(store, run.runId, () => store.answer(`run-1~${n}`, value as Json), error);
    for (const value of WRONG) for (const n of [1, 2, 3]) await refused(n, value, ConfigurationError);
    for (const value of [0, "0"]) for (const n of [1, 3]) await refused(n, value, ConfigurationError);
    for (const value of [2.5, "2.5"]) for (const n of [1, 2]) await refused(n, value, ConfigurationError);
    for (const value of [undefined, Number.NaN, Number.POSITIVE_INFINITY])
      await refused(1, value, NotJsonError);
    await store.answer("run-1~3", 2.5);
  }),

  check(
    "a denial is stored with its reason, leaves the budgets unchanged, and queues the run",
    async ({ store, now }) => {
      const run = await asked(store);
      const before = await run.record();
      await store.deny("run-1~1", "It has cost enough.", ANN);
      const [wait] = await run.waits();
      assert.deepEqual(
        [wait?.status, wait?.answeredAt, wait?.answeredBy, wait?.answer],
        ["answered", now(), "Ann 🙂", { approved: false, why: "It has cost enough." }],
      );
      const { status, budgets, limit } = await run.record();
      assert.deepEqual([status, budgets, limit], ["queued", before.budgets, before.limit]);
      const again = await assertRefused(
        store,
        run.runId,
        () => store.answer("run-1~1", 20),
        AlreadySettledError,
      );
      assert.deepEqual(AlreadySettledError.isInstance(again) && again.details.status, "answered");
    },
  ),

  check("a budget wait cannot be approved, nor denied without a reason", async ({ store }) => {
    const run = await asked(store);
    await assertRefused(store, run.runId, () => store.approve("run-1~1"), ConfigurationError);
    for (const why of ["", " \n"])
      await assertRefused(store, run.runId, () => store.deny("run-1~1", why), ConfigurationError);
  }),

  check("an open budget wait is not asked again", async ({ store, advance }) => {
    let run = await asked(store);
    const before = await run.waits();
    advance(5);
    run = await run.takenOver();
    await run.waiting(budgetWait("maxToolCalls", 10, 14), budgetWait("maxToolCalls", 10, 15));
    assert.deepEqual(await run.waits(), before);
    await store.answer("run-1~1", 20);
    assert.equal((await run.record()).status, "queued", "one answer is enough");
  }),

  check("a claim that raises a budget withdraws the wait about it", async ({ store, now }) => {
    let run = await runWithBudgets(store, { maxSteps: 1, maxToolCalls: 1 });
    await run.waiting(budgetWait("maxSteps", 1, 2), budgetWait("maxToolCalls", 1, 2));
    run = await run.takenOver(store, { budgets: { maxToolCalls: 5 } });
    const waits = await run.waits();
    assert.deepEqual(
      waits.map(({ status, answeredAt, answeredBy }) => [status, answeredAt, answeredBy]),
      [
        ["open", null, null],
        ["withdrawn", now(), null],
      ],
    );
    await store.answer("run-1~1", 2);
    assert.deepEqual([(await budgetsOf(run))?.maxSteps, (await budgetsOf(run))?.maxToolCalls], [2, 5]);
  }),

  check("a wait about another value of a budget replaces the first", async ({ store }) => {
    let run = await asked(store);
    run = await run.takenOver(store, { budgets: { maxToolCalls: 12 } });
    await run.waiting(budgetWait("maxToolCalls", 12, 13));
    assert.deepEqual(await statusesOf(run), ["run-1~1 withdrawn", "run-1~2 open"]);
    await assertRefused(store, run.runId, () => store.answer("run-1~1", 20), AlreadySettledError);
    await store.answer("run-1~2", 20);
    assert.equal((await run.record()).status, "queued");
  }),

  check("a person can be asked each time a budget is used up", async ({ store }) => {
    let run = await asked(store);
    await store.answer("run-1~1", 20);
    run = await run.takenOver();
    await run.waiting(budgetWait("maxToolCalls", 20, 21));
    await store.deny("run-1~2", "No.");
    run = await run.takenOver();
    await run.waiting(budgetWait("maxToolCalls", 20, 21));
    assert.deepEqual(await statusesOf(run), ["run-1~1 answered", "run-1~2 answered", "run-1~3 open"]);
    assert.equal((await budgetsOf(run))?.maxToolCalls, 20);
  }),

  check("waits about budgets and calls can be open together, and all need an answer", async ({ store }) => {
    const run = await runWithBudgets(store, { maxSteps: 1, maxToolCalls: 1 });
    await run.journaled(1, ["prepared"]);
    await run.waiting(
      budgetWait("maxToolCalls", 1, 2),
      run.approval(1, 1, sha256("arguments").toString("hex")),
      budgetWait("maxSteps", 1, 2),
    );
    await store.answer("run-1~1", 2);
    await store.approve("run-1~2");
    assert.equal((await run.record()).status, "waiting");
    await store.answer("run-1~3", 3);
    const { status, budgets } = await run.record();
    assert.deepEqual([status, budgets?.maxToolCalls, budgets?.maxSteps], ["queued", 2, 3]);
  }),

  check("a person may answer while a worker holds the run, which keeps it", async ({ store }) => {
    const run = await asked(store);
    const worker = await run.takenOver();
    await store.answer("run-1~1", 20);
    const { status, owner, budgets } = await run.record();
    assert.deepEqual([status, owner !== null, budgets?.maxToolCalls], ["running", true, 20]);
    await worker.committed(1);
    assert.equal((await budgetsOf(run))?.maxToolCalls, 20, "what the worker commits does not undo it");
  }),

  check("a run that succeeded has no open budget waits", async ({ store }) => {
    const run = await asked(store);
    const later = await run.takenOver();
    await store.releaseRun(later.fence, SUCCEEDED);
    assert.deepEqual(await statusesOf(run), ["run-1~1 withdrawn"]);
  }),
];
