import assert from "node:assert/strict";
import { assertRefused, type Check, check } from "../check.ts";
import { foundBy } from "../runs/runs.ts";
import { claimOptions, FAILED, NO_CLOCK, newReceipt, SampleRun, SUCCEEDED, sha256 } from "../sample-run.ts";

const ARGUMENTS = sha256("arguments").toString("hex");
const OTHERS = sha256("other arguments").toString("hex");
const DONE = { as: "succeeded", result: "It went out." } as const;

/** The status of each wait of a run, in order. */
async function statusesOf(run: SampleRun): Promise<string[]> {
  return (await run.waits()).map(({ waitId, status }) => `${waitId} ${status}`);
}

export const waitChecks: readonly Check[] = [
  check("the open waits of a run are listed without those that were answered", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running", "running"]);
    await run.waiting(run.wait(1, 1), run.wait(1, 2), run.wait(1, 3));
    await store.settle("run-1/draft#1.2", DONE);
    const open = async (range = {}) =>
      (await store.listWaits("run-1", { open: true, ...range })).map(({ waitId }) => waitId);
    assert.deepEqual(await open(), ["run-1~1", "run-1~3"]);
    assert.deepEqual(await open({ after: { waitId: "run-1~1" } }), ["run-1~3"]);
    assert.deepEqual(await open({ limit: 1 }), ["run-1~1"]);
    assert.equal((await store.listWaits("run-1", { open: false })).length, 3);
  }),

  check("a run is released as waiting with its waits, as given", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared", "running"]);
    await store.openToolCall(run.fence, run.codeCall(1));
    advance(5);
    const subject = {
      tool: "send",
      arguments: { to: "ü@example.org", list: [1, null] },
      nested: { a: true },
    };
    const approval = { ...run.approval(1, 2, ARGUMENTS), subject };
    const escalation = run.wait(1, 3, { kind: "escalation", question: "The token is old 🙂: renew it." });
    await run.waiting(run.wait(1, 1), approval, escalation, run.wait(0, 1));
    const asked = {
      runId: "run-1",
      attempt: 1,
      argumentsHash: null,
      subject: { tool: "search" },
      status: "open",
      createdAt: now(),
      answeredAt: null,
      answeredBy: null,
      people: [],
      answer: null,
      ...NO_CLOCK,
    };
    assert.deepEqual(await run.waits(), [
      {
        ...asked,
        waitId: "run-1~1",
        kind: "in_doubt",
        toolCallId: "run-1/draft#1.1",
        question: "Did it happen?",
      },
      {
        ...asked,
        waitId: "run-1~2",
        kind: "approval",
        toolCallId: "run-1/draft#1.2",
        attempt: 0,
        question: "May it run?",
        subject,
        argumentsHash: ARGUMENTS,
      },
      {
        ...asked,
        waitId: "run-1~3",
        kind: "escalation",
        toolCallId: "run-1/draft#1.3",
        question: "The token is old 🙂: renew it.",
      },
      {
        ...asked,
        waitId: "run-1~4",
        kind: "in_doubt",
        toolCallId: "run-1/draft#0.1",
        question: "Did it happen?",
      },
    ]);
  }),

  check("a waiting run is not held, and its step is blocked", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    const events = (await store.listEvents(run.runId)).length;
    await run.waiting(run.wait(1, 1));
    const { status, owner, error, output } = await run.record();
    assert.deepEqual([status, owner, error, output], ["waiting", null, null, null]);
    assert.equal((await store.findStep(run.runId, "draft"))?.status, "blocked");
    assert.equal((await store.listEvents(run.runId)).length, events + 1, "it is one intent");
    assert.equal(
      (await store.claimRun(run.runId, claimOptions({ from: ["queued", "running"] }))).kind,
      "refused",
    );
  }),

  check("all waits are opened and the run is released, or nothing happens", async ({ store }) => {
    const run = await SampleRun.create(store);
    const other = await (await SampleRun.create(store, "run-2")).at("second");
    await run.journaled(1, ["running"]);
    await other.journaled(1, ["running"]);
    for (const wrong of [run.wait(1, 2), run.wait(2, 1), run.wait(0, 1), other.wait(1, 1)])
      await assertRefused(store, run.runId, () => run.waiting(run.wait(1, 1), wrong));
    assert.deepEqual([(await run.record()).status, await other.waits()], ["running", []]);
    await run.waiting(run.wait(1, 1));
  }),

  check("waits are numbered in their run", async ({ store }) => {
    const [a, b] = [await SampleRun.create(store, "a"), await SampleRun.create(store, "b")];
    for (const run of [a, b]) {
      await run.journaled(1, ["running", "running", "running"]);
      await run.waiting(run.wait(1, 2), run.wait(1, 1));
      await (await run.takenOver()).waiting(run.wait(1, 3));
    }
    assert.deepEqual(await statusesOf(a), ["a~1 open", "a~2 open", "a~3 open"]);
    assert.deepEqual(await statusesOf(b), ["b~1 open", "b~2 open", "b~3 open"]);
    await store.settle("a/draft#1.1", DONE);
    assert.deepEqual(await statusesOf(a), ["a~1 open", "a~2 answered", "a~3 open"]);
    assert.deepEqual((await b.waits())[2]?.toolCallId, "b/draft#1.3");
  }),

  check("an open wait is not asked again", async ({ store, advance }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared"]);
    const questions = [run.wait(1, 1), run.approval(1, 2, ARGUMENTS)];
    await run.waiting(...questions);
    const asked = await run.waits();
    advance(5);
    run = await run.takenOver();
    assert.deepEqual(await run.waits(), asked, "a claim leaves the waits unchanged");
    await run.waiting(...questions.map((wait) => ({ ...wait, question: "In other words?" })));
    assert.deepEqual(await run.waits(), asked);
    assert.equal((await run.record()).status, "waiting");
  }),

  check("the same wait twice in one release is one", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.waiting(run.wait(1, 1), run.wait(1, 1));
    assert.deepEqual(await statusesOf(run), ["run-1~1 open"]);
  }),

  check("a wait about other arguments replaces the first", async ({ store, now, advance }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["prepared", "prepared"]);
    await run.waiting(run.approval(1, 1, ARGUMENTS), run.approval(1, 2, ARGUMENTS));
    run = await run.takenOver();
    advance(5);
    await run.waiting(run.approval(1, 1, OTHERS), run.approval(1, 2, ARGUMENTS));
    const [first, second, third] = await run.waits();
    assert.deepEqual(
      [first?.status, first?.answeredAt, first?.answeredBy, first?.answer],
      ["withdrawn", now(), null, null],
    );
    assert.deepEqual([second?.status, second?.answeredAt], ["open", null]);
    assert.deepEqual(
      [third?.status, third?.waitId, third?.argumentsHash, third?.toolCallId],
      ["open", "run-1~3", OTHERS, "run-1/draft#1.1"],
    );
    assert.equal((await run.record()).status, "waiting");
  }),

  check("a granted approval is asked for again if the arguments are different", async ({ store }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["prepared"]);
    await run.waiting(run.approval(1, 1, ARGUMENTS));
    await store.approve("run-1~1");
    run = await run.takenOver();
    await run.waiting(run.approval(1, 1, OTHERS));
    assert.deepEqual(await statusesOf(run), ["run-1~1 answered", "run-1~2 open"]);
  }),

  check(
    "only the newest of several approvals avoids a wait: earlier ones are asked again",
    async ({ store }) => {
      for (const isSecondApproved of [false, true]) {
        const runId = `run-${isSecondApproved}`;
        let run = await SampleRun.create(store, runId);
        await run.journaled(1, ["prepared"]);
        await run.waiting(run.approval(1, 1, ARGUMENTS));
        await store.approve(`${runId}~1`);
        run = await run.takenOver();
        await run.waiting(run.approval(1, 1, OTHERS));
        if (isSecondApproved) await store.approve(`${runId}~2`);
        run = await run.takenOver();
        await assertRefused(store, runId, () => run.startApproved(1, 1, ARGUMENTS));
        await run.waiting(run.approval(1, 1, ARGUMENTS));
        assert.deepEqual(await statusesOf(run), [
          `${runId}~1 answered`,
          `${runId}~2 ${isSecondApproved ? "answered" : "withdrawn"}`,
          `${runId}~3 open`,
        ]);
        assert.equal((await run.record()).status, "waiting");
      }
    },
  ),

  check("every doubt is a wait of its own: the next attempt may be asked about again", async ({ store }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    for (const attempt of [1, 2, 3]) {
      await run.waiting(run.wait(1, 1));
      assert.equal((await run.waits()).at(-1)?.attempt, attempt);
      await store.settle("run-1/draft#1.1", { as: "retry" });
      run = await run.takenOver();
      await run.start(1, 1);
    }
    assert.deepEqual(await statusesOf(run), ["run-1~1 answered", "run-1~2 answered", "run-1~3 answered"]);
  }),

  check("a wait about an attempt that was followed by another is asked again", async ({ store }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.waiting(run.wait(1, 1));
    run = await run.takenOver();
    await run.start(1, 1);
    await run.waiting(run.wait(1, 1));
    assert.deepEqual(await statusesOf(run), ["run-1~1 withdrawn", "run-1~2 open"]);
    await store.settle("run-1/draft#1.1", { as: "retry" });
    assert.deepEqual(
      (await run.waits()).map(({ attempt, answer }) => [attempt, answer]),
      [
        [1, null],
        [2, { as: "retry" }],
      ],
      "an answer is about the attempt that is in doubt",
    );
  }),

  check("a call that already has its receipt opens no wait, and its run is queued", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.endAttempt(1, 1, { inDoubt: true });
    await store.settle("run-1/draft#1.1", DONE);
    await run.receipt(1, 2);
    const before = await run.waits();
    await run.waiting(run.wait(1, 1), run.wait(1, 2));
    assert.deepEqual(await run.waits(), before);
    const { status, owner } = await run.record();
    assert.deepEqual([status, owner], ["queued", null]);
    assert.equal((await store.claimRun(run.runId, claimOptions({ from: ["queued"] }))).kind, "claimed");
  }),

  check("one wait that needs no answer leaves the run waiting for the others", async ({ store }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.receipt(1, 1);
    await run.waiting(run.wait(1, 1), run.wait(1, 2));
    assert.deepEqual(
      (await run.waits()).map(({ toolCallId }) => toolCallId),
      ["run-1/draft#1.2"],
    );
    assert.equal((await run.record()).status, "waiting");
    run = await run.takenOver();
    await run.waiting(run.wait(1, 1));
    assert.equal((await run.record()).status, "waiting", "the other one is still open");
  }),

  check(
    "an answer given while the worker was stopping is not asked for again",
    async ({ store, advance }) => {
      const answers = {
        approved: () => store.approve("approved~1"),
        denied: () => store.deny("denied~1", "Not today."),
        retried: () => store.settle("retried/draft#1.1", { as: "retry" }),
      };
      for (const [runId, answer] of Object.entries(answers)) {
        let run = await SampleRun.create(store, runId);
        await run.journaled(1, [runId === "retried" ? "running" : "prepared"]);
        const question = runId === "retried" ? run.wait(1, 1) : run.approval(1, 1, ARGUMENTS);
        await run.waiting(question);
        run = await run.takenOver();
        advance(1);
        await answer();
        await run.waiting(question);
        assert.deepEqual([runId, await statusesOf(run)], [runId, [`${runId}~1 answered`]]);
        assert.equal((await run.record()).status, "queued");
      }
    },
  ),

  check("a run that pauses without a question stays waiting", async ({ store }) => {
    const run = await SampleRun.create(store);
    const error = { code: "paused", message: "Later.", details: {} };
    await store.releaseRun(run.fence, { status: "waiting", error, waits: [] });
    const record = await run.record();
    assert.deepEqual([record.status, record.error], ["waiting", error]);
    assert.deepEqual(await foundBy(store, record.pipeline, record.inputHash), ["run-1 waiting"]);
    assert.equal((await run.takenOver()).fence.epoch, 2);
  }),

  check("a call that gets its receipt from a worker leaves no wait open", async ({ store }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running", "prepared"]);
    await store.openToolCall(run.fence, run.codeCall(1));
    await run.waiting(run.wait(1, 1), run.wait(1, 2), run.approval(1, 3, ARGUMENTS), run.wait(0, 1));
    run = await run.takenOver();
    await run.receipt(1, 1, { source: "reconciled" });
    await run.receipt(0, 1);
    assert.deepEqual(await statusesOf(run), [
      "run-1~1 withdrawn",
      "run-1~2 open",
      "run-1~3 open",
      "run-1~4 withdrawn",
    ]);
    const receipts = [newReceipt(2), newReceipt(3, { status: "cancelled" })];
    await store.commitTurn(run.fence, run.commit(1, { receipts }));
    assert.deepEqual(
      (await run.waits()).map(({ status }) => status),
      Array<string>(4).fill("withdrawn"),
    );
  }),

  check("waits stay open when a run fails, and are still there when it is resumed", async ({ store }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.waiting(run.wait(1, 1));
    run = await run.takenOver();
    await store.releaseRun(run.fence, FAILED);
    assert.deepEqual(await statusesOf(run), ["run-1~1 open"]);
    run = await run.takenOver();
    await run.waiting(run.wait(1, 1));
    assert.deepEqual(await statusesOf(run), ["run-1~1 open"]);
    assert.equal((await run.record()).status, "waiting");
  }),

  check("a run that ended has no open waits", async ({ store }) => {
    for (const end of [FAILED, SUCCEEDED, { status: "cancelled", error: null } as const]) {
      const run = await SampleRun.create(store, end.status);
      await run.journaled(1, ["running"]);
      await store.releaseRun(run.fence, end);
      assert.deepEqual(await run.waits(), []);
    }
  }),
];
