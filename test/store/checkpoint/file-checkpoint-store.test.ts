import { readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isJson } from "../../../src/core/canonical-json.ts";
import { ConfigurationError, NotJsonError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { FileCheckpointStore } from "../../../src/store/checkpoint/file-checkpoint-store.ts";
import type { WorkerRequest } from "../../../src/store/checkpoint-store.ts";
import { tempFolder } from "../sqlite/temp-folder.ts";
import { checkpoint, filesIn, held, plant, request, textIn, workerDirectory } from "./worker-fixture.ts";

describe("a worker's directory", () => {
  test("has nothing to resume before its first request, and reading creates no files", async () => {
    const directory = workerDirectory();
    const store = new FileCheckpointStore(directory);
    expect(await store.loadRequest()).toBeNull();
    expect(await store.loadCheckpoint()).toBeNull();
    expect(await store.isCompleted()).toBe(false);
    expect(await store.hasIncomplete()).toBe(false);
    expect(readdirSync(dirname(directory))).toEqual([]);
  });

  test("holds the request, the checkpoint and the marker under the documented names", async () => {
    const directory = workerDirectory();
    const store = await held(directory);
    await store.begin({ ...request(1), deadline: 5_000 });
    expect(filesIn(directory)).toEqual(["request.json"]);
    await store.persistCheckpoint(checkpoint(1));
    expect(filesIn(directory)).toEqual(["checkpoint.json", "request.json"]);
    await store.markCompleted(request(1).runId);
    expect(filesIn(directory)).toEqual(["checkpoint.json", "completed", "request.json"]);

    expect(JSON.parse(textIn(directory, "request.json"))).toEqual({
      runId: "run-1",
      request: { topic: "topic 1" },
      createdAt: 1_001,
      deadline: 5_000,
    });
    const { snapshot, cursor } = checkpoint(1);
    expect(JSON.parse(textIn(directory, "checkpoint.json"))).toEqual({ ...snapshot, cursor });
    expect(textIn(directory, "completed")).toBe("");
  });

  test("is private to its user, and so are the parents created for it", async () => {
    const parent = join(tempFolder(), "workers");
    const store = await held(join(parent, "worker-1"));
    await store.begin(request(1));
    await store.persistCheckpoint(checkpoint(1));
    await store.markCompleted(request(1).runId);
    const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect([mode(parent), mode(store.worker)]).toEqual(["700", "700"]);
    const names = readdirSync(store.worker);
    expect(names).toHaveLength(4);
    for (const name of names) expect([name, mode(join(store.worker, name))]).toEqual([name, "600"]);
  });

  test("is identified by its absolute path, however it was given", () => {
    const directory = workerDirectory();
    const names = [directory, `${directory}/`, `${dirname(directory)}/./worker-1`];
    for (const name of names) expect(new FileCheckpointStore(name).worker).toBe(directory);
    expect(FileCheckpointStore.forWorker(dirname(directory), "worker-1").worker).toBe(directory);
    expect(new FileCheckpointStore("workers/a").worker).toBe(join(process.cwd(), "workers/a"));
    expect(relative(process.cwd(), FileCheckpointStore.forWorker("workers", "a").worker)).toBe("workers/a");
  });
});

describe("the stored state", () => {
  test("is read by another process", async () => {
    const directory = workerDirectory();
    const store = await held(directory);
    await store.begin(request(1));
    for (const n of [1, 2, 3]) await store.persistCheckpoint(checkpoint(n));
    const other = new FileCheckpointStore(directory);
    expect(await other.loadRequest()).toEqual(request(1));
    expect(await other.loadCheckpoint()).toEqual(checkpoint(3));
  });

  test("is read back exactly, whatever JSON it is", async () => {
    const store = await held(workerDirectory());
    const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)));
    const object = fc.dictionary(fc.string(), json).filter(isJson) as fc.Arbitrary<JsonObject>;
    const snapshots = object.filter((snapshot) => !Object.hasOwn(snapshot, "cursor"));
    await fc.assert(
      fc.asyncProperty(snapshots, object, json, async (snapshot, cursor, asked) => {
        await store.begin({ ...request(1), request: asked });
        await store.persistCheckpoint({ snapshot, cursor });
        expect(await store.loadCheckpoint()).toEqual({ snapshot, cursor });
        expect(await store.loadRequest()).toEqual({ ...request(1), request: asked });
      }),
      { numRuns: 60 },
    );
  });

  test("is what was given, even if the object changes during the write", async () => {
    const store = await held(workerDirectory());
    const plan = { done: 1 };
    const writing = store.persistCheckpoint({ snapshot: { slices: { plan } }, cursor: {} });
    plan.done = 2;
    await writing;
    expect((await store.loadCheckpoint())?.snapshot).toEqual({ slices: { plan: { done: 1 } } });
  });

  test("is incomplete from its first checkpoint until it is marked as completed", async () => {
    const store = await held(workerDirectory());
    const seen: boolean[][] = [];
    const look = async () => seen.push([await store.hasIncomplete(), await store.isCompleted()]);
    await store.begin(request(1));
    await look();
    await store.persistCheckpoint(checkpoint(1));
    await look();
    await store.markCompleted(request(1).runId);
    await look();
    expect(seen).toEqual([
      [false, false],
      [true, false],
      [false, true],
    ]);
  });

  test("is forgotten by the next request", async () => {
    const directory = workerDirectory();
    const store = await held(directory);
    await store.begin(request(1));
    await store.persistCheckpoint(checkpoint(1));
    await store.markCompleted(request(1).runId);
    await store.begin(request(2));
    expect(filesIn(directory)).toEqual(["request.json"]);
    expect(await store.loadRequest()).toEqual(request(2));
    expect(await store.loadCheckpoint()).toBeNull();
    expect(await store.isCompleted()).toBe(false);
  });

  test("is the last one of several simultaneous writes", async () => {
    const directory = workerDirectory();
    const store = await held(directory);
    const all = [1, 2, 3, 4, 5].map((n) => store.persistCheckpoint(checkpoint(n)));
    expect(await store.loadCheckpoint()).toEqual(checkpoint(5));
    await Promise.all(all);
    expect(filesIn(directory)).toEqual(["checkpoint.json"]);
  });
});

