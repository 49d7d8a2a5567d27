import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CheckpointStoreError, ConfigurationError } from "../../../src/core/errors.ts";
import { FileCheckpointStore } from "../../../src/store/checkpoint/file-checkpoint-store.ts";
import { FaultyFileSystem } from "./faulty-file-system.ts";
import { checkpoint, filesIn, plant, request, textIn, workerDirectory } from "./worker-fixture.ts";

const { snapshot, cursor } = checkpoint(1);
const REQUEST = JSON.stringify(request(1));
const CHECKPOINT = JSON.stringify({ ...snapshot, cursor });

/** A worker with these files, taken by a store that records its warnings. */
async function workerWith(files: Readonly<Record<string, string>>, fileSystem = new FaultyFileSystem()) {
  const directory = workerDirectory();
  plant(directory, files);
  const warnings: string[] = [];
  const store = new FileCheckpointStore(directory, { fileSystem, warn: (message) => warnings.push(message) });
  const release = await store.acquire();
  return { directory, store, warnings, release, fileSystem };
}

const corruptCheckpoints: readonly (readonly [string, string])[] = [
  ["is empty", ""],
  ["ends half-way", CHECKPOINT.slice(0, CHECKPOINT.length / 2)],
  ["is followed by something else", `${CHECKPOINT}}`],
  ["is a list", "[]"],
  ["is null", "null"],
  ["has no cursor", JSON.stringify(snapshot)],
  ["has a cursor that is no object", JSON.stringify({ ...snapshot, cursor: 3 })],
  ["has half a character in it", CHECKPOINT.replace("done", "\\ud800")],
];

const corruptRequests: readonly (readonly [string, string])[] = [
  ["is empty", ""],
  ["ends half-way", REQUEST.slice(0, -1)],
  ["is a text", '"run-1"'],
  ["has no run id", JSON.stringify({ ...request(1), runId: undefined })],
  ["has an empty run id", JSON.stringify({ ...request(1), runId: "" })],
  ["has no request in it", JSON.stringify({ ...request(1), request: undefined })],
  ["has no time", JSON.stringify({ ...request(1), createdAt: null })],
  ["has no deadline, not even null", JSON.stringify({ ...request(1), deadline: undefined })],
  ["has a deadline that is no time", JSON.stringify({ ...request(1), deadline: "soon" })],
];

describe("a checkpoint that", () => {
  test.each(corruptCheckpoints)(
    "%s is set aside with one warning, and its request is kept",
    async (_what, text) => {
      const { directory, store, warnings } = await workerWith({
        "request.json": REQUEST,
        "checkpoint.json": text,
      });
      expect(await store.loadRequest()).toEqual(request(1));
      expect(await store.loadCheckpoint()).toBeNull();
      expect(await store.loadCheckpoint()).toBeNull();
      expect(await store.hasIncomplete()).toBe(false);
      expect(textIn(directory, "checkpoint.json.corrupt-1")).toBe(text);
      expect(filesIn(directory)).toEqual(["checkpoint.json.corrupt-1", "request.json"]);
      expect(warnings).toEqual([expect.stringContaining(join(directory, "checkpoint.json.corrupt-1"))]);
    },
  );

  test("is corrupt is detected whichever file is read first, and without a request too", async () => {
    for (const files of [{ "checkpoint.json": "{" }, { "checkpoint.json": "{", "request.json": REQUEST }]) {
      const { directory, store, warnings } = await workerWith(files);
      expect(await store.loadCheckpoint()).toBeNull();
      expect(await store.loadRequest()).toEqual("request.json" in files ? request(1) : null);
      expect(filesIn(directory)).toContain("checkpoint.json.corrupt-1");
      expect(warnings).toHaveLength(1);
    }
  });

  test("is not UTF-8 is corrupt: it would silently turn into other text", async () => {
    const { directory, store } = await workerWith({ "request.json": REQUEST });
    const bytes = Buffer.from(CHECKPOINT);
    bytes[bytes.indexOf("done")] = 0xff;
    writeFileSync(join(directory, "checkpoint.json"), bytes);
    expect(await store.loadCheckpoint()).toBeNull();
    expect(readFileSync(join(directory, "checkpoint.json.corrupt-1"))).toEqual(bytes);
  });

  test("has an unknown snapshot version is not corrupt: restoring it decides about that", async () => {
    const { store, warnings } = await workerWith({ "checkpoint.json": '{"version":99,"cursor":{}}' });
    expect(await store.loadCheckpoint()).toEqual({ snapshot: { version: 99 }, cursor: {} });
    expect(warnings).toEqual([]);
  });

  test("was set aside is never overwritten", async () => {
    const { directory, store } = await workerWith({
      "checkpoint.json": "third",
      "checkpoint.json.corrupt-1": "first",
      "checkpoint.json.corrupt-3": "second",
    });
    await store.loadCheckpoint();
    writeFileSync(join(directory, "checkpoint.json"), "fourth");
    await store.loadCheckpoint();
    const texts = [1, 2, 3, 4].map((n) => textIn(directory, `checkpoint.json.corrupt-${n}`));
    expect(texts).toEqual(["first", "third", "second", "fourth"]);
  });
});

