import assert from "node:assert/strict";
import { blobReferenceOf } from "../../../core/blob-reference.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { blobReceipt, newReceipt, SampleRun, sha256 } from "../sample-run.ts";

const BYTES = Uint8Array.from({ length: 50_000 }, (_, i) => i % 256);
const { blobId: BLOB_ID } = blobReferenceOf(BYTES);

export const blobChecks: readonly Check[] = [
  check("a large result is stored beside its receipt, byte for byte", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committedWithCall(1, blobReceipt(1, BYTES));
    const [call] = await store.listToolCalls(run.runId);
    assert.deepEqual(call?.receipt?.blob, { blobId: BLOB_ID, size: BYTES.byteLength });
    assert.deepEqual(call?.receipt?.output, blobReceipt(1, BYTES).output);
    const stored = await store.readBlob(run.runId, BLOB_ID);
    assert.ok(stored !== null && Buffer.from(stored).equals(BYTES));
  }),

  check("a blob stored with a single receipt can be read, and so can an empty one", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    const empty = new Uint8Array();
    await run.receipt(1, 1, blobReceipt(1, BYTES));
    await run.receipt(1, 2, blobReceipt(2, empty));
    assert.equal((await store.readBlob(run.runId, BLOB_ID))?.byteLength, BYTES.byteLength);
    assert.equal((await store.readBlob(run.runId, blobReferenceOf(empty).blobId))?.byteLength, 0);
  }),

  check("a blob is read only through a run that refers to it", async ({ store }) => {
    const run = await SampleRun.create(store, "mine");
    const other = await SampleRun.create(store, "theirs");
    await run.committedWithCall(1, blobReceipt(1, BYTES));
    await other.committedWithCall(1, newReceipt(1, { output: blobReceipt(1, BYTES).output }));
    assert.equal(
      await store.readBlob("theirs", BLOB_ID),
      null,
      "a text that looks like a reference is not one",
    );
    assert.ok((await store.readBlob("mine", BLOB_ID)) !== null);
  }),

  check("an id of no blob finds none", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committedWithCall(1, blobReceipt(1, BYTES));
    for (const blobId of ["", "nope", "../../etc/passwd", sha256("other").toString("hex"), `${BLOB_ID}zz`])
      assert.ok(
        (await store.readBlob(run.runId, blobId)) === null,
        `${JSON.stringify(blobId)} finds nothing`,
      );
  }),

  check("a blob whose bytes do not match its id is refused, and its receipt with it", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    const receipt = newReceipt(1, { blob: { blobId: BLOB_ID, bytes: BYTES.slice(1) } });
    await assertRefused(store, run.runId, () => run.receipt(1, 1, receipt));
    assert.equal(await store.readBlob(run.runId, BLOB_ID), null);
  }),

  check("a refused commit leaves no blob behind", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    const commit = run.commit(1, { receipts: [blobReceipt(1, BYTES)] });
    await assertRefused(store, run.runId, () => store.commitTurn(run.fence, commit));
    assert.equal(await store.readBlob(run.runId, BLOB_ID), null);
  }),
];
