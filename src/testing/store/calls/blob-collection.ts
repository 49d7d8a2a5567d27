import assert from "node:assert/strict";
import { blobReferenceOf } from "../../../core/blob-reference.ts";
import type { RunEnd, Store } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { blobReceipt, FAILED, SampleRun, SUCCEEDED } from "../sample-run.ts";

const NONE = { blobs: 0, bytes: 0 };
/** A policy that deletes everything it may. */
const ALL = { olderThanMs: -1, maxBytes: 0 };
const NO_CAP = Number.MAX_SAFE_INTEGER;

function bytesOf(text: string, size = 1_000): Uint8Array {
  return Buffer.alloc(size, text);
}

/** A run with one blob, ended if an end is given. */
async function runWithBlob(
  store: Store,
  runId: string,
  bytes: Uint8Array,
  end: RunEnd | null,
): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.committedWithCall(1, blobReceipt(1, bytes));
  if (end !== null) await store.releaseRun(run.fence, end);
  return run;
}

async function hasBlob(store: Store, runId: string, bytes: Uint8Array): Promise<boolean> {
  return (await store.readBlob(runId, blobReferenceOf(bytes).blobId)) !== null;
}

export const blobCollectionChecks: readonly Check[] = [
  check(
    "blobs are deleted when their run ended longer ago than the retention",
    async ({ store, advance }) => {
      const [old, young] = [bytesOf("old"), bytesOf("young", 500)];
      await runWithBlob(store, "old", old, SUCCEEDED);
      advance(60);
      await runWithBlob(store, "young", young, FAILED);
      advance(40);
      const policy = { olderThanMs: 100, maxBytes: NO_CAP };
      assert.deepEqual(
        await store.collectBlobs(policy),
        NONE,
        "at the end of the retention it is still kept",
      );
      advance(1);
      assert.deepEqual(await store.collectBlobs(policy), { blobs: 1, bytes: 1_000 });
      assert.deepEqual(
        [await hasBlob(store, "old", old), await hasBlob(store, "young", young)],
        [false, true],
      );
      assert.deepEqual(await store.collectBlobs(policy), NONE, "once");
      const [call] = await store.listToolCalls("old");
      assert.equal(call?.receipt?.blob?.size, 1_000, "the receipt stays and still has its reference");
    },
  ),

  check(
    "the retention starts at the end of the run, not when the blob was written",
    async ({ store, advance }) => {
      const run = await runWithBlob(store, "run-1", bytesOf("a"), null);
      advance(1_000);
      await store.releaseRun(run.fence, SUCCEEDED);
      advance(50);
      assert.deepEqual(await store.collectBlobs({ olderThanMs: 100, maxBytes: NO_CAP }), NONE);
      advance(51);
      assert.equal((await store.collectBlobs({ olderThanMs: 100, maxBytes: NO_CAP })).blobs, 1);
    },
  ),

  check("over the size cap the oldest are deleted, and no more than needed", async ({ store, advance }) => {
    const all = ["a", "b", "c", "d"].map((text) => bytesOf(text));
    for (const [i, bytes] of all.entries()) {
      await runWithBlob(store, `run-${i}`, bytes, SUCCEEDED);
      advance(10);
    }
    const keepFor = { olderThanMs: 10_000 };
    assert.deepEqual(await store.collectBlobs({ ...keepFor, maxBytes: 4_000 }), NONE);
    assert.deepEqual(await store.collectBlobs({ ...keepFor, maxBytes: 2_999 }), { blobs: 2, bytes: 2_000 });
    const left = await Promise.all(all.map((bytes, i) => hasBlob(store, `run-${i}`, bytes)));
    assert.deepEqual(left, [false, false, true, true]);
  }),

  check(
    "a blob of a live run is never collected, nor counted towards the cap",
    async ({ store, advance }) => {
      const waiting = { status: "waiting", error: null, waits: [] } as const;
      await runWithBlob(store, "running", bytesOf("running"), null);
      await runWithBlob(store, "waiting", bytesOf("waiting"), waiting);
      await runWithBlob(store, "ended", bytesOf("ended"), SUCCEEDED);
      advance(10 ** 9);
      assert.deepEqual(await store.collectBlobs({ olderThanMs: 10 ** 10, maxBytes: 1_000 }), NONE);
      assert.deepEqual(await store.collectBlobs(ALL), { blobs: 1, bytes: 1_000 });
      assert.deepEqual(
        [
          await hasBlob(store, "running", bytesOf("running")),
          await hasBlob(store, "waiting", bytesOf("waiting")),
        ],
        [true, true],
      );
    },
  ),

  check("every way to end makes a run's blobs collectable", async ({ store }) => {
    const ends: readonly RunEnd[] = [SUCCEEDED, FAILED, { status: "cancelled", error: null }];
    for (const end of ends) await runWithBlob(store, end.status, bytesOf(end.status), end);
    assert.equal((await store.collectBlobs(ALL)).blobs, ends.length);
  }),

  check(
    "equal content belongs to each run: it is collected with one that has ended, and stays with one that is live",
    async ({ store, advance }) => {
      const bytes = bytesOf("shared");
      await runWithBlob(store, "ended", bytes, SUCCEEDED);
      const live = await runWithBlob(store, "live", bytes, null);
      advance(1_000);
      assert.deepEqual(await store.collectBlobs(ALL), { blobs: 1, bytes: 1_000 });
      assert.deepEqual(
        [await hasBlob(store, "ended", bytes), await hasBlob(store, "live", bytes)],
        [false, true],
      );
      await store.releaseRun(live.fence, SUCCEEDED);
      advance(50);
      assert.deepEqual(await store.collectBlobs({ olderThanMs: 100, maxBytes: NO_CAP }), NONE);
      assert.deepEqual(await store.collectBlobs(ALL), { blobs: 1, bytes: 1_000 });
      assert.deepEqual(
        [await hasBlob(store, "ended", bytes), await hasBlob(store, "live", bytes)],
        [false, false],
      );
    },
  ),

  check("a dry run reports what would be deleted and deletes nothing", async ({ store }) => {
    const bytes = bytesOf("a");
    await runWithBlob(store, "run-1", bytes, SUCCEEDED);
    for (let i = 0; i < 2; i++)
      assert.deepEqual(await store.collectBlobs({ ...ALL, dryRun: true }), { blobs: 1, bytes: 1_000 });
    assert.ok(await hasBlob(store, "run-1", bytes));
    assert.equal((await store.collectBlobs({ ...ALL, dryRun: false })).blobs, 1);
  }),

  check("a blob that a live run refers to when it would be deleted stays", async ({ store }) => {
    const bytes = bytesOf("a");
    await runWithBlob(store, "ended", bytes, SUCCEEDED);
    assert.equal((await store.collectBlobs({ ...ALL, dryRun: true })).blobs, 1);
    await runWithBlob(store, "live", bytes, null);
    assert.equal((await store.collectBlobs(ALL)).blobs, 1);
    assert.ok(await hasBlob(store, "live", bytes));
  }),

  check("a failed run that is resumed keeps its blobs", async ({ store }) => {
    const bytes = bytesOf("a");
    const run = await runWithBlob(store, "run-1", bytes, FAILED);
    await run.takenOver();
    assert.deepEqual(await store.collectBlobs(ALL), NONE);
    assert.ok(await hasBlob(store, "run-1", bytes));
  }),

  checkSeveral("a collection and a new reference at once: the live run keeps its blob", async (scene) => {
    const other = await scene.openAnother();
    for (let i = 0; i < 10; i++) {
      const bytes = bytesOf(`blob ${i}`);
      await runWithBlob(scene.store, `ended-${i}`, bytes, SUCCEEDED);
      const live = await SampleRun.create(scene.store, `live-${i}`);
      await live.journaled(1, ["running"]);
      await Promise.all([other.collectBlobs(ALL), live.receipt(1, 1, blobReceipt(1, bytes))]);
      assert.ok(await hasBlob(other, live.runId, bytes));
    }
  }),

  check("a collected blob can be stored again", async ({ store }) => {
    const bytes = bytesOf("a");
    await runWithBlob(store, "first", bytes, SUCCEEDED);
    await store.collectBlobs(ALL);
    await runWithBlob(store, "second", bytes, null);
    assert.ok(await hasBlob(store, "second", bytes));
  }),
];
