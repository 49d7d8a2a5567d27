import assert from "node:assert/strict";
import { isJsonObject } from "../../../core/json.ts";
import type { Store, ToolCallRecord } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import { foundBy } from "../runs/runs.ts";
import { newSpec } from "../sample-contract.ts";
import { claimedAt, finishedCode, forked, keyedCall, keyedTurn, newFork } from "../sample-fork.ts";
import { DEFAULT_PLACE, FAILED, LEASE_MS, limited, newReceipt, SampleRun, SUCCEEDED } from "../sample-run.ts";
import {
  appliedIn,
  milestone,
  sampleEvent,
  sessionCommit,
  slicesOf,
  startLineage,
  wholeSlice,
} from "../sample-session.ts";

/** A call without what is specific to its run: its id and its key. */
function withoutRun({ toolCallId: _, idempotencyKey: __, ...call }: ToolCallRecord): unknown {
  return call;
}

async function stepsOf(store: Store, runId: string): Promise<unknown[]> {
  return (await store.listSteps(runId)).map(({ path, status, output }) => [path, status, output]);
}

/** A finished loop, and one of three iterations with a loop of two rounds inside, each round with two turns. */
async function nestedLoops(run: SampleRun): Promise<void> {
  const decide = (stepKey: number, iteration: number, done: boolean) => {
    const [output, context] = [`${iteration}`, { iteration }];
    return run.store.decideLoop(run.fence, { stepKey, iteration, done, output, context });
  };
  const early = await run.at("early", { kind: "loop" });
  await decide(early.stepKey, 1, false);
  await decide(early.stepKey, 2, true);
  await run.store.finishStep(run.fence, { stepKey: early.stepKey, output: "2", context: null });
  const loop = await run.at("polish", { kind: "loop" });
  for (const iteration of [1, 2, 3]) {
    const pass = await run.at("pass", { path: `polish[${iteration}]/pass`, kind: "loop" });
    for (const round of [1, 2]) {
      const step = await run.at("edit", { path: `polish[${iteration}]/pass[${round}]/edit` });
      await keyedTurn(step, 1);
      await keyedTurn(step, 2, [], { isComplete: true });
      await run.store.finishStep(run.fence, { stepKey: step.stepKey, output: round, context: null });
      await decide(pass.stepKey, round, round === 2);
    }
    await run.store.finishStep(run.fence, { stepKey: pass.stepKey, output: iteration, context: null });
    await decide(loop.stepKey, iteration, iteration === 3);
  }
}

/** The decisions of each loop of a run, as pairs of iteration and done. */
async function decisionsOf(store: Store, runId: string) {
  const decided: Record<string, unknown> = {};
  for (const { path, kind, stepKey } of await store.listSteps(runId)) {
    const decisions = await store.listLoopDecisions(runId, stepKey);
    if (kind === "loop") decided[path] = decisions.map(({ iteration, done }) => [iteration, done]);
  }
  return decided;
}

