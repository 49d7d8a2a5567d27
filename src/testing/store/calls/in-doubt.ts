import assert from "node:assert/strict";
import { isJsonObject, type Json } from "../../../core/json.ts";
import type { RunEnd, Store } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { readEverything } from "../everything.ts";
import { FAILED, LEASE_MS, newReceipt, SampleRun, TIMEOUT_MS } from "../sample-run.ts";

const ENDS: readonly RunEnd[] = [
  FAILED,
  { status: "cancelled", error: null },
  { status: "waiting", error: null, waits: [] },
];

/** A run with calls of two turns and of code, with and without receipts, running and prepared. */
async function leftBehind(store: Store, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.committedWithCall(1);
  await run.journaled(2, ["running", "running", "prepared"]);
  await run.receipt(2, 1);
  const polish = await run.at("polish");
  await polish.journaled(1, ["running", "running", "prepared"]);
  await polish.receipt(1, 3, { status: "cancelled" });
  await polish.endAttempt(1, 2, { inDoubt: true });
  const code = await run.at("code", { kind: "run" });
  await store.openToolCall(code.fence, code.codeCall(1));
  await store.openToolCall(code.fence, code.codeCall(2));
  await store.openToolCall(code.fence, code.codeCall(3, { status: "prepared" }));
  await code.receipt(0, 1);
  return run;
}

/** The calls of `leftBehind` that were running and are in doubt once their worker is gone. */
const LOST = ["draft#2.2", "polish#1.1", "code#0.2"];

/** `draft#2.2`: the id of a call without its run. */
function shortId(run: SampleRun, { toolCallId }: { readonly toolCallId: string }): string {
  return toolCallId.slice(run.runId.length + 1);
}

async function statusesOf(run: SampleRun): Promise<Record<string, string>> {
  const calls = await run.store.listToolCalls(run.runId);
  return Object.fromEntries(calls.map((call) => [shortId(run, call), call.status]));
}

async function assertDoubted(run: SampleRun): Promise<void> {
  assert.deepEqual(await statusesOf(run), {
    "draft#1.1": "succeeded",
    "draft#2.1": "succeeded",
    "draft#2.2": "in_doubt",
    "draft#2.3": "prepared",
    "polish#1.1": "in_doubt",
    "polish#1.2": "in_doubt",
    "polish#1.3": "cancelled",
    "code#0.1": "succeeded",
    "code#0.2": "in_doubt",
    "code#0.3": "prepared",
  });
}

async function lostAttempts(run: SampleRun): Promise<string[]> {
  const tries = (await run.tries()).filter(({ outcome }) => outcome === "lost");
  return tries.map((each) => `${shortId(run, each)} ${each.attempt}`);
}

/** The calls that became in doubt according to an event, without the digests of their attempts. */
function doubtsIn(data: Json): unknown[] {
  assert.ok(isJsonObject(data) && Array.isArray(data.inDoubt));
  return (data.inDoubt as readonly Json[]).map((doubt) => {
    assert.ok(isJsonObject(doubt));
    return doubt;
  });
}

