import assert from "node:assert/strict";
import { ConfigurationError } from "../../../core/errors.ts";
import type { Budgets } from "../../../core/job/budgets.ts";
import { assertRunSpec, type RunSpec } from "../../../core/job/run-spec.ts";
import { isJsonObject } from "../../../core/json.ts";
import { NO_BUDGETS } from "../../../core/usage/budget.ts";
import { assertRefused, type Check, check, rejection } from "../check.ts";
import { readEverything } from "../everything.ts";
import { budgetsOf, newSpec, runWithBudgets } from "../sample-contract.ts";
import { claimOptions, FAILED, LEASE_MS, limited, newRun, SampleRun } from "../sample-run.ts";

const MINUTE_MS = 60_000;

/** A spec with a value in every field. */
const SPEC: RunSpec = assertRunSpec({
  objective: "Schreib über Ratschen 🙂",
  pipeline: "report",
  input: { topic: "ratchets", pages: [1, null, -0.25] },
  constraints: { mustCiteSources: true, allowedDomains: ["example.org"], forbiddenActions: ["delete_*"] },
  budgets: { maxWallclockMinutes: 90, maxSteps: 50, maxToolCalls: 250, maxTokens: 10_000, maxCostUsd: 2.5 },
  stopConditions: ["report_created", "email_sent_once"],
  escalation: { askHumanOnBudgetReached: true },
  artifacts: {
    workspaceDir: "runs",
    expectedOutputs: ["report.html", "größe.txt"],
    finalOutput: "report.html",
  },
});

/** Invalid budgets, for a new run and for a claim. */
const WRONG: readonly Record<string, unknown>[] = [
  { maxSteps: 0 },
  { maxSteps: -1 },
  { maxSteps: 1.5 },
  { maxSteps: "7" },
  { maxSteps: null },
  { maxTokens: Number.NaN },
  { maxCostUsd: Number.POSITIVE_INFINITY },
  { maxCostUsd: 0 },
  { maxWallclockMinutes: -0.5 },
  { maxWishes: 3 },
  { countWaitingTime: 1 },
];

