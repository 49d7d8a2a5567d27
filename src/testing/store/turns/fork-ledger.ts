import assert from "node:assert/strict";
import { blobReferenceOf } from "../../../core/blob-reference.ts";
import type { NewReceipt } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import {
  claimedAt,
  finishedCode,
  forked,
  keyedCall,
  keyedCodeCall,
  keyedTurn,
  keyIn,
  newFork,
} from "../sample-fork.ts";
import {
  blobReceipt,
  CHARGE,
  FAILED,
  LEASE_MS,
  limited,
  newReceipt,
  RESERVE,
  SampleRun,
  SUCCEEDED,
  sha256,
} from "../sample-run.ts";
import { sampleEvent } from "../sample-session.ts";

const ALL = { olderThanMs: -1, maxBytes: 0 };
const SAME = sha256("the same");
const UNCERTAIN: Partial<NewReceipt> = { status: "failed", uncertain: true, errorCode: "reset" };

/** A turn with one call of an identity that others share, from its opening to its commit. */
async function sameAgain(run: SampleRun, turnIndex: number, receipt: NewReceipt): Promise<void> {
  await run.open(turnIndex);
  const calls = [keyedCall(run, turnIndex, 1, { identityHash: SAME, occurrence: turnIndex })];
  await run.store.journalResponse(run.fence, run.journal(turnIndex, ["running"], { calls }));
  await run.store.commitTurn(run.fence, run.commit(turnIndex, { receipts: [receipt] }));
}

function keep(run: SampleRun, name: string, text: string): Promise<unknown> {
  return run.store.keepArtifact(run.fence, { stepKey: run.stepKey, name, bytes: Buffer.from(text) });
}