export const inDoubtChecks: readonly Check[] = [
  check("a new owner finds the running calls of all steps in doubt, and no others", async (scene) => {
    const run = await leftBehind(scene.store);
    const before = await scene.store.listToolCalls(run.runId);
    scene.advance(LEASE_MS);
    await run.takenOver();
    await assertDoubted(run);
    const after = await scene.store.listToolCalls(run.runId);
    assert.deepEqual(
      after.map((call) => ({ ...call, status: "" })),
      before.map((call) => ({ ...call, status: "" })),
      "only the status of calls changes, not their attempts, times and receipts",
    );
  }),

  ...ENDS.map((end) =>
    check(
      `a run released as ${end.status} leaves its running calls in doubt`,
      async ({ store, now, advance }) => {
        const run = await leftBehind(store);
        const until = now() + TIMEOUT_MS;
        advance(5);
        await store.releaseRun(run.fence, end);
        await assertDoubted(run);
        assert.deepEqual(
          await lostAttempts(run),
          LOST.map((id) => `${id} 1`),
        );
        assert.equal((await run.callAt(2, 2)).endsBy, until, "it may run until its timeout");
        const before = await store.listToolCalls(run.runId);
        await run.takenOver();
        assert.deepEqual(await store.listToolCalls(run.runId), before, "no more calls become in doubt");
        assert.deepEqual(
          await lostAttempts(run),
          LOST.map((id) => `${id} 1`),
        );
      },
    ),
  ),

  check("attempts without a known outcome are recorded as lost", async ({ store, now, advance }) => {
    const run = await leftBehind(store);
    advance(LEASE_MS);
    await run.takenOver();
    const tries = await run.tries();
    assert.deepEqual(
      tries.find(({ toolCallId }) => toolCallId === "run-1/draft#2.2"),
      {
        toolCallId: "run-1/draft#2.2",
        attempt: 1,
        startedAt: now() - LEASE_MS,
        endedAt: now(),
        outcome: "lost",
        errorCode: null,
        errorDetail: null,
        correlationId: null,
        late: null,
      },
    );
    assert.deepEqual(
      tries.map((each) => `${shortId(run, each)} ${each.outcome}`).toSorted(),
      [...LOST.map((id) => `${id} lost`), "polish#1.2 timed_out"].toSorted(),
    );
  }),

  check(
    "an attempt that has ended on record is kept as it is, and its call is in doubt",
    async ({ store, advance }) => {
      for (const how of ["claim", "release"]) {
        const run = await SampleRun.create(store, how);
        await run.journaled(1, ["running"]);
        await run.endAttempt(1, 1, { inDoubt: false, outcome: "failed", errorCode: "busy" });
        const [ended] = await run.tries();
        advance(LEASE_MS);
        if (how === "claim") await run.takenOver();
        else await store.releaseRun(run.fence, FAILED);
        assert.deepEqual(await run.tries(), [ended]);
        assert.equal((await run.callAt(1, 1)).status, "in_doubt");
      }
    },
  ),

  check("a call that is run again and lost again has two lost attempts", async ({ store, advance }) => {
    let run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    for (const attempt of [1, 2]) {
      advance(LEASE_MS);
      run = await run.takenOver();
      assert.deepEqual(
        [(await run.callAt(1, 1)).status, (await run.callAt(1, 1)).attempt],
        ["in_doubt", attempt],
      );
      await run.start(1, 1);
    }
    assert.deepEqual(await lostAttempts(run), ["draft#1.1 1", "draft#1.1 2"]);
    await run.receipt(1, 1);
    advance(LEASE_MS);
    run = await run.takenOver();
    assert.equal((await run.callAt(1, 1)).status, "succeeded");
    assert.equal((await run.tries()).length, 2);
  }),

  check("calls of another run stay unchanged", async ({ store, advance }) => {
    const [mine, theirs] = [await leftBehind(store, "mine"), await leftBehind(store, "theirs")];
    const before = await readEverything(store, theirs.runId);
    advance(LEASE_MS);
    await mine.takenOver();
    await store.releaseRun({ runId: mine.runId, epoch: 2 }, FAILED);
    assert.deepEqual(await readEverything(store, theirs.runId), before);
  }),

  check("a claim that is refused or busy puts nothing in doubt", async ({ store, advance }) => {
    const run = await leftBehind(store);
    const before = await readEverything(store, run.runId);
    await store.claimRun(run.runId, { leaseMs: 1, from: ["running"] });
    advance(LEASE_MS);
    await store.claimRun(run.runId, { leaseMs: 1, from: ["failed"] });
    assert.deepEqual(await readEverything(store, run.runId), before);
  }),

  check("the turn continues once every call in doubt has its receipt", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running", "prepared"]);
    await run.receipt(1, 1);
    advance(LEASE_MS);
    const later = await run.takenOver();
    await later.receipt(1, 2, { source: "reconciled" });
    await later.start(1, 3);
    await store.commitTurn(later.fence, later.commit(1, { receipts: [newReceipt(3)] }));
    assert.deepEqual(Object.values(await statusesOf(run)), ["succeeded", "succeeded", "succeeded"]);
  }),

  check("the log records which calls became in doubt", async ({ store, advance }) => {
    const places = [
      { step: "draft", turn: 2, call: 2, attempt: 1 },
      { step: "polish", turn: 1, call: 1, attempt: 1 },
      { step: "code", turn: 0, call: 2, attempt: 1 },
    ];
    const run = await leftBehind(store);
    advance(LEASE_MS);
    await run.takenOver();
    const claimed = await run.lastEvent();
    assert.equal(claimed.type, "run.claimed");
    assert.deepEqual(doubtsIn(claimed.data), places);
    const other = await leftBehind(store, "run-2");
    await store.releaseRun(other.fence, FAILED);
    const released = await other.lastEvent();
    assert.equal(released.type, "run.failed");
    assert.deepEqual(doubtsIn(released.data), places);
  }),

  checkSeveral(
    "a call of an owner that fell silent may still run until its timeout",
    async ({ store, openAnother, now, fallSilent }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["running"]);
      await store.openToolCall(run.fence, run.codeCall(1));
      const until = now() + TIMEOUT_MS;
      const other = await openAnother();
      await fallSilent(LEASE_MS);
      const later = await run.takenOver(other);
      for (const turnIndex of [0, 1]) {
        const { status, endsBy } = await later.callAt(turnIndex, 1);
        assert.deepEqual([status, endsBy], ["in_doubt", until]);
      }
    },
  ),
];