export const budgetChecks: readonly Check[] = [
  check("a run keeps its contract as given", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", { spec: SPEC });
    const { spec, budgets } = await run.record();
    assert.deepEqual([spec, budgets], [SPEC, SPEC.budgets]);
    assert.deepEqual((await store.listRuns())[0], await run.record());
    await store.releaseRun(run.fence, FAILED);
    const claimed = await store.claimRun(run.runId, claimOptions({ budgets: { maxSteps: 51 } }));
    assert.ok(claimed.kind === "claimed");
    assert.deepEqual(claimed.claim.run.spec, SPEC, "a later change of budgets does not change it");
    assert.deepEqual(claimed.claim.run.budgets, { ...SPEC.budgets, maxSteps: 51 });
  }),

  check("budgets of tokens and money limit the model calls", async ({ store }) => {
    const run = await runWithBudgets(store, { maxTokens: 150, maxCostUsd: 0.0015 });
    assert.deepEqual((await run.record()).limit, { tokens: 150, microDollars: 1_500 });
    const dear = await run.open(1, { reserve: { tokens: 150, microDollars: 1_501 } });
    assert.deepEqual(dear, { kind: "denied", unit: "microDollars", wanted: 1_501, remaining: 1_500 });
    const long = await run.open(1, { reserve: { tokens: 151, microDollars: 1 } });
    assert.equal(long.kind === "denied" && long.unit, "tokens");
    assert.equal((await run.open(1, { reserve: { tokens: 150, microDollars: 1_500 } })).kind, "opened");
  }),

  check("a money budget is never exceeded, not even by a fraction", async ({ store }) => {
    const run = await runWithBudgets(store, { maxCostUsd: 0.0000019 });
    assert.equal((await run.record()).limit.microDollars, 1);
  }),

  check("the lower one of a limit and a budget applies, for each unit", async ({ store }) => {
    const spec = newSpec({ maxTokens: 100, maxCostUsd: 5 });
    const run = await SampleRun.create(store, "run-1", { spec, ...limited(500, 7) });
    assert.deepEqual((await run.record()).limit, { tokens: 100, microDollars: 7 });
    const open = await SampleRun.create(store, "run-2", { spec: newSpec(), ...limited(500, null) });
    assert.deepEqual((await open.record()).limit, { tokens: 500, microDollars: null });
  }),

  check("the budget of time sets the deadline, unless an earlier one is given", async ({ store, now }) => {
    const spec = newSpec({ maxWallclockMinutes: 1.5 });
    const run = await SampleRun.create(store, "run-1", { spec });
    assert.equal((await run.record()).deadline, now() + 90_000);
    const given = await SampleRun.create(store, "run-2", { spec, deadline: now() + 7 });
    assert.equal((await given.record()).deadline, now() + 7);
    const late = await SampleRun.create(store, "run-4", { spec, deadline: now() + 90_001 });
    assert.equal((await late.record()).deadline, now() + 90_000, "no later than the budget allows");
    const free = await SampleRun.create(store, "run-3", { spec: newSpec({ maxSteps: 1 }) });
    assert.equal((await free.record()).deadline, null);
  }),

  check("a run does not start with invalid budgets", async ({ store }) => {
    const budgets: Budgets = { ...NO_BUDGETS, maxTokens: 1.5 };
    await rejection(store.createRun(newRun("run-1", { spec: { ...newSpec(), budgets } })));
    assert.equal(await store.getRun("run-1"), null);
  }),

  check("a claim raises only the budgets it names", async ({ store, now, advance }) => {
    const before = { maxSteps: 5, maxToolCalls: 10, maxTokens: 150, maxCostUsd: 1, maxWallclockMinutes: 10 };
    const run = await runWithBudgets(store, before);
    await run.committed(1);
    await store.releaseRun(run.fence, FAILED);
    const started = now();
    advance(3 * MINUTE_MS);
    const raised = { maxSteps: 6, maxTokens: 500, maxCostUsd: 0.5, maxWallclockMinutes: 15 };
    const later = await run.takenOver(store, { budgets: raised });
    assert.deepEqual(await budgetsOf(later), { ...NO_BUDGETS, ...before, ...raised });
    const { limit, deadline, charged } = await later.record();
    assert.deepEqual(limit, { tokens: 500, microDollars: 500_000 }, "a budget may also be lowered");
    assert.equal(deadline, started + 15 * MINUTE_MS, "the time it has used still counts");
    assert.deepEqual(charged, { tokens: 30, microDollars: 300 }, "usage still counts");
    const { type, data } = await later.lastEvent();
    assert.deepEqual([type, isJsonObject(data) && data.budgets], ["run.claimed", raised]);
  }),

  check("a budget below the current usage leaves nothing", async ({ store }) => {
    const run = await runWithBudgets(store, { maxTokens: 500 });
    await run.committed(1);
    await store.releaseRun(run.fence, FAILED);
    const later = await run.takenOver(store, { budgets: { maxTokens: 20 } });
    const denied = await later.open(2);
    assert.deepEqual(denied, { kind: "denied", unit: "tokens", wanted: 100, remaining: 0 });
  }),

  check("a claim can give budgets to a run that had none", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, FAILED);
    advance(5 * MINUTE_MS);
    const budgets = { maxToolCalls: 3, maxTokens: 90, maxWallclockMinutes: 2 };
    const later = await run.takenOver(store, { budgets });
    const record = await later.record();
    assert.deepEqual(record.budgets, { ...NO_BUDGETS, ...budgets });
    assert.deepEqual([record.spec, record.deadline], [null, now() + 2 * MINUTE_MS]);
    assert.deepEqual(record.limit, { tokens: 90, microDollars: null });
  }),

  check("a claim without budgets keeps budgets, limit and deadline", async ({ store, advance }) => {
    const run = await runWithBudgets(store, { maxSteps: 5, maxTokens: 150, maxWallclockMinutes: 10 });
    const before = await run.record();
    advance(LEASE_MS);
    const { budgets, limit, deadline } = await (await run.takenOver()).record();
    assert.deepEqual(
      { budgets, limit, deadline },
      {
        budgets: before.budgets,
        limit: before.limit,
        deadline: before.deadline,
      },
    );
  }),

  check("a claim's limit and deadline take precedence over its budgets", async ({ store, now }) => {
    const run = await runWithBudgets(store, { maxTokens: 150, maxWallclockMinutes: 10 });
    await store.releaseRun(run.fence, FAILED);
    const budgets = { maxTokens: 300, maxWallclockMinutes: 20 };
    const later = await run.takenOver(store, { budgets, ...limited(7), deadline: now() + 7 });
    const { limit, deadline } = await later.record();
    assert.deepEqual([limit.tokens, deadline], [7, now() + 7]);
  }),

  check("a claim's limit and deadline cannot exceed the budgets", async ({ store, now, advance }) => {
    const run = await runWithBudgets(store, { maxTokens: 150, maxCostUsd: 1, maxWallclockMinutes: 10 });
    const end = now() + 10 * MINUTE_MS;
    await store.releaseRun(run.fence, FAILED);
    advance(MINUTE_MS);
    const more = { ...limited(1_000, 70), deadline: now() + 60 * MINUTE_MS };
    const later = await run.takenOver(store, more);
    const { limit, deadline } = await later.record();
    assert.deepEqual([limit, deadline], [{ tokens: 150, microDollars: 70 }, end]);
    await store.releaseRun(later.fence, FAILED);
    const never = await run.takenOver(store, { ...limited(null), deadline: null });
    assert.deepEqual((await never.record()).limit, { tokens: 150, microDollars: 1_000_000 });
    assert.equal((await never.record()).deadline, end);
  }),

  check("a claim's limit and deadline apply as given to a run without budgets", async ({ store, now }) => {
    const run = await runWithBudgets(store, { maxSteps: 5 });
    await store.releaseRun(run.fence, FAILED);
    const later = await run.takenOver(store, { ...limited(1_000), deadline: now() + MINUTE_MS });
    const { limit, deadline } = await later.record();
    assert.deepEqual([limit.tokens, deadline], [1_000, now() + MINUTE_MS]);
  }),

  check("a claim with an invalid budget is refused, and the run stays unclaimed", async ({ store }) => {
    const run = await runWithBudgets(store, { maxSteps: 5 });
    await store.releaseRun(run.fence, FAILED);
    for (const wrong of WRONG) {
      const budgets = { maxTokens: 7, ...wrong };
      const claim = () => store.claimRun(run.runId, claimOptions({ budgets }));
      await assertRefused(store, run.runId, claim, ConfigurationError);
    }
    assert.equal((await run.takenOver()).fence.epoch, 2);
  }),

  check("a claim that is not granted changes no budgets", async ({ store }) => {
    const run = await runWithBudgets(store, { maxSteps: 5 });
    const before = await readEverything(store, run.runId);
    const budgets = { maxSteps: 6 };
    assert.equal((await store.claimRun(run.runId, claimOptions({ budgets }))).kind, "busy");
    assert.deepEqual(await readEverything(store, run.runId), before);
    await store.releaseRun(run.fence, FAILED);
    const refused = await store.claimRun(run.runId, claimOptions({ budgets, from: ["queued"] }));
    assert.equal(refused.kind, "refused");
    assert.equal((await budgetsOf(run))?.maxSteps, 5);
  }),

  check("steps and calls are counted across all workers", async ({ store, advance }) => {
    let run = await SampleRun.create(store);
    const count = () => store.countWork(run.runId);
    assert.deepEqual(await count(), { steps: 1, toolCalls: 0 });
    await run.committedWithCall(1);
    await run.journaled(2, ["running", "prepared"]);
    const code = await run.at("code", { kind: "run" });
    await store.openToolCall(code.fence, code.codeCall(1));
    assert.deepEqual(await count(), { steps: 2, toolCalls: 4 });
    advance(LEASE_MS);
    run = await run.takenOver();
    await run.at("draft");
    await run.start(2, 1);
    assert.deepEqual(await count(), { steps: 2, toolCalls: 4 }, "another attempt is not another call");
    const other = await SampleRun.create(store, "run-2");
    await other.committedWithCall(1);
    assert.deepEqual(await count(), { steps: 2, toolCalls: 4 }, "another run's are counted separately");
  }),
];
