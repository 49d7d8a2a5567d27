import assert from "node:assert/strict";
import type { Json } from "../../../core/json.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { FAILED, intentFacts, newStep, SampleRun } from "../sample-run.ts";

export const stepChecks: readonly Check[] = [
  check(
    "entering a step starts it, numbers it, and makes it the run's current step",
    async ({ store, now, advance }) => {
      const run = await SampleRun.create(store);
      advance(5);
      const input = { list: [1, { ü: null }] };
      const step = await store.beginStep(
        run.fence,
        newStep("pass", { path: "polish[2]/pass", kind: "run", phase: "edit", input }),
      );
      assert.deepEqual(step, {
        stepKey: step.stepKey,
        path: "polish[2]/pass",
        name: "pass",
        kind: "run",
        phase: "edit",
        input,
        stepIndex: 2,
        status: "running",
        output: null,
        context: null,
        errorCode: null,
        errorDetail: null,
        createdAt: now(),
        updatedAt: now(),
      });
      assert.deepEqual(await store.findStep(run.runId, "polish[2]/pass"), step);
      assert.deepEqual(
        (await store.listSteps(run.runId)).map(({ path }) => path),
        ["draft", "polish[2]/pass"],
      );
      assert.equal((await run.record()).currentStep, "polish[2]/pass");
      assert.equal(await store.findStep(run.runId, "pass"), null, "a step is found by its whole path");
    },
  ),

  check("a step found running is entered again as the same instance", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.at("polish");
    advance(5);
    const again = await store.beginStep(run.fence, newStep("draft"));
    assert.deepEqual(again, { ...run.step, updatedAt: run.step.updatedAt + 5 });
    assert.equal((await store.listSteps(run.runId)).length, 2);
    assert.equal((await run.record()).currentStep, "draft");
  }),

  check("a failed step is entered again as the same instance, without its error", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, FAILED);
    assert.equal((await store.findStep(run.runId, "draft"))?.errorCode, "step_failed");
    const later = await run.takenOver();
    assert.deepEqual(await store.beginStep(later.fence, newStep("draft")), run.step);
  }),

  check("a blocked step is entered again as the same instance", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, { status: "waiting", error: null, waits: [] });
    assert.equal((await store.findStep(run.runId, "draft"))?.status, "blocked");
    const later = await run.takenOver();
    assert.deepEqual(await store.beginStep(later.fence, newStep("draft")), run.step);
  }),

  check(
    "a finished step keeps its output and context, and is never entered again",
    async ({ store, advance }) => {
      const run = await SampleRun.create(store);
      advance(5);
      const context = { notes: ["a", { b: null }] };
      await store.finishStep(run.fence, { stepKey: run.stepKey, output: { ok: [true] }, context });
      const finished = await store.findStep(run.runId, "draft");
      assert.deepEqual(finished, {
        ...run.step,
        status: "succeeded",
        output: { ok: [true] },
        context,
        updatedAt: run.step.updatedAt + 5,
      });
      await assertRefused(store, run.runId, () => store.beginStep(run.fence, newStep("draft")));
      const again = { stepKey: run.stepKey, output: "other", context: null };
      await assertRefused(store, run.runId, () => store.finishStep(run.fence, again));
      await store.releaseRun(run.fence, FAILED);
      assert.deepEqual(
        await store.findStep(run.runId, "draft"),
        finished,
        "not even when the run fails after it",
      );
      const later = await run.takenOver();
      await assertRefused(store, run.runId, () => store.beginStep(later.fence, newStep("draft")));
    },
  ),

  check("a step that left the context unchanged stores none", async ({ store }) => {
    const run = await SampleRun.create(store);
    const polish = await run.at("polish");
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: null, context: null });
    await store.finishStep(run.fence, { stepKey: polish.stepKey, output: null, context: {} });
    const steps = await store.listSteps(run.runId);
    assert.deepEqual(
      steps.map(({ context }) => context),
      [null, {}],
    );
  }),

  check("a step that is not running cannot finish", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, FAILED);
    const later = await run.takenOver();
    const finish = { stepKey: run.stepKey, output: 1, context: null };
    await assertRefused(store, run.runId, () => store.finishStep(later.fence, finish));
  }),

  check("the same path in two runs is two steps", async ({ store }) => {
    const a = await SampleRun.create(store, "a");
    const b = await SampleRun.create(store, "b");
    await store.finishStep(a.fence, { stepKey: a.stepKey, output: "a", context: null });
    assert.equal((await store.findStep("a", "draft"))?.output, "a");
    assert.deepEqual(await store.findStep("b", "draft"), b.step);
  }),

  check("the decisions of a loop are read in order, as they were made", async ({ store }) => {
    const run = await SampleRun.create(store);
    const { stepKey } = run;
    assert.deepEqual(await store.listLoopDecisions(run.runId, stepKey), []);
    const decisions = [
      { stepKey, iteration: 1, done: false, output: null, context: null },
      { stepKey, iteration: 2, done: false, output: { n: 2 }, context: { draft: "é" } },
      { stepKey, iteration: 10, done: true, output: "end", context: {} },
    ];
    for (const decision of decisions.toReversed()) await store.decideLoop(run.fence, decision);
    assert.deepEqual(await store.listLoopDecisions(run.runId, stepKey), decisions);
    const other = await run.at("polish");
    assert.deepEqual(await store.listLoopDecisions(other.runId, other.stepKey), [], "each loop has its own");
  }),

  check("a loop decides once about an iteration", async ({ store }) => {
    const run = await SampleRun.create(store);
    const decision = { stepKey: run.stepKey, iteration: 1, done: false, output: 1, context: null };
    await store.decideLoop(run.fence, decision);
    await assertRefused(store, run.runId, () => store.decideLoop(run.fence, { ...decision, done: true }));
  }),

  check("a step that was not needed is stored as skipped, and was never entered", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    const input = { list: [1, { ü: null }] };
    const step = newStep("send", { path: "polish[2]/send", kind: "run", phase: "deliver", input });
    await store.skipStep(run.fence, step);
    const skipped = await store.findStep(run.runId, "polish[2]/send");
    assert.deepEqual(skipped, {
      ...step,
      stepKey: skipped?.stepKey,
      stepIndex: 2,
      status: "skipped",
      output: null,
      context: null,
      errorCode: null,
      errorDetail: null,
      createdAt: now(),
      updatedAt: now(),
    });
    assert.equal((await run.record()).currentStep, "draft", "the run's current step is unchanged");
    const [event] = (await store.listEvents(run.runId)).slice(-1);
    assert.ok(event !== undefined);
    assert.deepEqual(
      [event.type, intentFacts(event)],
      ["step.skipped", { step: "polish[2]/send", kind: "run" }],
    );
    const finish = { stepKey: skipped?.stepKey ?? 0, output: 1, context: null };
    await assertRefused(store, run.runId, () => store.finishStep(run.fence, finish));
    await store.releaseRun(run.fence, FAILED);
    assert.deepEqual(await store.findStep(run.runId, "polish[2]/send"), skipped);
  }),

  check("a step that was begun keeps its status, and is not skipped", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.skipStep(run.fence, newStep("draft"));
    assert.deepEqual(await store.findStep(run.runId, "draft"), run.step);
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: 1, context: null });
    await store.skipStep(run.fence, newStep("draft"));
    assert.equal((await store.findStep(run.runId, "draft"))?.status, "succeeded");
    await store.skipStep(run.fence, newStep("send"));
    await store.skipStep(run.fence, newStep("send"));
    assert.deepEqual(
      (await store.listSteps(run.runId)).map(({ path, status }) => [path, status]),
      [
        ["draft", "succeeded"],
        ["send", "skipped"],
      ],
    );
  }),

  check("a skipped step can still be entered", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.skipStep(run.fence, newStep("send"));
    const skipped = await store.findStep(run.runId, "send");
    assert.deepEqual(await store.beginStep(run.fence, newStep("send")), { ...skipped, status: "running" });
  }),

  check("values that are not JSON are refused before anything is stored", async ({ store }) => {
    const run = await SampleRun.create(store);
    const given: unknown = { when: new Date(0) };
    const output = given as Json;
    await assertRefused(store, run.runId, () =>
      store.beginStep(run.fence, newStep("polish", { input: output })),
    );
    await assertRefused(store, run.runId, () =>
      store.finishStep(run.fence, { stepKey: run.stepKey, output, context: null }),
    );
    await assertRefused(store, run.runId, () =>
      store.releaseRun(run.fence, { status: "succeeded", output, context: {} }),
    );
  }),
];