describe("a request that", () => {
  test.each(corruptRequests)(
    "%s is set aside with one warning, and its checkpoint is kept",
    async (_what, text) => {
      const { directory, store, warnings } = await workerWith({
        "request.json": text,
        "checkpoint.json": CHECKPOINT,
      });
      expect(await store.loadRequest()).toBeNull();
      expect(await store.loadCheckpoint()).toEqual(checkpoint(1));
      expect(await store.hasIncomplete()).toBe(true);
      expect(filesIn(directory)).toEqual(["checkpoint.json", "request.json.corrupt-1"]);
      expect(textIn(directory, "request.json.corrupt-1")).toBe(text);
      expect(textIn(directory, "checkpoint.json")).toBe(CHECKPOINT);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain(join(directory, "request.json.corrupt-1"));
    },
  );

  test("is corrupt and has no checkpoint yet is set aside, and the worker can start again", async () => {
    const { directory, store, warnings } = await workerWith({ "request.json": "{" });
    expect(await store.loadCheckpoint()).toBeNull();
    expect(await store.loadRequest()).toBeNull();
    await store.begin(request(2));
    expect(await store.loadRequest()).toEqual(request(2));
    expect(filesIn(directory)).toEqual(["request.json", "request.json.corrupt-1"]);
    expect(warnings).toHaveLength(1);
  });
});

describe("if both files are corrupt", () => {
  test.each(["loadRequest", "loadCheckpoint"] as const)(
    "%s throws, names them, and moves neither",
    async (load) => {
      const files = { "request.json": "{", "checkpoint.json": "{" };
      const { directory, store, warnings } = await workerWith(files);
      const paths = [join(directory, "request.json"), join(directory, "checkpoint.json")];
      for (const _again of [1, 2]) {
        const loading = store[load]();
        await expect(loading).rejects.toBeInstanceOf(CheckpointStoreError);
        await expect(loading).rejects.toMatchObject({
          message: expect.stringContaining(paths.join(" and ")),
          details: { reason: "corrupt", paths },
        });
      }
      expect(filesIn(directory)).toEqual(["checkpoint.json", "request.json"]);
      expect(warnings).toEqual([]);
    },
  );
});

describe("a file that cannot be read", () => {
  test.each(["EACCES", "EIO"] as const)(
    "because of %s is not corrupt: an error reports it, and nothing is moved",
    async (code) => {
      const files = { "request.json": REQUEST, "checkpoint.json": "{" };
      const { directory, store, warnings, fileSystem } = await workerWith(files);
      fileSystem.arm(null);
      await store.isCompleted();
      const looks = fileSystem.operations.length;
      // After the checks: open, read, close of the request, then those of the checkpoint.
      for (const [offset, name] of [
        [0, "request.json"],
        [1, "request.json"],
        [3, "checkpoint.json"],
        [4, "checkpoint.json"],
      ] as const) {
        fileSystem.arm({ kind: code, at: looks + offset });
        const loading = store.loadCheckpoint();
        await expect(loading).rejects.toBeInstanceOf(CheckpointStoreError);
        await expect(loading).rejects.toMatchObject({
          message: expect.stringContaining(`${join(directory, name)} could not be read`),
          cause: { code },
        });
        expect(filesIn(directory)).toEqual(["checkpoint.json", "request.json"]);
      }
      expect(warnings).toEqual([]);
      await fileSystem.finish();
    },
  );
});

test("a process that does not hold the worker moves none of its files", async () => {
  for (const files of [{ "checkpoint.json": "{" }, { "request.json": "{", "checkpoint.json": CHECKPOINT }]) {
    const { directory, release } = await workerWith(files);
    await release();
    const onlooker = new FileCheckpointStore(directory);
    await expect(onlooker.loadRequest()).rejects.toBeInstanceOf(ConfigurationError);
    expect(filesIn(directory)).toEqual(Object.keys(files).sort());
  }
});

describe("a worker that dies while corrupt files are set aside", () => {
  test.each([
    {
      what: "a checkpoint",
      files: { "request.json": REQUEST, "checkpoint.json": "{" },
      finds: [request(1), null],
    },
    {
      what: "a request",
      files: { "request.json": "{", "checkpoint.json": CHECKPOINT },
      finds: [null, checkpoint(1)],
    },
  ])("($what) loses none of them, and the next one ends up where it would have", async ({ files, finds }) => {
    const untouched = await workerWith(files);
    untouched.fileSystem.arm(null);
    await untouched.store.loadRequest();
    const { length } = untouched.fileSystem.operations;
    expect(length).toBeGreaterThan(10);

    for (const kind of ["dies before", "dies after"] as const)
      for (let at = 0; at < length; at++) {
        const { directory, store, release, fileSystem } = await workerWith(files);
        fileSystem.arm({ kind, at });
        await store.loadRequest().catch(() => undefined);
        expect(fileSystem.isDead).toBe(true);
        await release();
        const next = new FileCheckpointStore(directory, { warn: () => undefined });
        await next.acquire();
        expect([await next.loadRequest(), await next.loadCheckpoint()]).toEqual(finds);
        const texts = filesIn(directory).map((name) => textIn(directory, name));
        expect(texts.sort()).toEqual(Object.values(files).sort());
      }
  });
});
