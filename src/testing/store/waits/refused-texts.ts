import assert from "node:assert/strict";
import { isJsonObject } from "../../../core/json.ts";
import { MAX_TEXT_BYTES } from "../../../core/run/sent-message.ts";
import { REFUSED_MESSAGE } from "../../../core/usage/said-file.ts";
import type { ExchangeEnd, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { newFork } from "../sample-fork.ts";
import { arrived, takenFrom, withAnotherDatabase } from "../sample-move.ts";
import { CHARGE } from "../sample-run.ts";
import { SampleTalk, text } from "../sample-talk.ts";

/** Says something for this attempt at a turn, and ends its exchange. */
async function endedAt(
  { store, run: { fence, stepKey } }: SampleTalk,
  turnIndex: number,
  attempt: number,
  over: Partial<ExchangeEnd> = {},
): Promise<void> {
  await store.settleModelCall(fence, { stepKey, turnIndex, attempt, charge: CHARGE });
  await store.endExchange(fence, { stepKey, outcome: "failed", why: "It ended.", ...over });
}

/** The messages that are marked, each with what was refused. */
async function marked(store: Store, stepKey: number, runId = "run-1"): Promise<readonly string[]> {
  const { taken, tail } = await store.readConversation(runId, stepKey, 1_000_000);
  const all = [...tail.flatMap((turn) => turn.taken), ...taken];
  return all.flatMap(({ id, refused }) => (refused === undefined ? [] : [`${refused} of ${id}`]));
}

/** One message is answered, two are refused with the second of them, and the next one is answered. */
async function talkOnAfterRefusal(store: Store): Promise<SampleTalk> {
  const talk = await SampleTalk.create(store);
  await talk.begin(1, await talk.say("answered"));
  await talk.answer(1);
  await talk.begin(2, await talk.say("broken off"));
  await endedAt(talk, 2, 1);
  await talk.begin(2, await talk.say("bad"));
  assert.deepEqual(await marked(store, talk.run.stepKey), []);
  await endedAt(talk, 2, 2, { refused: "texts" });
  await talk.begin(2, await talk.say("good"));
  await talk.answer(2, { journal: talk.run.journal(2, [], { attempt: 3 }) });
  return talk;
}

const MARKED = ["texts of broken off", "texts of bad"];

export const refusedTextChecks: readonly Check[] = [
  check("a refusal of texts marks those that no turn had answered, and no others", async ({ store }) => {
    const { run } = await talkOnAfterRefusal(store);
    assert.deepEqual(await marked(store, run.stepKey), MARKED);
    const history = await store.readHistory("run-1", run.step.path);
    assert.deepEqual(history.flatMap(({ role, content }) => (role === "user" ? [content] : [])).slice(-4), [
      "Text answered.",
      REFUSED_MESSAGE,
      REFUSED_MESSAGE,
      "Text good.",
    ]);
    const ends = (await store.listEvents("run-1")).filter(({ type }) => type === "exchange.ended");
    assert.deepEqual(
      ends.map(({ data }) => (isJsonObject(data) ? data.refused : null)),
      [undefined, "texts"],
    );
    assert.deepEqual((await store.verify("run-1")).problems, []);
  }),

  check("the messages themselves stay as they were sent", async ({ store }) => {
    await talkOnAfterRefusal(store);
    const bodies = (await store.listMessages("run-1")).map(({ body }) => body);
    assert.deepEqual(bodies, ["Text answered.", "Text broken off.", "Text bad.", "Text good."]);
    const turns = await store.listTurns("run-1");
    assert.deepEqual(
      turns.flatMap(({ taken }) => taken.map(({ body }) => body)),
      bodies,
    );
  }),

  check("a turn that joins a refused exchange marks what came since the last commit", async ({ store }) => {
    const talk = await SampleTalk.create(store);
    await talk.begin(1, await talk.say("one"));
    const more = await talk.say("more", "steer");
    await talk.answer(1, { isComplete: false });
    await talk.go(2, more);
    await endedAt(talk, 2, 1, { refused: "texts" });
    assert.deepEqual(await marked(store, talk.run.stepKey), ["texts of more"]);
  }),

  check("an input is marked as long as no turn has answered it", async ({ store }) => {
    const isRefused = async ({ run }: SampleTalk) =>
      (await store.readConversation(run.runId, run.stepKey, 0)).isInputRefused;
    const talk = await SampleTalk.create(store);
    await talk.begin(1);
    assert.equal(await isRefused(talk), false);
    await endedAt(talk, 1, 1, { refused: "texts" });
    assert.equal(await isRefused(talk), true);
    const later = await SampleTalk.create(store, "run-2");
    await later.begin(1);
    await later.answer(1);
    await later.begin(2, await later.say("bad"));
    await endedAt(later, 2, 1, { refused: "texts" });
    assert.equal(await isRefused(later), false);
  }),

  check("a fork shows the same marks", async ({ store }) => {
    const { run } = await talkOnAfterRefusal(store);
    await store.interruptRun(run.fence);
    await store.forkRun(newFork(run, 2, { runId: "fork" }));
    assert.deepEqual(await marked(store, run.stepKey, "fork"), MARKED);
    assert.deepEqual((await store.verify("fork")).problems, []);
  }),

  check("a run takes the marks to another store", async (scene) => {
    const { store } = scene;
    const { run } = await talkOnAfterRefusal(store);
    await store.interruptRun(run.fence);
    await withAnotherDatabase(scene, async (elsewhere) => {
      await arrived(elsewhere, await takenFrom(store, "run-1", elsewhere));
      assert.deepEqual(await marked(elsewhere, run.stepKey), MARKED);
      assert.deepEqual((await elsewhere.verify("run-1")).problems, []);
    });
  }),

  check("a text that is blank or too large is not stored", async ({ store }) => {
    await SampleTalk.create(store);
    const bodies = ["", " \n", { parts: [{ type: "text", text: " " }] }, "é".repeat(MAX_TEXT_BYTES / 2 + 1)];
    for (const body of bodies)
      await assertRefused(store, "run-1", () => store.sendMessage("run-1", text("one", { body })));
    await store.sendMessage("run-1", text("one", { body: "é".repeat(MAX_TEXT_BYTES / 2) }));
    assert.deepEqual((await store.listMessages("run-1")).length, 1);
  }),
];
