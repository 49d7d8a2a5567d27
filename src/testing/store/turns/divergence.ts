import assert from "node:assert/strict";
import type { Json } from "../../../core/json.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { readEverything } from "../everything.ts";
import { FINGERPRINT, FINGERPRINT_DOCUMENT, LEASE_MS, newReceipt, SampleRun, sha256 } from "../sample-run.ts";
import { milestoneTurn, NEW_FINGERPRINT, startLineage } from "../sample-session.ts";

const WHY = "The new prompt is better: Änderung 7 🙂.";
const FIRST = { hash: FINGERPRINT, document: FINGERPRINT_DOCUMENT };

/** A fingerprint of an agent of its own. */
function fingerprintOf(name: string): { hash: string; document: Json } {
  const document = { prompt: `You are ${name}.`, input: "ratchets", model: name };
  return { hash: sha256(name).toString("hex"), document };
}

function accept(run: SampleRun, fingerprint: { hash: string; document: Json }, why = WHY): Promise<void> {
  return run.store.acceptDivergence(run.fence, { stepKey: run.stepKey, fingerprint, why });
}

async function pinnedIn(run: SampleRun): Promise<unknown> {
  return (await run.store.readConversation(run.runId, run.stepKey, 0)).fingerprint;
}

export const divergenceChecks: readonly Check[] = [
  check("a step continues under another fingerprint, with its history", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committedWithCall(1);
    await run.committed(2);
    const [before, turns] = [await store.readHistory(run.runId, "draft"), await store.listTurns(run.runId)];
    assert.deepEqual(await pinnedIn(run), FIRST);
    await accept(run, NEW_FINGERPRINT);
    assert.deepEqual(await pinnedIn(run), NEW_FINGERPRINT);
    assert.equal((await store.readGranularState(run.runId, "draft"))?.fingerprint, NEW_FINGERPRINT.hash);
    const after = await store.readHistory(run.runId, "draft");
    assert.deepEqual(after[0], { role: "system", content: "You are bold." });
    assert.deepEqual(after.slice(2), before.slice(2));
    assert.deepEqual(await store.listTurns(run.runId), turns);
    assert.deepEqual(await store.listLineages(run.runId), [], "it is no new line");
    await run.committed(3);
    assert.deepEqual(await pinnedIn(run), NEW_FINGERPRINT, "opening a turn does not pin it again");
    assert.equal((await store.readConversation(run.runId, run.stepKey, 1_000)).turnIndex, 3);
  }),

  check("the reason is stored, with the step and the fingerprint", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store);
    await run.committed(1);
    advance(5);
    await accept(run, NEW_FINGERPRINT);
    const { type, data, at } = await run.lastEvent();
    assert.deepEqual(
      [type, data, at],
      ["divergence.accepted", { step: "draft", why: WHY, fingerprint: NEW_FINGERPRINT.hash }, now()],
    );
  }),

  check("an accepted fingerprint holds for the next worker", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.committed(1);
    await accept(run, NEW_FINGERPRINT);
    advance(LEASE_MS);
    const later = await run.takenOver();
    await later.open(2);
    assert.deepEqual(await pinnedIn(later), NEW_FINGERPRINT);
  }),

  check("a divergence may be accepted repeatedly, and the last one counts", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committed(1);
    for (const name of ["bold", "shy", "calm"]) {
      await accept(run, fingerprintOf(name));
      assert.deepEqual(await pinnedIn(run), fingerprintOf(name));
    }
    await accept(run, FIRST, "Back to the beginning.");
    assert.deepEqual(await pinnedIn(run), FIRST);
  }),

  check(
    "a divergence is accepted for one lineage: the next one has its own fingerprint",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await milestoneTurn(run, 1);
      await accept(run, fingerprintOf("bold"));
      await startLineage(run, 1);
      assert.deepEqual(await pinnedIn(run), NEW_FINGERPRINT);
      await run.committed(2);
      await accept(run, fingerprintOf("shy"));
      assert.deepEqual(await pinnedIn(run), fingerprintOf("shy"));
      assert.deepEqual(await store.readHistory(run.runId, "draft"), [
        { role: "system", content: "You are shy." },
        { role: "user", content: "ratchets" },
        { role: "assistant", content: run.journal(2).response.content },
      ]);
      await startLineage(run, 1, { fingerprint: fingerprintOf("calm") });
      assert.deepEqual(await pinnedIn(run), fingerprintOf("calm"));
    },
  ),

  check("a divergence is accepted for one step: the others keep their fingerprints", async ({ store }) => {
    const run = await SampleRun.create(store);
    const other = await SampleRun.create(store, "run-2");
    const polish = await run.at("polish");
    for (const each of [run, polish, other]) await each.committed(1);
    const theirs = await readEverything(store, other.runId);
    await accept(polish, NEW_FINGERPRINT);
    assert.deepEqual([await pinnedIn(run), await pinnedIn(polish)], [FIRST, NEW_FINGERPRINT]);
    assert.deepEqual(await readEverything(store, other.runId), theirs);
  }),

  check("accepting a divergence changes neither the open turn nor the charges", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committed(1);
    await run.journaled(2, ["running", "prepared"]);
    const look = async () => {
      const { charged, reserved, limit, status, currentStep } = await run.record();
      const { fingerprint: _, ...conversation } = await store.readConversation(run.runId, run.stepKey, 1_000);
      const money = { usage: await store.readUsage(run.runId), charged, reserved, limit };
      return { status, currentStep, conversation, money, calls: await store.listModelCalls(run.runId) };
    };
    const before = await look();
    await accept(run, NEW_FINGERPRINT);
    assert.deepEqual(await look(), before);
    await run.receipt(2, 1);
    await run.start(2, 2);
    await store.commitTurn(run.fence, run.commit(2, { receipts: [newReceipt(2)] }));
  }),

  check("a step without turns has no divergence to accept", async ({ store }) => {
    const run = await SampleRun.create(store);
    await assertRefused(store, run.runId, () => accept(run, NEW_FINGERPRINT));
    await run.open(1);
    assert.deepEqual(await pinnedIn(run), FIRST);
    await accept(run, NEW_FINGERPRINT);
  }),
];
