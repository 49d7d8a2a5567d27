import assert from "node:assert/strict";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { assertRunSpec } from "../../../core/job/run-spec.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { NewCheckpoint } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { keyedTurn, newFork } from "../sample-fork.ts";
import { FAILED, newReceipt, newStart, SampleRun, SUCCEEDED, sha256 } from "../sample-run.ts";
import {
  eventTurn,
  milestone,
  milestoneTurn,
  sessionCommit,
  startLineage,
  wholeSlice,
} from "../sample-session.ts";

/** A snapshot of exactly this many bytes of JSON. */
function snapshotOf(bytes: number, letter: string): JsonObject {
  const room = bytes - Buffer.byteLength(canonicalJson({ text: "" }));
  const width = Buffer.byteLength(letter);
  const text = letter.repeat(Math.floor(room / width)) + ".".repeat(room % width);
  return { text };
}

/** Text that hardly compresses. */
function noise(bytes: number): JsonObject {
  let text = "";
  for (let i = 0; text.length < bytes; i++) text += sha256(`noise ${i}`).toString("base64");
  return { text };
}

const SNAPSHOTS: readonly JsonObject[] = [
  {},
  { version: 1, slices: [{ name: "plan", values: [{ id: 1, done: true }, null, [], {}] }] },
  { slices: { plan: { version: 1, values: [{ id: 1 }, "ü"] }, none: [], text: "🙂", n: 1 }, version: 1 },
  { slices: {} },
  { ü: 'naïve 🙂 \u0000 \u2028 "quoted"', "": { n: [1e21, -0.25, 0] } },
  ...[4_094, 4_095, 4_096, 4_097, 100_000].flatMap((bytes) =>
    ["x", "ü", "🙂"].map((letter) => snapshotOf(bytes, letter)),
  ),
  noise(3_000),
  noise(50_000),
];

/** The numbers of a run's checkpoints, each with whether it is superseded. */
async function numbersOf(run: SampleRun): Promise<string[]> {
  const checkpoints = await run.store.listCheckpoints(run.runId);
  return checkpoints.map(
    ({ checkpoint, isSuperseded }) => `${checkpoint}${isSuperseded ? " superseded" : ""}`,
  );
}

/** The last one that a run can go back to. It is the same with its snapshot and without. */
async function lastOf(run: SampleRun): Promise<unknown> {
  const last = await run.store.readCheckpoint(run.runId);
  const record = await run.store.findMilestone(run.runId);
  assert.deepEqual(last === null ? null : { ...record, snapshot: last.snapshot }, last);
  return last === null ? record : [last.checkpoint, last.snapshot];
}