export const forkChecks: readonly Check[] = [
  check("a fork is a new queued run that records its origin", async ({ store, now, advance }) => {
    const spec = newSpec({ maxSteps: 9 });
    const run = await SampleRun.create(store, "run-1", { spec, ...limited(500) });
    await keyedTurn(run, 1);
    await store.releaseRun(run.fence, FAILED);
    advance(5);
    await forked(store, newFork(run, 1));
    const parent = await run.record();
    const fork = await store.getRun("fork");
    assert.ok(fork !== null);
    const { entrypoint: _, currentStep: __, epoch: ___, moved: ____, ...record } = fork;
    assert.deepEqual(
      { ...record, readyAt: null },
      {
        runId: "fork",
        pipeline: parent.pipeline,
        status: "queued",
        createdAt: now(),
        updatedAt: now(),
        inputHash: parent.inputHash,
        owner: null,
        leaseUntil: 0,
        limit: parent.limit,
        deadline: null,
        spec,
        budgets: spec.budgets,
        cancelRequestedAt: null,
        forkedFrom: {
          runId: "run-1",
          stepPath: "draft",
          turnIndex: 1,
          firstRunId: "run-1",
          ...(await store.countWork("run-1")),
        },
        startedBy: null,
        charged: { tokens: 0, microDollars: 0 },
        reserved: { tokens: 0, microDollars: 0 },
        output: null,
        context: null,
        error: null,
        finalArtifact: null,
        ...DEFAULT_PLACE,
      },
    );
    assert.deepEqual(await store.readRunInput("fork"), await store.readRunInput("run-1"));
    assert.deepEqual(await store.listAttempts("fork"), [], "no worker has claimed it");
    const [event, ...more] = await store.listEvents("fork");
    assert.deepEqual([event?.seq, event?.type, more], [1, "run.forked", []]);
    assert.ok(event !== undefined && isJsonObject(event.data));
    const { parent: from, step, turn } = event.data;
    assert.deepEqual([from, step, turn], ["run-1", "draft", 1]);
  }),

  check("it has the turns up to that one, as they were, and none after it", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1, [newReceipt(1), newReceipt(2, { status: "failed", errorCode: "busy" })]);
    await keyedTurn(run, 2, [], { followUp: "Weiter 🙂.", messages: 2 });
    await keyedTurn(run, 3);
    await run.open(4);
    await store.journalResponse(run.fence, run.journal(4, ["running"]));
    await store.releaseRun(run.fence, FAILED);
    for (const [turnIndex, messages, tokens] of [
      [1, 3, 24],
      [2, 5, 34],
      [3, 7, 51],
    ] as const) {
      const runId = `fork-${turnIndex}`;
      await forked(store, newFork(run, turnIndex, { runId }));
      const theirs = (await store.listTurns("run-1")).slice(0, turnIndex);
      const mine = await store.listTurns(runId);
      assert.deepEqual(
        mine.map(({ calls, ...turn }) => ({ ...turn, calls: calls.map(withoutRun) })),
        theirs.map(({ calls, ...turn }) => ({ ...turn, calls: calls.map(withoutRun) })),
      );
      const step = await store.findStep(runId, "draft");
      const { tail, ...conversation } = await store.readConversation(runId, step?.stepKey ?? 0, 1_000);
      assert.equal(tail.length, turnIndex);
      assert.deepEqual(conversation, {
        turnIndex,
        isComplete: false,
        fingerprint: null,
        lineages: [],
        summary: null,
        isInputRefused: false,
        messages,
        tokens,
        journaled: null,
        taken: [],
      });
    }
  }),

  check("the steps before it stay finished, and the forked one continues", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1, [], { isComplete: true });
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: "drafted", context: { a: 1 } });
    await finishedCode(run, "render", "rendered");
    const review = await run.at("review");
    await keyedTurn(review, 1);
    await keyedTurn(review, 2, [], { isComplete: true });
    await store.finishStep(run.fence, { stepKey: review.stepKey, output: "reviewed", context: null });
    await finishedCode(run, "send", "sent");
    await store.releaseRun(run.fence, SUCCEEDED);
    await forked(store, newFork(review, 1));
    assert.deepEqual(await stepsOf(store, "fork"), [
      ["draft", "succeeded", "drafted"],
      ["render", "succeeded", "rendered"],
      ["review", "ready", null],
    ]);
    const [draft, render, forkedStep] = await store.listSteps("fork");
    assert.deepEqual(draft, await store.findStep("run-1", "draft"), "steps keep their numbers");
    assert.deepEqual([render?.context, forkedStep?.context], [{ made: "render" }, null]);
    const calls = await store.listToolCalls("fork");
    assert.deepEqual(
      calls.map(({ toolCallId, request }) => [toolCallId, request]),
      [
        ["fork/render#0.1", { query: "code 1" }],
        ["fork/review#1.1", { query: "1.1" }],
      ],
    );
    assert.deepEqual(await store.listCodeStepCalls("fork", render?.stepKey ?? 0), [calls[0]]);
    assert.equal((await store.readGranularState("fork", "draft"))?.isComplete, true);
    assert.equal((await store.readHistory("fork", "draft")).length, 3);
  }),

  check("a failed step is ready again", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    await store.releaseRun(run.fence, FAILED);
    await forked(store, newFork(run, 1));
    const step = await store.findStep("fork", "draft");
    assert.deepEqual([step?.status, step?.errorCode, step?.errorDetail], ["ready", null, null]);
  }),

  check("a step with complete turns stays complete if it is forked at the last one", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    await keyedTurn(run, 2, [], { isComplete: true });
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: 1, context: null });
    await store.releaseRun(run.fence, SUCCEEDED);
    for (const [turnIndex, isComplete] of [
      [1, false],
      [2, true],
    ] as const) {
      const runId = `fork-${turnIndex}`;
      await forked(store, newFork(run, turnIndex, { runId }));
      const step = await store.findStep(runId, "draft");
      const conversation = await store.readConversation(runId, step?.stepKey ?? 0, 0);
      assert.deepEqual([conversation.turnIndex, conversation.isComplete], [turnIndex, isComplete]);
    }
  }),

  check("in a loop it has the earlier iterations and their decisions", async ({ store }) => {
    const run = await SampleRun.create(store);
    await nestedLoops(run);
    await store.releaseRun(run.fence, FAILED);
    await forked(store, newFork(run, 1, { stepPath: "polish[2]/pass[2]/edit" }));
    assert.deepEqual(await stepsOf(store, "fork"), [
      ["draft", "ready", null],
      ["early", "succeeded", "2"],
      ["polish", "ready", null],
      ["polish[1]/pass", "succeeded", 1],
      ["polish[1]/pass[1]/edit", "succeeded", 1],
      ["polish[1]/pass[2]/edit", "succeeded", 2],
      ["polish[2]/pass", "ready", null],
      ["polish[2]/pass[1]/edit", "succeeded", 1],
      ["polish[2]/pass[2]/edit", "ready", null],
    ]);
    assert.deepEqual(await decisionsOf(store, "fork"), {
      early: [
        [1, false],
        [2, true],
      ],
      polish: [[1, false]],
      "polish[1]/pass": [
        [1, false],
        [2, true],
      ],
      "polish[2]/pass": [[1, false]],
    });
    const polish = await store.findStep("fork", "polish");
    const [first] = await store.listLoopDecisions("fork", polish?.stepKey ?? 0);
    assert.deepEqual([first?.output, first?.context], ["1", { iteration: 1 }]);
  }),

  check("it has the session that it is given", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    const applied = (turn: number) => sessionCommit({ applied: [run.callId(turn, 1)] });
    const values = { slices: [wholeSlice("plan", ["read", "write"])], checkpoint: milestone({ turn: 1 }) };
    const receipts = [newReceipt(1, { sessionEvents: [sampleEvent("first")] })];
    await keyedTurn(run, 1, receipts, { session: { ...applied(1), ...values } });
    await keyedTurn(run, 2, [newReceipt(1)]);
    await keyedTurn(run, 3, receipts, { session: { ...applied(3), slices: [wholeSlice("plan", ["sent"])] } });
    await store.releaseRun(run.fence, FAILED);
    const slices = [
      wholeSlice("plan", ["read", "more"]),
      wholeSlice("log", [1], { kind: "log", version: 2 }),
    ];
    const checkpoint = milestone({ plan: "read" }, { forkedFrom: "run-1" });
    await forked(store, newFork(run, 2, { slices, checkpoint }));
    assert.deepEqual(await slicesOf(store, "fork"), { plan: ["read", "more"], log: [1] });
    assert.deepEqual(await appliedIn(store, "fork"), ["fork/draft#1.1"]);
    assert.deepEqual(await store.listCheckpoints("fork"), [
      {
        checkpoint: 1,
        type: "milestone",
        stepPath: "draft",
        turnIndex: 2,
        cursor: { forkedFrom: "run-1" },
        contract: null,
        size: 15,
        isSuperseded: false,
        at: now(),
      },
    ]);
    assert.deepEqual((await store.readCheckpoint("fork"))?.snapshot, { plan: "read" });
  }),

  check("abandoned turns of the parent are abandoned in the fork", async ({ store }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1, [newReceipt(1)], {
      session: sessionCommit({ applied: [run.callId(1, 1)], checkpoint: milestone({ turn: 1 }) }),
    });
    await keyedTurn(run, 2, [newReceipt(1)], { session: sessionCommit({ applied: [run.callId(2, 1)] }) });
    await run.open(3);
    const calls = [keyedCall(run, 3, 1)];
    await store.journalResponse(run.fence, run.journal(3, ["running"], { calls }));
    await run.receipt(3, 1);
    assert.equal(await startLineage(run, 1), 4);
    await keyedTurn(run, 4);
    await keyedTurn(run, 5);
    await store.releaseRun(run.fence, FAILED);
    await forked(store, newFork(run, 4));
    const turns = await store.listTurns("fork");
    assert.deepEqual(
      turns.map(({ turnIndex, committed }) => [turnIndex, committed]),
      [
        [1, true],
        [2, true],
        [3, false],
        [4, true],
      ],
    );
    const step = await store.findStep("fork", "draft");
    const { turnIndex, tail, lineages, messages } = await store.readConversation(
      "fork",
      step?.stepKey ?? 0,
      1_000,
    );
    assert.deepEqual([turnIndex, tail.map((turn) => turn.turnIndex), messages], [4, [4], 2]);
    assert.deepEqual(lineages, [{ firstTurn: 4, baseTurn: 1 }]);
    assert.deepEqual(
      (await store.listLineages("fork")).map(({ stepPath, openTurn, checkpoint }) => [
        stepPath,
        openTurn,
        checkpoint,
      ]),
      [["draft", 3, null]],
      "the checkpoint of the first run is none of the fork's",
    );
    assert.deepEqual(await appliedIn(store, "fork"), ["fork/draft#1.1"], "what was forgotten stays so");
    const fork = await claimedAt(store, "fork");
    await fork.committed(5);
    assert.equal((await store.readHistory("fork", "draft")).length, 5);
  }),

  check("a fork is resumed by its id only: no input finds it", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    await store.releaseRun(run.fence, { status: "queued" });
    await forked(store, newFork(run, 1));
    const { pipeline, inputHash } = await run.record();
    assert.deepEqual(await foundBy(store, pipeline, inputHash), ["run-1 queued"], "no worker has claimed it");
    await claimedAt(store, "fork");
    advance(LEASE_MS);
    assert.deepEqual(await foundBy(store, pipeline, inputHash), ["run-1 queued"], "its worker fell silent");
  }),

  check("a run is held while a living worker has it", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await keyedTurn(run, 1);
    assert.equal(await store.isHeld("run-1"), true);
    advance(LEASE_MS);
    assert.equal(await store.isHeld("run-1"), false, "its worker fell silent");
    await forked(store, newFork(run, 1));
    assert.equal(await store.isHeld("fork"), false, "no worker has claimed it");
    const { fence } = await claimedAt(store, "fork");
    assert.deepEqual([await store.isHeld("fork"), await store.isHeld("run-1")], [true, false]);
    await store.releaseRun(fence, SUCCEEDED);
    assert.equal(await store.isHeld("fork"), false, "it has ended");
    assert.equal(await store.isHeld("nobody"), false);
  }),

  check("copied steps and calls do not count as the fork's work", async ({ store }) => {
    const run = await SampleRun.create(store);
    await finishedCode(run, "render", "rendered");
    await keyedTurn(run, 1, [newReceipt(1), newReceipt(2)]);
    await keyedTurn(run, 2);
    await store.releaseRun(run.fence, FAILED);
    await forked(store, newFork(run, 1));
    assert.deepEqual(await store.countWork("fork"), { steps: 0, toolCalls: 0 });
    const fork = await claimedAt(store, "fork");
    await keyedTurn(fork, 2);
    await fork.at("send", { kind: "run" });
    assert.deepEqual(await store.countWork("fork"), { steps: 1, toolCalls: 1 });
    await store.releaseRun(fork.fence, FAILED);
    await forked(store, newFork(fork, 2, { runId: "fork-2" }));
    assert.deepEqual(await store.countWork("fork-2"), { steps: 0, toolCalls: 0 });
    assert.equal((await store.getRun("fork-2"))?.forkedFrom?.firstRunId, "run-1");
  }),

  check("it has the version of an artifact as of its turn, despite later versions", async (scene) => {
    const { store, advance } = scene;
    const run = await SampleRun.create(store);
    const keep = async (step: SampleRun, text: string) => {
      advance(5);
      const artifact = { stepKey: step.stepKey, name: "plan.md", bytes: Buffer.from(text) };
      await store.keepArtifact(step.fence, artifact);
    };
    await keep(run, "first");
    await keyedTurn(run, 1);
    await keep(run, "second");
    await keyedTurn(run, 2);
    await keep(await run.at("send", { kind: "run" }), "third");
    await store.releaseRun(run.fence, SUCCEEDED);
    for (const [turnIndex, text] of [
      [1, "first"],
      [2, "second"],
    ] as const) {
      const runId = `fork-${turnIndex}`;
      await forked(store, newFork(run, turnIndex, { runId }));
      const bytes = await store.readArtifact(runId, "plan.md");
      assert.equal(bytes === null ? null : Buffer.from(bytes).toString(), text);
    }
  }),
];
