import assert from "node:assert/strict";
import { ResumeError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { isKept } from "../../../core/lineage.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { CHARGE, FAILED, LEASE_MS, limited, newReceipt, newStep, SampleRun } from "../sample-run.ts";
import {
  appliedIn,
  eventTurn,
  milestoneTurn,
  NEW_FINGERPRINT,
  sessionCommit,
  startLineage,
  wholeSlice,
} from "../sample-session.ts";

const user = (content: string) => ({ role: "user", content });
const NEW_HEAD = [{ role: "system", content: "You are bold." }, user("ratchets")];

/** The turns of the run, each with whether it was committed. */
async function turnsOf(run: SampleRun): Promise<string[]> {
  const turns = await run.store.listTurns(run.runId);
  return turns.map(({ turnIndex, committed }) => `${turnIndex} ${committed ? "committed" : "open"}`);
}

/** The step's conversation, without a token limit. */
async function conversationOf({ store, runId, stepKey }: SampleRun) {
  const read = await store.readConversation(runId, stepKey, Number.MAX_SAFE_INTEGER);
  const { turnIndex, messages, tokens, lineages } = read;
  const [tail, journaled] = [read.tail.map((turn) => turn.turnIndex), read.journaled?.turnIndex ?? null];
  return { turnIndex, messages, tokens, lineages, tail, journaled };
}

async function lineagesOf(run: SampleRun): Promise<unknown[]> {
  return (await run.store.listLineages(run.runId)).map(({ at: _, summary: __, ...line }) => line);
}

/** A run whose turn 2 is open, with two calls; its checkpoint is of turn 1. */
async function withOpenTurn(store: Store, second: "running" | "prepared"): Promise<SampleRun> {
  const run = await SampleRun.create(store);
  await milestoneTurn(run, 1);
  await run.journaled(2, ["running", second]);
  return run;
}

export const lineageChecks: readonly Check[] = [
  check("a new lineage begins with an empty history and a fingerprint of its own", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    await run.committedWithCall(2);
    assert.equal(await startLineage(run, 1), 3);
    assert.deepEqual(await conversationOf(run), {
      turnIndex: 2,
      messages: 0,
      tokens: 0,
      tail: [],
      journaled: null,
      lineages: [{ firstTurn: 3, baseTurn: 1 }],
    });
    const { fingerprint, isComplete } = await store.readConversation(run.runId, run.stepKey, 0);
    assert.deepEqual([fingerprint, isComplete], [NEW_FINGERPRINT, false]);
    assert.deepEqual(await store.readHistory(run.runId, "draft"), NEW_HEAD);
    assert.deepEqual(await store.readGranularState(run.runId, "draft"), {
      turnIndex: 2,
      history: NEW_HEAD,
      isComplete: false,
      finalOutput: null,
      fingerprint: NEW_FINGERPRINT.hash,
    });
    assert.deepEqual(await store.listLineages(run.runId), [
      {
        stepPath: "draft",
        lineage: 1,
        firstTurn: 3,
        baseTurn: 1,
        openTurn: null,
        checkpoint: 1,
        summary: null,
        at: now(),
      },
    ]);
    const { type, data } = await run.lastEvent();
    assert.equal(type, "lineage.begun");
    const { digest: _, ...facts } = data as JsonObject;
    assert.deepEqual(facts, { step: "draft", lineage: 1, turn: 3, baseTurn: 1, from: 1 });
  }),

  check("the new lineage continues, and only its turns are read", async ({ store }) => {
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    await run.committedWithCall(2);
    await startLineage(run, 1);
    await run.committedWithCall(3);
    await run.committed(4, { followUp: "Continue.", messages: 2, tokens: 13 });
    await run.journaled(5, ["running"]);
    assert.deepEqual(await conversationOf(run), {
      turnIndex: 4,
      messages: 4,
      tokens: 30,
      tail: [3, 4],
      journaled: 5,
      lineages: [{ firstTurn: 3, baseTurn: 1 }],
    });
    assert.deepEqual(
      (await store.readConversation(run.runId, run.stepKey, 0)).tail.map((turn) => turn.turnIndex),
      [4],
    );
    const history = await store.readHistory(run.runId, "draft");
    assert.deepEqual(history.slice(0, 2), NEW_HEAD);
    assert.deepEqual(
      history.slice(2).map(({ role }) => role),
      ["assistant", "tool", "assistant", "user"],
    );
    assert.deepEqual(history[2]?.content, run.journal(3, ["running"]).response.content);
    assert.deepEqual((await store.readGranularState(run.runId, "draft"))?.history, history);
    assert.deepEqual(await turnsOf(run), [
      "1 committed",
      "2 committed",
      "3 committed",
      "4 committed",
      "5 open",
    ]);
    await store.commitTurn(run.fence, run.commit(5, { receipts: [newReceipt(1)], isComplete: true }));
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: 1, context: null });
    assert.equal((await store.readGranularState(run.runId, "draft"))?.isComplete, true);
  }),

  check("a turn that is open is abandoned, and its number is used up", async ({ store }) => {
    const run = await withOpenTurn(store, "running");
    await run.receipt(2, 1);
    await run.receipt(2, 2);
    assert.equal(await startLineage(run, 1), 3);
    assert.deepEqual(await turnsOf(run), ["1 committed", "2 open"]);
    assert.equal((await conversationOf(run)).journaled, null);
    await run.committed(3);
    assert.deepEqual(await turnsOf(run), ["1 committed", "2 open", "3 committed"]);
    assert.deepEqual((await conversationOf(run)).tail, [3]);
    assert.deepEqual(await lineagesOf(run), [
      { stepPath: "draft", lineage: 1, firstTurn: 3, baseTurn: 1, openTurn: 2, checkpoint: 1 },
    ]);
    for (const call of [1, 2]) {
      assert.equal((await run.callAt(2, call)).receipt?.status, "succeeded", "the ledger keeps its receipts");
      assert.equal(
        (await store.findToolCall(run.runId, run.callKey(2, call)))?.toolCallId,
        run.callId(2, call),
      );
    }
  }),

  check("an open turn without calls is abandoned like any other", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1);
    assert.equal(await startLineage(run), 2);
    assert.equal(await startLineage(run), 2, "the new line has no turn yet");
    assert.deepEqual(await turnsOf(run), ["1 open"]);
    await run.committed(2);
    assert.deepEqual(await turnsOf(run), ["1 open", "2 committed"]);
  }),

  ...(["prepared", "running"] as const).map((status) =>
    check(`no lineage begins while a call of the open turn is ${status}`, async ({ store }) => {
      const run = await withOpenTurn(store, status);
      await assertRefused(store, run.runId, () => startLineage(run, 1));
      await run.receipt(2, 1);
      await assertRefused(store, run.runId, () => startLineage(run, 1));
      await run.receipt(2, 2, status === "prepared" ? { status: "cancelled" } : {});
      await startLineage(run, 1);
    }),
  ),

  check("no lineage begins while a call of the open turn is in doubt", async ({ store, advance }) => {
    let run = await withOpenTurn(store, "running");
    await run.receipt(2, 1);
    advance(LEASE_MS);
    run = await run.takenOver();
    await assertRefused(store, run.runId, () => startLineage(run, 1));
    await store.settle(run.callId(2, 2), { as: "succeeded", result: "It went out." });
    assert.equal(await startLineage(run, 1), 3);
  }),

  check("no lineage begins while a model call of the step is open", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    await assertRefused(store, run.runId, () => startLineage(run));
    await store.commitTurn(run.fence, run.commit(1, { journal: run.journal(1), next: run.opening(2) }));
    await assertRefused(store, run.runId, () => startLineage(run));
    const settlement = { stepKey: run.stepKey, turnIndex: 2, attempt: 1, charge: CHARGE };
    await store.settleModelCall(run.fence, settlement);
    assert.equal(await startLineage(run), 2);
    const polish = await run.at("polish");
    await polish.open(1);
    assert.equal(await startLineage(run), 2, "what another step has open is not in the way");
  }),

  check("no lineage begins if the turns are complete, or none was ever opened", async ({ store }) => {
    const run = await SampleRun.create(store);
    await assertRefused(store, run.runId, () => startLineage(run));
    await milestoneTurn(run, 1);
    await run.committed(2, { isComplete: true });
    for (const checkpoint of [1, null])
      await assertRefused(store, run.runId, () => startLineage(run, checkpoint));
  }),

  check("no lineage begins from a checkpoint that the run does not have", async ({ store }) => {
    const run = await SampleRun.create(store);
    const other = await SampleRun.create(store, "run-2");
    for (const turn of [1, 2]) await milestoneTurn(other, turn);
    await milestoneTurn(run, 1);
    for (const checkpoint of [0, 2, 3, -1])
      await assertRefused(store, run.runId, () => startLineage(run, checkpoint));
    await startLineage(run, 1);
  }),

  check("no lineage begins from a superseded checkpoint", async ({ store }) => {
    const run = await SampleRun.create(store);
    for (const turn of [1, 2]) await milestoneTurn(run, turn);
    await startLineage(run, 1);
    await assertRefused(store, run.runId, () => startLineage(run, 2));
    await startLineage(run, 1);
  }),

  check("writes to the old lineage are refused from then on", async ({ store }) => {
    const run = await withOpenTurn(store, "running");
    const receipts = [newReceipt(1), newReceipt(2)];
    for (const receipt of receipts) await run.receipt(2, receipt.callIndex);
    await startLineage(run, 1);
    const late = [
      () => store.commitTurn(run.fence, run.commit(2)),
      () =>
        store.commitTurn(
          run.fence,
          run.commit(2, { session: sessionCommit({ applied: [run.callId(2, 1)] }) }),
        ),
      () => run.open(2),
      () => store.journalResponse(run.fence, run.journal(2)),
    ];
    for (const attempt of late) {
      const error = await assertRefused(store, run.runId, attempt, ResumeError);
      assert.ok(ResumeError.isInstance(error) && error.recoverable, "reloading helps");
    }
    await assertRefused(store, run.runId, () => run.start(2, 1));
    await assertRefused(store, run.runId, () => run.open(4));
    await run.committed(3);
  }),

  check("attempt numbers of a turn continue in the new lineage", async ({ store, advance }) => {
    let run = await SampleRun.create(store);
    await run.committed(1);
    await run.open(2);
    await store.settleModelCall(run.fence, {
      stepKey: run.stepKey,
      turnIndex: 2,
      attempt: 1,
      charge: CHARGE,
    });
    assert.equal(await startLineage(run), 2);
    assert.deepEqual(await run.open(2), { kind: "opened", attempt: 2, reserved: run.opening(2).reserve });
    advance(LEASE_MS);
    run = await run.takenOver();
    assert.deepEqual(
      (await store.listModelCalls(run.runId)).map(({ turnIndex, attempt }) => [turnIndex, attempt]),
      [
        [1, 1],
        [2, 1],
        [2, 2],
      ],
    );
    await run.open(2);
    const journal = run.journal(2, [], { attempt: 3 });
    await store.commitTurn(run.fence, run.commit(2, { journal }));
  }),

  check("quota and charges are unchanged", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", limited(190));
    await run.committed(1);
    await run.journaled(2);
    const polish = await run.at("polish");
    await polish.open(1);
    const money = async () => [
      (await run.record()).charged,
      (await run.record()).reserved,
      await store.readUsage(run.runId),
      await store.listModelCalls(run.runId),
    ];
    const before = await money();
    await startLineage(run);
    assert.deepEqual(await money(), before);
    const denied = await run.open(3);
    assert.deepEqual(denied, { kind: "denied", unit: "tokens", wanted: 100, remaining: 30 });
  }),

  check("a lineage from a checkpoint of another step counts none of its own turns", async ({ store }) => {
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    const polish = await run.at("polish");
    await eventTurn(polish, 1);
    await milestoneTurn(polish, 2);
    assert.equal(await startLineage(polish, 1), 3);
    assert.deepEqual((await conversationOf(polish)).lineages, [{ firstTurn: 3, baseTurn: 0 }]);
    assert.deepEqual(await appliedIn(store, run.runId), [run.callId(1, 1)]);
    assert.deepEqual((await conversationOf(run)).tail, [1], "the other step has its line still");
    assert.deepEqual((await conversationOf(run)).lineages, []);
    await startLineage(run);
    assert.deepEqual(
      (await store.listLineages(run.runId)).map(({ stepPath, lineage }) => [stepPath, lineage]),
      [
        ["draft", 1],
        ["polish", 1],
      ],
    );
  }),

  check("a refused lineage rolls nothing back", async ({ store }) => {
    const run = await withOpenTurn(store, "running");
    await assertRefused(store, run.runId, () => startLineage(run, null, { slices: [wholeSlice("a", [1])] }));
    const [refused, receipt] = await Promise.allSettled([startLineage(run, 1), run.receipt(2, 1)]);
    assert.deepEqual([refused.status, receipt.status], ["rejected", "fulfilled"]);
    assert.deepEqual(await store.listLineages(run.runId), []);
  }),

  check("lineages can follow each other, and each turn shows whether it counts", async ({ store }) => {
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    await milestoneTurn(run, 2);
    await run.committed(3);
    await run.journaled(4);
    assert.equal(await startLineage(run, 2), 5);
    const third = await milestoneTurn(run, 5);
    await run.committed(6);
    assert.equal(await startLineage(run, third), 7);
    await run.committed(7);
    const kept = async () => {
      const { lineages } = await store.readConversation(run.runId, run.stepKey, 0);
      return [1, 2, 3, 4, 5, 6, 7, 8].filter((turn) => isKept(lineages, turn));
    };
    assert.deepEqual(await kept(), [1, 2, 5, 7, 8]);
    assert.equal(await startLineage(run, 1), 8);
    assert.deepEqual(await kept(), [1, 8]);
    assert.deepEqual(await lineagesOf(run), [
      { stepPath: "draft", lineage: 1, firstTurn: 5, baseTurn: 2, openTurn: 4, checkpoint: 2 },
      { stepPath: "draft", lineage: 2, firstTurn: 7, baseTurn: 5, openTurn: null, checkpoint: 3 },
      { stepPath: "draft", lineage: 3, firstTurn: 8, baseTurn: 1, openTurn: null, checkpoint: 1 },
    ]);
    await run.committed(8);
    assert.deepEqual((await conversationOf(run)).tail, [8]);
    assert.deepEqual(
      (await turnsOf(run)).filter((turn) => turn.endsWith("open")),
      ["4 open"],
    );
  }),

  check("each lineage has its own fingerprint, and the current one is read", async ({ store }) => {
    const run = await SampleRun.create(store);
    await milestoneTurn(run, 1);
    for (const n of [1, 2, 3]) {
      const fingerprint = { hash: String(n).repeat(64), document: { prompt: `Prompt ${n}.`, input: n } };
      await startLineage(run, 1, { fingerprint });
      await run.committed(n + 1);
      assert.deepEqual((await store.readConversation(run.runId, run.stepKey, 0)).fingerprint, fingerprint);
      assert.deepEqual((await store.readHistory(run.runId, "draft")).slice(0, 2), [
        { role: "system", content: `Prompt ${n}.` },
        user(String(n)),
      ]);
    }
  }),

  check(
    "a late receipt for an abandoned turn changes nothing in the new lineage",
    async ({ store, advance }) => {
      const early = await SampleRun.create(store);
      await early.journaled(1, ["running"]);
      advance(LEASE_MS);
      const later = await early.takenOver();
      await store.settle(early.callId(1, 1), { as: "failed", why: "It never left." });
      await startLineage(later);
      const before = await conversationOf(later);
      assert.equal(await store.offerLateReceipt(early.late(1, 1, newReceipt(1))), "kept");
      assert.deepEqual(await conversationOf(later), before);
      await later.committed(2);
    },
  ),

  checkSeveral("the next worker continues in the new lineage", async ({ store, openAnother, fallSilent }) => {
    let run = await withOpenTurn(store, "running");
    for (const call of [1, 2]) await run.receipt(2, call);
    const other = await openAnother();
    await fallSilent(LEASE_MS);
    run = await run.takenOver(other);
    await startLineage(run, 1);
    await run.committed(3);
    await other.releaseRun(run.fence, FAILED);
    run = await run.takenOver(store);
    await store.beginStep(run.fence, newStep("draft"));
    assert.deepEqual([(await conversationOf(run)).tail, (await conversationOf(run)).turnIndex], [[3], 3]);
    await assertRefused(store, run.runId, () => store.commitTurn(run.fence, run.commit(2)), ResumeError);
    await run.committed(4);
  }),
];