export const forkLedgerChecks: readonly Check[] = [
  check("its calls have keys of their own, of either scope, and are found by them", async ({ store }) => {
    const run = await SampleRun.create(store);
    const code = await finishedCode(run, "send", "sent");
    const calls = [
      keyedCall(run, 1, 1, { occurrence: 3 }),
      keyedCall(run, 1, 2, { effect: "external", recovery: "keyed" }, "effect"),
    ];
    await run.open(1);
    await store.journalResponse(run.fence, run.journal(1, ["running", "running"], { calls }));
    await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(1), newReceipt(2)] }));
    await store.releaseRun(run.fence, FAILED);
    // The forked step comes after the code step, so that the code step is copied too.
    const later = await run.takenOver();
    const review = await later.at("review");
    await keyedTurn(review, 1);
    await store.releaseRun(later.fence, FAILED);
    await forked(store, newFork(review, 1));
    const inFork = (step: SampleRun) => new SampleRun(store, { runId: "fork", epoch: 1 }, step.step);
    const expected = new Map([
      ["draft#1.1", keyIn(inFork(run), calls[0] ?? assert.fail())],
      ["draft#1.2", keyIn(inFork(run), calls[1] ?? assert.fail(), "effect")],
      ["send#0.1", keyIn(inFork(code), keyedCodeCall(code, 1))],
      ["review#1.1", keyIn(inFork(review), keyedCall(review, 1, 1))],
    ]);
    const mine = await store.listToolCalls("fork");
    assert.deepEqual(
      new Map(
        mine.map(({ toolCallId, idempotencyKey }) => [toolCallId.slice("fork/".length), idempotencyKey]),
      ),
      new Map([...expected].map(([id, key]) => [id, key.toString("hex")])),
    );
    for (const [id, key] of expected)
      assert.equal((await store.findToolCall("fork", key))?.toolCallId, `fork/${id}`);
    for (const { toolCallId, idempotencyKey } of await store.listToolCalls("run-1"))
      assert.equal(
        (await store.findToolCall("run-1", Buffer.from(idempotencyKey, "hex")))?.toolCallId,
        toolCallId,
      );
  }),

  check("its receipts are those of the parent, and refer to its own calls", async ({ store }) => {
    const run = await SampleRun.create(store);
    const receipt = newReceipt(1, { correlationId: "m-1", sessionEvents: [sampleEvent("naïve")], tokens: 9 });
    await keyedTurn(run, 1, [receipt, newReceipt(2, { status: "failed", errorCode: "busy" })]);
    const duplicate = { status: "deduplicated", source: "pawl" } as const;
    await keyedTurn(run, 2, [
      newReceipt(1, { ...duplicate, duplicateOf: "run-1/draft#1.1" }),
      newReceipt(2, { ...duplicate, duplicateOf: "run-11/draft#1.1" }),
      newReceipt(3, { status: "cancelled", source: "pawl", errorCode: "denied" }),
    ]);
    await store.releaseRun(run.fence, FAILED);
    await forked(store, newFork(run, 2));
    const [theirs, mine] = [await store.listToolCalls("run-1"), await store.listToolCalls("fork")];
    assert.deepEqual(
      mine.map(({ receipt: each }) => ({ ...each, duplicateOf: null })),
      theirs.map(({ receipt: each }) => ({ ...each, duplicateOf: null })),
    );
    assert.deepEqual(
      mine.map((call) => call.receipt?.duplicateOf),
      [null, null, "fork/draft#1.1", "run-11/draft#1.1", null],
    );
    assert.equal((await store.getToolCall("fork/draft#1.1"))?.receipt?.correlationId, "m-1");
  }),

  check("its calls keep their attempts", async ({ store, advance }) => {
    let run = await SampleRun.create(store);
    await run.open(1);
    const calls = [keyedCall(run, 1, 1), keyedCall(run, 1, 2)];
    await store.journalResponse(run.fence, run.journal(1, ["running", "running"], { calls }));
    await run.endAttempt(1, 1, { outcome: "failed", inDoubt: false, correlationId: "m-1" });
    await run.start(1, 1);
    advance(LEASE_MS);
    const early = run;
    run = await run.takenOver();
    await store.settle("run-1/draft#1.2", { as: "failed", why: "It never left." });
    await store.offerLateReceipt(early.late(1, 1, newReceipt(2)));
    await run.start(1, 1);
    await run.receipt(1, 1);
    await store.commitTurn(run.fence, run.commit(1));
    await store.releaseRun(run.fence, FAILED);
    await forked(store, newFork(run, 1));
    const theirs = await store.listToolCallAttempts("run-1");
    assert.equal(theirs.length, 3);
    assert.deepEqual(
      await store.listToolCallAttempts("fork"),
      theirs.map((each) => ({ ...each, toolCallId: each.toolCallId.replace("run-1", "fork") })),
    );
    assert.equal((await store.getToolCall("fork/draft#1.1"))?.attempt, 3);
  }),

  check("large results can be read through the fork, and stay as long as it is live", async ({ store }) => {
    const run = await SampleRun.create(store);
    const [kept, left] = [Buffer.alloc(30_000, "kept"), Buffer.alloc(30_000, "left")];
    await keyedTurn(run, 1, [blobReceipt(1, kept)]);
    await keyedTurn(run, 2, [blobReceipt(1, left)]);
    await store.releaseRun(run.fence, SUCCEEDED);
    await forked(store, newFork(run, 1));
    const read = async (runId: string, bytes: Uint8Array) =>
      (await store.readBlob(runId, blobReferenceOf(bytes).blobId)) !== null;
    assert.deepEqual([await read("fork", kept), await read("fork", left)], [true, false]);
    assert.equal((await store.collectBlobs(ALL)).blobs, 2, "both of the parent, which has ended");
    assert.deepEqual([await read("fork", kept), await read("run-1", left)], [true, false]);
  }),

  check("an uncertain call is in the fork what it was when that turn was committed", async ({ store }) => {
    const run = await SampleRun.create(store);
    await sameAgain(run, 1, newReceipt(1, UNCERTAIN));
    await sameAgain(run, 2, newReceipt(1));
    await sameAgain(run, 3, newReceipt(1, UNCERTAIN));
    await store.releaseRun(run.fence, FAILED);
    const found = async (turnIndex: number) => {
      const runId = `fork-${turnIndex}`;
      await forked(store, newFork(run, turnIndex, { runId }));
      const call = await store.findUncertainCall(runId, SAME);
      return [await store.hasUncertainCalls(runId), call?.toolCallId ?? null];
    };
    assert.deepEqual(await found(1), [true, "fork-1/draft#1.1"], "it succeeded later, and not in this run");
    assert.deepEqual(await found(2), [false, null]);
    assert.deepEqual(await found(3), [true, "fork-3/draft#3.1"]);
  }),

  check("it has the artifacts up to its turn, and no later ones", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    const code = await finishedCode(run, "fetch", "fetched");
    await keep(code, "pages.txt", "pages");
    advance(5);
    const review = await run.at("review");
    await keep(review, "review.txt", "by the first turn");
    await keyedTurn(review, 1);
    advance(5);
    await keep(review, "second.txt", "by the second turn");
    await keyedTurn(review, 2);
    advance(5);
    await keep(await run.at("send", { kind: "run" }), "sent.txt", "sent");
    await store.releaseRun(run.fence, SUCCEEDED);
    await forked(store, newFork(review, 1));
    const mine = await store.listArtifacts("fork");
    const theirs = await store.listArtifacts("run-1");
    assert.deepEqual(
      mine,
      theirs.filter(({ name }) => name === "pages.txt" || name === "review.txt"),
    );
    assert.equal(mine.length, 2);
    await store.collectBlobs(ALL);
    const bytes = await store.readArtifact("fork", "review.txt");
    assert.equal(bytes === null ? null : Buffer.from(bytes).toString(), "by the first turn");
    assert.equal(await store.readArtifact("run-1", "sent.txt"), null);
  }),

  check("its turns were charged to the parent", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", limited(100));
    await keyedTurn(run, 1);
    await store.releaseRun(run.fence, FAILED);
    await forked(store, newFork(run, 1));
    assert.deepEqual(await store.readUsage("fork"), {
      inputTokens: 0,
      outputTokens: 0,
      cachedInputTokens: 0,
      reasoningTokens: 0,
      charged: { tokens: 0, microDollars: 0 },
      modelCalls: 0,
      baseline: { charged: { tokens: 0, microDollars: 0 }, modelCalls: 0 },
    });
    assert.equal((await store.readUsage("run-1")).charged.tokens, CHARGE.amount.tokens);
    for (const { charge } of await store.listModelCalls("fork"))
      assert.deepEqual([charge?.basis, charge?.amount.tokens], ["none", 0]);
    const fork = await claimedAt(store, "fork");
    assert.equal((await fork.open(2)).kind, "opened", "all that it may use is there");
    assert.deepEqual((await fork.record()).reserved, RESERVE);
  }),
];
