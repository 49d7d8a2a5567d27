import assert from "node:assert/strict";
import { blobReferenceOf } from "../../../core/blob-reference.ts";
import { LeaseLostError } from "../../../core/errors.ts";
import type { ArtifactRecord, RunEnd } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { blobReceipt, FAILED, LEASE_MS, SampleRun, SUCCEEDED } from "../sample-run.ts";

const BYTES = Uint8Array.from({ length: 5_000 }, (_, i) => i % 256);
const ALL = { olderThanMs: -1, maxBytes: 0 };

function textOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString("utf8");
}

/** Stores a text under a name, as the run's current step. */
function keep(run: SampleRun, name: string, bytes: Uint8Array | string): Promise<ArtifactRecord> {
  const kept = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
  return run.store.keepArtifact(run.fence, { stepKey: run.stepKey, name, bytes: kept });
}

async function namesOf(run: SampleRun): Promise<string[]> {
  return (await run.store.listArtifacts(run.runId)).map(({ name }) => name);
}

export const artifactChecks: readonly Check[] = [
  check("an artifact is stored byte for byte, with its hash and its step", async (scene) => {
    const { store, now, advance } = scene;
    const run = await SampleRun.create(store);
    const polish = await run.at("polish", { path: "loop[2]/polish" });
    advance(5);
    const kept = await keep(polish, "report.pdf", BYTES);
    const { blobId, size } = blobReferenceOf(BYTES);
    assert.deepEqual(kept, {
      name: "report.pdf",
      size,
      hash: blobId,
      stepPath: "loop[2]/polish",
      at: now(),
    });
    advance(5);
    assert.deepEqual(await store.listArtifacts(run.runId), [kept]);
    const stored = await store.readArtifact(run.runId, "report.pdf");
    assert.ok(stored !== null && Buffer.from(stored).equals(BYTES));
    const { type, data } = await run.lastEvent();
    assert.equal(type, "artifact.kept");
    assert.match(JSON.stringify(data), /"report\.pdf"/);
  }),

  check(
    "the final artifact of a run is the one of that name, as it was when the run succeeded",
    async (scene) => {
      const { store } = scene;
      const run = await SampleRun.create(store);
      await keep(run, "report.pdf", "draft");
      const { name, hash } = await keep(run, "report.pdf", BYTES);
      await keep(run, "notes.txt", "notes");
      assert.equal((await run.record()).finalArtifact, null);
      await store.releaseRun(run.fence, { ...SUCCEEDED, finalArtifact: "report.pdf" });
      assert.deepEqual((await run.record()).finalArtifact, { name, hash });
      assert.match(JSON.stringify((await run.lastEvent()).data), /"finalArtifact":\{[^}]*"report\.pdf"/);
      assert.deepEqual((await store.listRuns())[0], await run.record());
      assert.deepEqual((await store.verify(run.runId)).problems, []);
    },
  ),

  check(
    "a run has no final artifact if none was named, there is none, or it did not succeed",
    async (scene) => {
      const { store } = scene;
      const ends: readonly RunEnd[] = [
        SUCCEEDED,
        { ...SUCCEEDED, finalArtifact: null },
        { ...SUCCEEDED, finalArtifact: "other.pdf" },
        FAILED,
      ];
      for (const [i, end] of ends.entries()) {
        const run = await SampleRun.create(store, `run-${i}`);
        await keep(run, "report.pdf", BYTES);
        await store.releaseRun(run.fence, end);
        assert.equal((await run.record()).finalArtifact, null);
      }
      const late = await SampleRun.create(store, "late");
      await keep(late, "report.pdf", BYTES);
      await store.requestCancel(late.runId);
      await store.releaseRun(late.fence, { ...SUCCEEDED, finalArtifact: "report.pdf" });
      const { status, finalArtifact } = await late.record();
      assert.equal(finalArtifact === null, status === "cancelled", `a run that ${status}`);
    },
  ),

  check("an artifact that no step made belongs to the run", async ({ store }) => {
    const run = await SampleRun.create(store);
    const artifact = { stepKey: null, name: "summary.txt", bytes: Buffer.from("Done.") };
    const kept = await store.keepArtifact(run.fence, artifact);
    assert.equal(kept.stepPath, "");
    assert.deepEqual(await store.listArtifacts(run.runId), [kept]);
  }),

  check("an artifact of the same name replaces the first", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store);
    await keep(run, "report.txt", "first");
    await keep(run, "other.txt", "other");
    const polish = await run.at("polish");
    advance(5);
    const second = await keep(polish, "report.txt", "the second one");
    assert.deepEqual([second.stepPath, second.size, second.at], ["polish", 14, now()]);
    assert.deepEqual(await namesOf(run), ["other.txt", "report.txt"]);
    assert.deepEqual((await store.listArtifacts(run.runId))[1], second);
    assert.equal(textOf(await store.readArtifact(run.runId, "report.txt")), "the second one");
    await keep(run, "report.txt", "first");
    assert.equal(textOf(await store.readArtifact(run.runId, "report.txt")), "first", "and back again");
    assert.equal((await store.listArtifacts(run.runId))[1]?.stepPath, "draft");
  }),

  check("artifacts are listed by name, whatever the name is", async ({ store }) => {
    const run = await SampleRun.create(store);
    const names = ["a/b.txt", "a b", "Größe 🙂.txt", "c", 'it\'s "quoted"', "%_"];
    for (const name of names) await keep(run, name, `of ${name}`);
    const listed = await namesOf(run);
    assert.deepEqual(listed.toSorted(), names.toSorted());
    const plain = ["a b", "a/b.txt", "c"];
    assert.deepEqual(
      listed.filter((name) => plain.includes(name)),
      plain,
    );
    for (const name of names) assert.equal(textOf(await store.readArtifact(run.runId, name)), `of ${name}`);
    for (const name of ["", "b", "a", "%", "a/b.txt "])
      assert.equal(await store.readArtifact(run.runId, name), null, `there is no ${JSON.stringify(name)}`);
  }),

  check("an artifact may be empty", async ({ store }) => {
    const run = await SampleRun.create(store);
    const kept = await keep(run, "empty.txt", "");
    assert.deepEqual([kept.size, kept.hash], [0, blobReferenceOf(new Uint8Array()).blobId]);
    assert.equal((await store.readArtifact(run.runId, "empty.txt"))?.byteLength, 0);
  }),

  check("each run has its own artifacts, and cannot read another's", async ({ store }) => {
    const [mine, theirs] = [await SampleRun.create(store, "mine"), await SampleRun.create(store, "theirs")];
    await keep(mine, "report.txt", "mine");
    await keep(theirs, "report.txt", "theirs");
    const secret = await keep(theirs, "secret.txt", "secret");
    assert.equal(textOf(await store.readArtifact("mine", "report.txt")), "mine");
    assert.equal(textOf(await store.readArtifact("theirs", "report.txt")), "theirs");
    assert.equal(await store.readArtifact("mine", "secret.txt"), null);
    assert.equal(await store.readBlob("mine", secret.hash), null);
    assert.equal(textOf(await store.readBlob("theirs", secret.hash)), "secret");
    assert.deepEqual(await namesOf(mine), ["report.txt"]);
  }),

  check("an artifact outlives its worker, and the end of the run", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await keep(run, "report.txt", "first");
    advance(LEASE_MS);
    const later = await run.takenOver();
    await keep(later, "more.txt", "more");
    await store.releaseRun(later.fence, FAILED);
    const last = await run.takenOver();
    await store.releaseRun(last.fence, SUCCEEDED);
    assert.deepEqual(await namesOf(run), ["more.txt", "report.txt"]);
    assert.equal(textOf(await store.readArtifact(run.runId, "report.txt")), "first");
  }),

  check("a worker that has lost the run stores nothing, not even the bytes", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    advance(LEASE_MS);
    const later = await run.takenOver();
    await keep(later, "report.txt", "new");
    await assertRefused(store, run.runId, () => keep(run, "report.txt", "old"), LeaseLostError);
    const { blobId } = blobReferenceOf(Buffer.from("old"));
    assert.equal(await store.readBlob(run.runId, blobId), null);
  }),

  check("the bytes are collected with an ended run, and stay with a live one", async ({ store, advance }) => {
    const [ended, living] = [await SampleRun.create(store, "ended"), await SampleRun.create(store, "living")];
    await keep(ended, "report.txt", "ended");
    await keep(living, "report.txt", "living");
    await keep(ended, "shared.txt", "shared");
    await keep(living, "shared.txt", "shared");
    await store.releaseRun(ended.fence, SUCCEEDED);
    advance(5);
    assert.deepEqual(await store.collectBlobs(ALL), { blobs: 2, bytes: 11 });
    assert.equal(await store.readArtifact("ended", "report.txt"), null);
    assert.deepEqual(await namesOf(ended), ["report.txt", "shared.txt"], "the record is kept");
    assert.equal(await store.readArtifact("ended", "shared.txt"), null);
    assert.equal(textOf(await store.readArtifact("living", "shared.txt")), "shared");
    assert.equal(textOf(await store.readArtifact("living", "report.txt")), "living");
    await store.releaseRun(living.fence, FAILED);
    assert.equal((await store.collectBlobs(ALL)).blobs, 2);
    const { problems } = await store.verify("ended");
    assert.deepEqual(
      problems.map(({ row }) => row),
      (await store.listArtifacts("ended")).map(({ hash }) => `blob ${hash}`),
      "verify names the missing bytes",
    );
  }),

  check("an artifact and a result of the same bytes are one blob", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committedWithCall(1, blobReceipt(1, BYTES));
    await keep(run, "a.bin", BYTES);
    await keep(run, "b.bin", BYTES);
    assert.equal((await store.verify(run.runId)).blobs, 1);
    await store.releaseRun(run.fence, SUCCEEDED);
    assert.deepEqual(await store.collectBlobs(ALL), { blobs: 1, bytes: BYTES.byteLength });
  }),

  checkSeveral("another process reads an artifact of this one", async ({ store, openAnother }) => {
    const reader = await openAnother();
    const run = await SampleRun.create(store);
    for (const text of ["one", "two"]) {
      await keep(run, "report.txt", text);
      assert.equal(textOf(await reader.readArtifact(run.runId, "report.txt")), text);
    }
    assert.deepEqual(await reader.listArtifacts(run.runId), await store.listArtifacts(run.runId));
  }),
];
