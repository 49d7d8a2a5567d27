import assert from "node:assert/strict";
import { AlreadySettledError, ConfigurationError, NotJsonError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { budgetWait } from "../sample-contract.ts";
import { FAILED, SampleRun, sha256 } from "../sample-run.ts";

const ANN = { by: "Ann 🙂" };
const ARGUMENTS = sha256("arguments").toString("hex");

/** A run whose first call asks a person a question. */
async function asking(store: Store, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.journaled(1, ["running"]);
  await run.endAttempt(1, 1, { outcome: "needs_human", errorCode: "question" });
  await run.waiting(run.wait(1, 1, { kind: "question", question: "Which colour?" }));
  return run;
}

async function openIds(store: Store): Promise<string[]> {
  return (await store.listOpenWaits()).map(({ waitId }) => waitId);
}

export const questionChecks: readonly Check[] = [
  check("a person's answer is the result of the call", async ({ store, now, advance }) => {
    const values: readonly Json[] = [
      "Grün 🙂.",
      "",
      { colour: "green", sizes: [1, null] },
      [],
      null,
      7,
      false,
    ];
    for (const [i, value] of values.entries()) {
      const run = await asking(store, `run-${i}`);
      advance(5);
      await store.answer(`run-${i}~1`, value, ANN);
      const [wait] = await run.waits();
      assert.deepEqual(
        [wait?.kind, wait?.status, wait?.answeredAt, wait?.answeredBy, wait?.answer],
        ["question", "answered", now(), "Ann 🙂", { as: "answered", value }],
      );
      const call = await run.callAt(1, 1);
      const { receipt } = call;
      assert.deepEqual(
        [receipt?.status, receipt?.source, receipt?.uncertain, receipt?.errorCode, receipt?.at],
        ["succeeded", "person", false, null, now()],
      );
      const type = typeof value === "string" ? "text" : "json";
      assert.deepEqual(receipt?.output, { type, value }, "as a tool that returns it would leave it");
      assert.ok((receipt?.tokens ?? 0) > 0, "it is counted like any other result");
      assert.equal(call.status, "succeeded");
      assert.equal((await run.record()).status, "queued");
    }
  }),

  check("the turn whose call asked continues with the answer", async ({ store }) => {
    const run = await asking(store);
    await store.answer("run-1~1", "Green.");
    const later = await run.takenOver();
    await store.commitTurn(later.fence, later.commit(1, { messages: 2, tokens: 17 }));
    const history = await store.readHistory(run.runId, "draft");
    assert.match(JSON.stringify(history.at(-1)), /Green\./);
    assert.deepEqual(await store.hasUncertainCalls(run.runId), false);
  }),

  check("code can ask like a model does", async ({ store }) => {
    const run = await SampleRun.create(store);
    const code = await run.at("code", { kind: "run" });
    await store.openToolCall(code.fence, code.codeCall(1));
    await code.waiting(code.wait(0, 1, { kind: "question" }));
    await store.answer("run-1~1", { colour: "green" });
    const [call] = await store.listCodeStepCalls(code.runId, code.stepKey);
    assert.deepEqual([call?.status, call?.receipt?.output.value], ["succeeded", { colour: "green" }]);
  }),

  check("a question can only be answered, not approved or denied", async ({ store }) => {
    const run = await asking(store);
    await assertRefused(store, run.runId, () => store.approve("run-1~1"), ConfigurationError);
    await assertRefused(store, run.runId, () => store.deny("run-1~1", "No."), ConfigurationError);
    const nothing = () => store.answer("run-1~1", undefined as never);
    await assertRefused(store, run.runId, nothing, NotJsonError);
    await store.answer("run-1~1", "Green.");
    await assertRefused(store, run.runId, () => store.answer("run-1~1", "Red."), AlreadySettledError);
  }),

  check("if there are choices, another answer is refused", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    const subject = { tool: "ask_human", arguments: { question: "Which?", choices: ["red", "green"] } };
    await run.waiting(run.wait(1, 1, { kind: "question", subject }));
    for (const value of ["blue", "Green", "", null, 1, ["green"]])
      await assertRefused(store, run.runId, () => store.answer("run-1~1", value), ConfigurationError);
    await store.answer("run-1~1", "green");
    assert.equal((await run.callAt(1, 1)).receipt?.output.value, "green");
  }),

  check("an open wait is not asked again", async ({ store }) => {
    let run = await asking(store);
    const asked = await run.waits();
    run = await run.takenOver();
    await run.waiting(run.wait(1, 1, { kind: "question", question: "Which colour, please?" }));
    assert.deepEqual(await run.waits(), asked);
    await store.answer("run-1~1", "Green.");
    run = await run.takenOver();
    await run.waiting(run.wait(1, 1, { kind: "question" }));
    assert.deepEqual([(await run.waits()).length, (await run.record()).status], [1, "queued"]);
  }),

  check("the open waits of all runs are listed, oldest first", async (scene) => {
    const { store, advance } = scene;
    assert.deepEqual(await store.listOpenWaits(), []);
    const late = await SampleRun.create(store, "late");
    const early = await SampleRun.create(store, "early");
    for (const run of [early, late]) {
      await run.journaled(1, ["prepared", "running", "running"]);
      await run.endAttempt(1, 3);
      await run.waiting(
        budgetWait("maxSteps", 1, 2),
        run.approval(1, 1, ARGUMENTS),
        run.wait(1, 2),
        run.wait(1, 3, { kind: "escalation" }),
      );
      advance(5);
    }
    const numbered = (runId: string) => [1, 2, 3, 4].map((n) => `${runId}~${n}`);
    assert.deepEqual(await openIds(store), [...numbered("early"), ...numbered("late")]);
    assert.deepEqual(await store.listOpenWaits(), [...(await early.waits()), ...(await late.waits())]);
    await store.answer("early~1", 2);
    await store.deny("late~2", "No.");
    await store.settle("early/draft#1.2", { as: "retry" });
    await (await late.takenOver()).receipt(1, 3);
    assert.deepEqual(await openIds(store), ["early~2", "early~4", "late~1", "late~3"]);
  }),

  check("waits of the same time are listed in the order of asking", async ({ store }) => {
    for (const runId of ["b", "a"]) await asking(store, runId);
    assert.deepEqual(await openIds(store), ["b~1", "a~1"]);
  }),

  check("a failed run may still have open waits", async ({ store }) => {
    const run = await asking(store);
    const later = await run.takenOver();
    assert.deepEqual(await openIds(store), ["run-1~1"], "and so may a run that a worker holds");
    await store.releaseRun(later.fence, FAILED);
    assert.deepEqual(await openIds(store), ["run-1~1"]);
  }),

  checkSeveral("another process lists and answers the waits of this one", async ({ store, openAnother }) => {
    const people = await openAnother();
    const run = await asking(store);
    assert.deepEqual(await openIds(people), ["run-1~1"]);
    await people.answer("run-1~1", "Green.");
    assert.deepEqual(await openIds(store), []);
    assert.equal((await run.callAt(1, 1)).receipt?.output.value, "Green.");
  }),
];