describe("refused before anything is written is", () => {
  test.each([
    ["a snapshot that is no JSON", { snapshot: { at: new Date(0) }, cursor: {} }, /The snapshot .* \$\.at/],
    ["a snapshot that is an object of a class", { snapshot: new URL("a:b"), cursor: {} }, /The snapshot/],
    ["a cursor that is no JSON", { snapshot: {}, cursor: { n: Number.NaN } }, /The cursor .* \$\.n/],
  ])("%s", async (_what, bad, message) => {
    const directory = workerDirectory();
    const store = await held(directory);
    await store.persistCheckpoint(checkpoint(1));
    const writing = store.persistCheckpoint(bad as never);
    await expect(writing).rejects.toThrow(message);
    await expect(writing).rejects.toBeInstanceOf(NotJsonError);
    expect(await store.loadCheckpoint()).toEqual(checkpoint(1));
  });

  test("a snapshot with a cursor of its own, which would be lost", async () => {
    const store = await held(workerDirectory());
    const writing = store.persistCheckpoint({ snapshot: { cursor: 1 }, cursor: {} });
    await expect(writing).rejects.toBeInstanceOf(ConfigurationError);
    expect(await store.loadCheckpoint()).toBeNull();
  });

  test.each<Partial<WorkerRequest>>([
    { runId: "" },
    { createdAt: "today" as never },
    { deadline: "never" as never },
  ])("a request that could not be read back: %j", async (bad) => {
    const store = await held(workerDirectory());
    await store.begin(request(1));
    await expect(store.begin({ ...request(2), ...bad })).rejects.toBeInstanceOf(ConfigurationError);
    await expect(store.begin({ ...request(2), createdAt: Number.NaN })).rejects.toBeInstanceOf(NotJsonError);
    expect(await store.loadRequest()).toEqual(request(1));
  });
});

describe("a checkpoint that cannot be used", () => {
  test("is moved out of the way and kept, and earlier ones are not lost", async () => {
    const directory = workerDirectory();
    const store = await held(directory);
    await store.begin(request(1));
    const kept: (string | null)[] = [];
    for (const n of [1, 2]) {
      await store.persistCheckpoint(checkpoint(n));
      kept.push(await store.setCheckpointAside());
    }
    expect(kept).toEqual([
      join(directory, "checkpoint.json.aside-1"),
      join(directory, "checkpoint.json.aside-2"),
    ]);
    for (const n of [1, 2])
      expect(JSON.parse(textIn(directory, `checkpoint.json.aside-${n}`))).toMatchObject({
        cursor: { turnIndex: n },
      });
    expect(await store.hasIncomplete()).toBe(false);
    expect(await store.loadRequest()).toEqual(request(1));
  });

  test("is null if there is none", async () => {
    expect(await (await held(workerDirectory())).setCheckpointAside()).toBeNull();
  });

  test("outlives the next request", async () => {
    const directory = workerDirectory();
    const store = await held(directory);
    await store.begin(request(1));
    await store.persistCheckpoint(checkpoint(1));
    await store.setCheckpointAside();
    await store.begin(request(2));
    expect(filesIn(directory)).toEqual(["checkpoint.json.aside-1", "request.json"]);
  });
});

test("a file set aside emits a process warning by default", async () => {
  const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  onTestFinished(() => emitWarning.mockRestore());
  const directory = workerDirectory();
  const store = await held(directory);
  writeFileSync(join(directory, "checkpoint.json"), "{");
  expect(await store.loadCheckpoint()).toBeNull();
  expect(emitWarning.mock.calls).toEqual([
    [expect.stringContaining(join(directory, "checkpoint.json.corrupt-1"))],
  ]);
});

test("acquiring a worker removes the temporary files of a killed process, and nothing else", async () => {
  const directory = workerDirectory();
  const others = [
    "notes.tmp",
    ".request.json.tmp",
    ".checkpoint.json.0123456789ag.tmp",
    "checkpoint.json.corrupt-1",
  ];
  const left = [
    ".checkpoint.json.0123456789ab.tmp",
    ".completed.000000000000.tmp",
    ".request.json.ffffffffffff.tmp",
  ];
  plant(directory, Object.fromEntries([...others, ...left].map((name) => [name, "half"])));
  await held(directory);
  expect(filesIn(directory)).toEqual(others.sort());
});