export const checkpointChecks: readonly Check[] = [
  check("a checkpoint is read back as taken, with its position and time", async (scene) => {
    const { store, now, advance } = scene;
    const run = await SampleRun.create(store);
    const polish = await run.at("polish", { path: "loop[2]/polish" });
    await polish.committed(1);
    advance(5);
    const snapshot = { plan: [{ id: 1, title: "Lesen 🙂" }] };
    const cursor = { lastCall: "run-1/loop[2]/polish#2.1", artifacts: ["größe.txt", { n: 1 }] };
    assert.equal(await eventTurn(polish, 2, { checkpoint: milestone(snapshot, cursor) }), 1);
    const record = {
      checkpoint: 1,
      type: "milestone",
      stepPath: "loop[2]/polish",
      turnIndex: 2,
      cursor,
      contract: null,
      size: Buffer.byteLength(canonicalJson(snapshot)),
      isSuperseded: false,
      at: now(),
    };
    advance(5);
    assert.deepEqual(await store.listCheckpoints(run.runId), [record]);
    for (const read of [store.readCheckpoint(run.runId), store.readCheckpoint(run.runId, 1)])
      assert.deepEqual(await read, { ...record, snapshot });
  }),

  check("a snapshot is read back as it was, whatever its size", async ({ store }) => {
    const run = await SampleRun.create(store);
    for (const [i, snapshot] of SNAPSHOTS.entries()) {
      const cursor = i % 5 === 0 ? snapshot : {};
      assert.equal(await eventTurn(run, i + 1, { checkpoint: milestone(snapshot, cursor) }), i + 1);
    }
    for (const [i, snapshot] of SNAPSHOTS.entries()) {
      const stored = await store.readCheckpoint(run.runId, i + 1);
      const { size } = stored ?? {};
      assert.deepEqual(stored?.snapshot, snapshot);
      assert.deepEqual(stored?.cursor, i % 5 === 0 ? snapshot : {});
      assert.equal(size, Buffer.byteLength(canonicalJson(snapshot)), "the size is that of the JSON");
    }
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  check("slices are read back as they were, whichever of them had changed", async ({ store }) => {
    let run = await SampleRun.create(store);
    const [long, other] = ["long ".repeat(2_000), "other"];
    const snapshots: readonly JsonObject[] = [
      { slices: { a: long, b: [1] } },
      { slices: { a: long, b: [2] } },
      { slices: { a: other, b: [2], "c.d-e": long } },
      { slices: { a: long, b: [2] }, session: { id: "s" } },
      { slices: { a: long, b: [1] } },
      { slices: { b: long } },
      ...[8_190, 8_191, 8_192, 16_384].flatMap((length) =>
        ["🙂", "x"].map((letter) => ({ slices: { b: `${"ü".repeat(length - 1)}${letter}${long}` } })),
      ),
    ];
    for (const [i, snapshot] of snapshots.entries()) {
      if (i === 3) {
        await store.releaseRun(run.fence, FAILED);
        run = await run.takenOver();
        await run.at("draft");
      }
      await eventTurn(run, i + 1, { checkpoint: milestone(snapshot) });
    }
    for (const [i, snapshot] of snapshots.entries()) {
      const stored = await store.readCheckpoint(run.runId, i + 1);
      assert.deepEqual(stored?.snapshot, snapshot);
      assert.equal(stored?.size, Buffer.byteLength(canonicalJson(snapshot)));
    }
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  check("a checkpoint has a summary of its run's contract, and a fork's has it too", async ({ store }) => {
    const contract = { objective: "Schreib über Ratschen 🙂", stopConditions: ["sent"] };
    const budgets = { maxSteps: 3, maxCostUsd: 0.5 };
    const artifacts = { expectedOutputs: ["report.html"], finalOutput: "größe.pdf" };
    const spec = assertRunSpec({ ...contract, budgets, artifacts });
    const run = await SampleRun.create(store, "run-1", { spec });
    await keyedTurn(run, 1, [newReceipt(1)], { session: sessionCommit({ checkpoint: milestone({}) }) });
    const summary = {
      ...contract,
      expectedOutputs: ["report.html", "größe.pdf"],
      finalOutput: "größe.pdf",
      budgets,
    };
    assert.deepEqual((await store.listCheckpoints(run.runId))[0]?.contract, summary);
    assert.deepEqual((await store.readCheckpoint(run.runId))?.contract, summary);
    await store.releaseRun(run.fence, FAILED);
    await store.forkRun(newFork(run, 1));
    assert.deepEqual((await store.readCheckpoint("fork"))?.contract, summary);
  }),

  check("the last checkpoint is read by default, and any by its number", async ({ store }) => {
    const run = await SampleRun.create(store);
    assert.equal(await store.readCheckpoint(run.runId), null);
    for (const turn of [1, 2, 3]) {
      assert.equal(await milestoneTurn(run, turn), turn);
      assert.deepEqual(await lastOf(run), [turn, { turn }]);
    }
    assert.deepEqual((await store.readCheckpoint(run.runId, 2))?.snapshot, { turn: 2 });
    for (const number of [0, 4, -1, 1.5])
      assert.equal(await store.readCheckpoint(run.runId, number), null, `there is no checkpoint ${number}`);
  }),

  check("checkpoints are numbered in their run, across its steps", async ({ store }) => {
    const run = await SampleRun.create(store);
    const other = await SampleRun.create(store, "run-2");
    const polish = await run.at("polish");
    const numbers = [
      await milestoneTurn(run, 1),
      await milestoneTurn(other, 1),
      await milestoneTurn(polish, 1),
      await milestoneTurn(run, 2),
    ];
    assert.deepEqual(numbers, [1, 1, 2, 3]);
    assert.deepEqual(
      (await store.listCheckpoints(run.runId)).map(({ stepPath, turnIndex }) => [stepPath, turnIndex]),
      [
        ["draft", 1],
        ["polish", 1],
        ["draft", 2],
      ],
    );
    assert.deepEqual(await lastOf(other), [1, { turn: 1 }]);
  }),

  check("a commit without a checkpoint takes none and no number", async ({ store }) => {
    const run = await SampleRun.create(store);
    assert.equal(await eventTurn(run, 1, { slices: [wholeSlice("a", [1])] }), null);
    await run.committed(2);
    await run.journaled(3, ["running"]);
    const commit = run.commit(3, { session: sessionCommit({ checkpoint: milestone({ turn: 3 }) }) });
    await assertRefused(store, run.runId, () => store.commitTurn(run.fence, commit));
    await run.receipt(3, 1);
    assert.equal((await store.commitTurn(run.fence, commit)).checkpoint, 1);
  }),

  check("the end of a step may be a checkpoint, of no turn", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    await run.committed(2, { isComplete: true });
    const session = sessionCommit({
      slices: [wholeSlice("result", ["done"])],
      checkpoint: { type: "step_boundary", snapshot: { result: "done" }, cursor: { step: "draft" } },
    });
    const finished = { stepKey: run.stepKey, output: 1, context: null, session };
    assert.deepEqual(await store.finishStep(run.fence, finished), { checkpoint: 2 });
    assert.deepEqual(await store.readCheckpoint(run.runId), {
      checkpoint: 2,
      type: "step_boundary",
      stepPath: "draft",
      turnIndex: 0,
      cursor: { step: "draft" },
      contract: null,
      size: 17,
      isSuperseded: false,
      at: now(),
      snapshot: { result: "done" },
    });
    await assertRefused(store, run.runId, () => store.finishStep(run.fence, finished));
    const code = await run.at("code", { kind: "run" });
    const last = await store.finishStep(code.fence, { ...finished, stepKey: code.stepKey });
    assert.deepEqual(last, { checkpoint: 3 });
    const silent = await run.at("silent", { kind: "run" });
    const ended = await store.finishStep(run.fence, {
      stepKey: silent.stepKey,
      output: 1,
      context: null,
      session: sessionCommit(),
    });
    assert.deepEqual(ended, { checkpoint: null });
    assert.deepEqual(
      (await store.listCheckpoints(run.runId)).map(({ type, stepPath }) => `${type} of ${stepPath}`),
      ["milestone of draft", "step_boundary of draft", "step_boundary of code"],
    );
  }),

  check("a checkpoint before a side effect records where the run stood", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    const before = (n: number): NewCheckpoint => ({
      type: "pre_side_effect",
      snapshot: { before: n },
      cursor: { phase: "send", stepIndex: n },
    });
    await run.open(2);
    const journal = run.journal(2, ["running", "prepared"], { checkpoint: before(2) });
    await store.journalResponse(run.fence, journal);
    const start = { stepKey: run.stepKey, turnIndex: 2, calls: [newStart(2)], checkpoint: before(3) };
    await store.startToolCalls(run.fence, start);
    const code = await run.at("send", { kind: "run" });
    const call = code.codeCall(1, { checkpoint: before(4) });
    assert.equal(await store.openToolCall(code.fence, call), 1);
    const checkpoints = await store.listCheckpoints(run.runId);
    assert.deepEqual(
      checkpoints.map(({ checkpoint, type, stepPath, turnIndex, at }) => [
        checkpoint,
        type,
        stepPath,
        turnIndex,
        at,
      ]),
      [
        [1, "milestone", "draft", 1, now()],
        [2, "pre_side_effect", "draft", 2, now()],
        [3, "pre_side_effect", "draft", 2, now()],
        [4, "pre_side_effect", "send", 0, now()],
      ],
    );
    assert.deepEqual(checkpoints[1]?.cursor, { phase: "send", stepIndex: 2 });
    assert.deepEqual((await store.readCheckpoint(run.runId, 4))?.snapshot, { before: 4 });
    assert.deepEqual(await lastOf(run), [1, { turn: 1 }], "these are never rolled back to");
  }),

  check("a call that is not dispatched leaves no checkpoint", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    const checkpoint: NewCheckpoint = { type: "pre_side_effect", snapshot: {}, cursor: {} };
    const start = { stepKey: run.stepKey, turnIndex: 1, calls: [newStart(1)], checkpoint };
    await assertRefused(store, run.runId, () => store.startToolCalls(run.fence, start));
    const again = run.journal(1, ["running"], { checkpoint });
    await assertRefused(store, run.runId, () => store.journalResponse(run.fence, again));
    const { idempotencyKey } = run.call(1, 1);
    const taken = run.codeCall(1, { idempotencyKey, checkpoint });
    await assertRefused(store, run.runId, () => store.openToolCall(run.fence, taken));
  }),

  check("the end of a phase is a checkpoint that the session can be rolled back to", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committed(1, { isComplete: true });
    const checkpoint: NewCheckpoint = { type: "phase_boundary", snapshot: { phase: "plan" }, cursor: {} };
    const end = { stepKey: run.stepKey, output: 1, context: null, session: sessionCommit({ checkpoint }) };
    assert.deepEqual(await store.finishStep(run.fence, end), { checkpoint: 1 });
    assert.deepEqual(await lastOf(run), [1, { phase: "plan" }]);
    const polish = await run.at("polish");
    await polish.committed(1);
    assert.equal(await startLineage(polish, 1), 2);
  }),

  check("a snapshot never changes, whatever happens to the session", async ({ store }) => {
    let run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    const saved = await store.readCheckpoint(run.runId, 1);
    await eventTurn(run, 2, { slices: [wholeSlice("a", [1, 2, 3])] });
    await store.releaseRun(run.fence, FAILED);
    run = await run.takenOver();
    await run.at("draft");
    await milestoneTurn(run, 3);
    await store.releaseRun(run.fence, SUCCEEDED);
    assert.deepEqual(await store.readCheckpoint(run.runId, 1), saved);
  }),

  check("the last checkpoint is the latest one that is not superseded", async ({ store }) => {
    const run = await SampleRun.create(store);
    for (const turn of [1, 2, 3, 4]) await milestoneTurn(run, turn);
    const fourth = await store.readCheckpoint(run.runId, 4);
    await startLineage(run, 2);
    assert.deepEqual(await numbersOf(run), ["1", "2", "3 superseded", "4 superseded"]);
    assert.deepEqual(await lastOf(run), [2, { turn: 2 }]);
    assert.ok(fourth !== null);
    assert.deepEqual(await store.readCheckpoint(run.runId, 4), { ...fourth, isSuperseded: true });
    assert.equal(await milestoneTurn(run, 5), 5, "numbers continue");
    assert.deepEqual(await lastOf(run), [5, { turn: 5 }]);
    await startLineage(run, 5);
    assert.deepEqual(await lastOf(run), [5, { turn: 5 }], "nothing came after it");
    await startLineage(run, 1);
    assert.deepEqual(await lastOf(run), [1, { turn: 1 }]);
    assert.deepEqual(await numbersOf(run), [
      "1",
      "2 superseded",
      "3 superseded",
      "4 superseded",
      "5 superseded",
    ]);
  }),

  check("a session rolled back to its beginning has no last checkpoint", async ({ store }) => {
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    await milestoneTurn(run, 2);
    await startLineage(run, null);
    assert.equal(await lastOf(run), null);
    assert.deepEqual(await numbersOf(run), ["1 superseded", "2 superseded"]);
    assert.deepEqual((await store.readCheckpoint(run.runId, 2))?.snapshot, { turn: 2 });
    assert.equal(await milestoneTurn(run, 3), 3);
    assert.deepEqual(await lastOf(run), [3, { turn: 3 }]);
  }),
];
