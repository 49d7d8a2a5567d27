import assert from "node:assert/strict";
import { blobReferenceOf } from "../../../core/blob-reference.ts";
import { MessageRefusedError } from "../../../core/errors.ts";
import { isJsonObject } from "../../../core/json.ts";
import { filesIn, type UserPart } from "../../../core/message.ts";
import { MAX_MESSAGE_BYTES, MAX_MESSAGE_PARTS, readUserMessage } from "../../../core/run/sent-message.ts";
import type { ExchangeEnd, NewMessage, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { newFork } from "../sample-fork.ts";
import { arrived, takenFrom, withAnotherDatabase } from "../sample-move.ts";
import { CHARGE, SampleRun, SUCCEEDED } from "../sample-run.ts";
import { SampleTalk, text } from "../sample-talk.ts";

const CAT = Buffer.from("the bytes of a cat");
const DOG = Buffer.from("the bytes of a dog");

function picture(data: Uint8Array): UserPart {
  return { type: "file", mediaType: "image/png", data, filename: "picture.png" };
}

function withPictures(id: string, ...pictures: readonly Uint8Array[]): NewMessage {
  return text(id, readUserMessage({ parts: [{ type: "text", text: "Look." }, ...pictures.map(picture)] }));
}

function idOf(bytes: Uint8Array): string {
  return blobReferenceOf(bytes).blobId;
}

async function blobsOf(store: Store, runId: string): Promise<readonly (string | undefined)[]> {
  const blobs = await Promise.all([CAT, DOG].map((bytes) => store.readBlob(runId, idOf(bytes))));
  return blobs.map((bytes) => (bytes === null ? undefined : Buffer.from(bytes).toString()));
}

const BOTH = [CAT.toString(), DOG.toString()];

/** A conversation whose first turn has taken a message with two pictures. */
async function talkAboutPictures(store: Store): Promise<SampleTalk> {
  const talk = await SampleTalk.create(store);
  const { messageNo } = await store.sendMessage("run-1", withPictures("one", CAT, DOG, CAT));
  await talk.begin(1, messageNo);
  await talk.answer(1);
  return talk;
}

export const messageFileChecks: readonly Check[] = [
  check("the files of a message are blobs of its run, the same bytes one blob", async ({ store }) => {
    const talk = await talkAboutPictures(store);
    const [stored] = await store.listMessages("run-1");
    const reference = { type: "file", mediaType: "image/png", filename: "picture.png" };
    assert.deepEqual(stored?.body, {
      parts: [
        { type: "text", text: "Look." },
        { ...reference, ...blobReferenceOf(CAT) },
        { ...reference, ...blobReferenceOf(DOG) },
        { ...reference, ...blobReferenceOf(CAT) },
      ],
    });
    assert.deepEqual(await blobsOf(store, "run-1"), BOTH);
    const { blobs, problems } = await store.verify("run-1");
    assert.deepEqual([blobs, problems], [2, []]);
    const shown = (await store.readHistory("run-1", talk.run.step.path)).flatMap((message) =>
      message.role === "user" && typeof message.content !== "string" ? message.content : [],
    );
    assert.deepEqual(
      shown.map((part) => (part.type === "text" ? part.text : part.blobId)),
      ["Look.", idOf(CAT), idOf(DOG), idOf(CAT)],
    );
  }),

  check("the log names the files of a message, and does not have their bytes", async ({ store }) => {
    await SampleTalk.create(store);
    await store.sendMessage("run-1", withPictures("one", CAT));
    const event = (await store.listEvents("run-1")).at(-1);
    const { files } = (event?.data ?? {}) as { readonly files?: unknown };
    const { blobId: hash, size } = blobReferenceOf(CAT);
    assert.deepEqual(files, [{ filename: "picture.png", mediaType: "image/png", size, hash }]);
  }),

  checkSeveral("the same message again is the same, and other bytes are another one", async (scene) => {
    const { store } = scene;
    await SampleTalk.create(store);
    await store.sendMessage("run-1", withPictures("one", CAT));
    const other = await scene.openAnother();
    const { isDuplicate } = await other.sendMessage("run-1", withPictures("one", CAT));
    assert.equal(isDuplicate, true);
    const changed = () => other.sendMessage("run-1", withPictures("one", DOG));
    const error = await assertRefused(store, "run-1", changed, MessageRefusedError);
    assert.match(String(error), /with other contents/);
    assert.deepEqual(await blobsOf(store, "run-1"), [CAT.toString(), undefined]);
  }),

  check("a message and its files are stored together or not at all", async ({ store }) => {
    await SampleTalk.create(store);
    const whole = withPictures("one", CAT, DOG);
    const [cat, dog] = whole.files ?? [];
    assert.ok(cat !== undefined && dog !== undefined);
    const many = {
      parts: Array.from({ length: MAX_MESSAGE_PARTS + 1 }, () => ({ type: "text", text: "." })),
    };
    const large = { blobId: cat.blobId, bytes: new Uint8Array(MAX_MESSAGE_BYTES + 1) };
    const mistakes: readonly Partial<NewMessage>[] = [
      { files: [] },
      { files: [cat] },
      { files: [cat, dog, { blobId: idOf(Buffer.from("x")), bytes: Buffer.from("x") }] },
      { files: [cat, { blobId: dog.blobId, bytes: DOG.subarray(1) }] },
      { files: [large, dog] },
      { event: "payment.confirmed" },
      { body: many, files: [] },
      { body: { parts: [] }, files: [] },
      { body: { parts: [{ type: "file", mediaType: "image/png" }] }, files: [] },
    ];
    for (const over of mistakes)
      await assertRefused(
        store,
        "run-1",
        () => store.sendMessage("run-1", { ...whole, ...over }),
        MessageRefusedError,
      );
    // As many bytes as the reference says, and others.
    const forged = { files: [cat, { blobId: dog.blobId, bytes: Buffer.alloc(DOG.length, "x") }] };
    await assertRefused(store, "run-1", () => store.sendMessage("run-1", { ...whole, ...forged }));
    assert.deepEqual(await blobsOf(store, "run-1"), [undefined, undefined]);
  }),

  check("an event that only looks like a message with files refers to none", async ({ store }) => {
    await SampleRun.create(store);
    const { body } = withPictures("one", CAT);
    await store.sendMessage("run-1", { id: "m-1", event: "paid", body });
    assert.deepEqual((await store.verify("run-1")).problems, []);
  }),

  check("a refusal of files marks all messages up to it, and no other end does", async (scene) => {
    const { store } = scene;
    const talk = await SampleTalk.create(store);
    const { stepKey, fence } = talk.run;
    const marked = async () => {
      const { taken, tail } = await store.readConversation("run-1", stepKey, 1_000_000);
      const all = [...tail.flatMap((turn) => turn.taken), ...taken];
      return all.flatMap(({ id, refused }) => (refused === "files" ? [id] : []));
    };
    const end = async (messageNo: number, over: Partial<ExchangeEnd>) => {
      await store.sendMessage("run-1", withPictures(`message ${messageNo}`, DOG));
      await talk.begin(2, messageNo);
      await store.settleModelCall(fence, {
        stepKey,
        turnIndex: 2,
        attempt: messageNo - 1,
        charge: CHARGE,
      });
      await store.endExchange(fence, { stepKey, outcome: "failed", why: "It ended.", ...over });
    };
    await store.sendMessage("run-1", withPictures("answered", CAT));
    await talk.begin(1, 1);
    await talk.answer(1);
    await end(2, { outcome: "stopped" });
    await end(3, {});
    assert.deepEqual(await marked(), []);
    await end(4, { refused: "files" });
    await end(5, {});
    assert.deepEqual(await marked(), ["answered", "message 2", "message 3", "message 4"]);
    const ends = (await store.listEvents("run-1")).filter(({ type }) => type === "exchange.ended");
    assert.deepEqual(
      ends.map(({ data }) => (isJsonObject(data) ? data.refused : null)),
      [undefined, undefined, "files", undefined],
    );
    assert.deepEqual((await store.verify("run-1")).problems, []);
  }),

  check("a fork has the files of the messages that it has", async ({ store }) => {
    const { run } = await talkAboutPictures(store);
    await store.interruptRun(run.fence);
    await store.forkRun(newFork(run, 1, { runId: "fork" }));
    assert.deepEqual(await blobsOf(store, "fork"), BOTH);
    assert.deepEqual((await store.verify("fork")).problems, []);
  }),

  check("a run takes the files of its messages to another store", async (scene) => {
    const { store } = scene;
    const { run } = await talkAboutPictures(store);
    await store.interruptRun(run.fence);
    await withAnotherDatabase(scene, async (elsewhere) => {
      await arrived(elsewhere, await takenFrom(store, "run-1", elsewhere));
      assert.deepEqual(await blobsOf(elsewhere, "run-1"), BOTH);
      assert.deepEqual((await elsewhere.verify("run-1")).problems, []);
    });
  }),

  check("the files of a live run stay, and those of an ended one are collected", async ({ store }) => {
    const { run } = await talkAboutPictures(store);
    const all = { olderThanMs: -1, maxBytes: 0 };
    assert.equal((await store.collectBlobs(all)).blobs, 0);
    await store.releaseRun(run.fence, SUCCEEDED);
    assert.equal((await store.collectBlobs(all)).blobs, 2);
    const { problems } = await store.verify("run-1");
    assert.deepEqual(
      problems.map(({ row, what }) => [row, what.endsWith("message 1 refers to it")]),
      [
        [`blob ${idOf(CAT)}`, true],
        [`blob ${idOf(DOG)}`, true],
        [`blob ${idOf(CAT)}`, true],
      ],
    );
  }),

  check("a file of several megabytes is stored and read as it is", async ({ store }) => {
    await SampleTalk.create(store);
    const bytes = Buffer.alloc(5_000_000, "0123456789abcdef\0ÿ", "latin1");
    const message = withPictures("one", bytes, CAT);
    await Promise.all([store.sendMessage("run-1", message), store.sendMessage("run-1", text("two"))]);
    const [file] = filesIn(message.body);
    const read = await store.readBlob("run-1", file?.blobId ?? "");
    assert.ok(read !== null && bytes.equals(read), "the bytes are the same");
    assert.deepEqual((await store.verify("run-1")).problems, []);
  }),
];
