import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CheckpointStoreError, ConfigurationError, WorkerBusyError } from "../../../src/core/errors.ts";
import { FileCheckpointStore } from "../../../src/store/checkpoint/file-checkpoint-store.ts";
import { Child } from "../sqlite/child.ts";
import { FaultyFileSystem } from "./faulty-file-system.ts";
import { checkpoint, filesIn, held, plant, request, workerDirectory } from "./worker-fixture.ts";

async function expectBusy(directory: string): Promise<void> {
  const acquiring = new FileCheckpointStore(directory).acquire();
  await expect(acquiring).rejects.toBeInstanceOf(WorkerBusyError);
  await expect(acquiring).rejects.toMatchObject({
    message: expect.stringContaining(directory),
    details: { worker: directory },
    recoverable: true,
  });
}

/** A process that holds the worker until it is asked to end. */
async function holdInChild(directory: string): Promise<Child> {
  const child = Child.start("hold-worker", directory);
  expect(await child.line()).toBe("held");
  return child;
}

describe("a worker that another process holds", () => {
  test("is busy until that process releases it", async () => {
    const directory = workerDirectory();
    const child = await holdInChild(directory);
    await expectBusy(directory);
    await expectBusy(directory);
    child.send("end");
    expect(await child.line()).toBe("given back");
    await held(directory);
    await expectBusy(directory);
  });

  test("can be taken at once when that process was killed", async () => {
    const directory = workerDirectory();
    const child = await holdInChild(directory);
    await child.kill();
    const store = await held(directory);
    expect(await store.loadRequest()).toMatchObject({ runId: "child" });
    expect(readdirSync(directory).sort()).toEqual([".lock", "request.json"]);
  });

  test("is busy while that process is stopped: it may continue", async () => {
    const directory = workerDirectory();
    (await holdInChild(directory)).freeze();
    await expectBusy(directory);
  });

  test("keeps its temporary files when others find it busy", async () => {
    const directory = workerDirectory();
    await holdInChild(directory);
    plant(directory, { ".checkpoint.json.0123456789ab.tmp": "being written" });
    await expectBusy(directory);
    expect(filesIn(directory)).toContain(".checkpoint.json.0123456789ab.tmp");
  });

  test("can be read", async () => {
    const directory = workerDirectory();
    await holdInChild(directory);
    const onlooker = new FileCheckpointStore(directory);
    expect(await onlooker.loadRequest()).toMatchObject({ runId: "child" });
    expect(await onlooker.isCompleted()).toBe(false);
    // Reading must not free the lock of the holder.
    await expectBusy(directory);
  });
});

describe("a worker that this process holds", () => {
  test("is busy for another object, however the directory is written, and for the same one", async () => {
    const directory = workerDirectory();
    const store = new FileCheckpointStore(directory);
    const release = await store.acquire();
    await expectBusy(directory);
    await expect(new FileCheckpointStore(`${directory}/`).acquire()).rejects.toBeInstanceOf(WorkerBusyError);
    await expect(store.acquire()).rejects.toBeInstanceOf(WorkerBusyError);
    await store.begin(request(1));
    await release();
    await held(directory);
  });

  test("leaves the other workers free", async () => {
    const directory = workerDirectory();
    await held(directory);
    await held(`${directory}-2`);
  });

  test("goes to one of several simultaneous callers", async () => {
    const directory = workerDirectory();
    const asking = Array.from({ length: 8 }, () => new FileCheckpointStore(directory).acquire());
    const outcomes = await Promise.allSettled(asking);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("is released only when writes in progress are done", async () => {
    const directory = workerDirectory();
    const store = new FileCheckpointStore(directory);
    const release = await store.acquire();
    const writing = store.persistCheckpoint(checkpoint(1));
    await release();
    expect(await new FileCheckpointStore(directory).loadCheckpoint()).toEqual(checkpoint(1));
    await writing;
  });

  test("is released once: doing it again has no effect on the next holder", async () => {
    const directory = workerDirectory();
    const store = new FileCheckpointStore(directory);
    const release = await store.acquire();
    await release();
    const again = await store.acquire();
    await release();
    await expectBusy(directory);
    await store.begin(request(1));
    await again();
    await held(directory);
  });
});

test("a store writes nothing before it has acquired the worker, and nothing after it released it", async () => {
  const directory = workerDirectory();
  const store = new FileCheckpointStore(directory);
  const writes = () => [
    store.begin(request(1)),
    store.persistCheckpoint(checkpoint(1)),
    store.markCompleted(request(1).runId),
    store.setCheckpointAside(),
  ];
  for (const write of writes()) await expect(write).rejects.toBeInstanceOf(ConfigurationError);
  const release = await store.acquire();
  await store.begin(request(2));
  const releasing = release();
  for (const write of writes()) await expect(write).rejects.toThrow(/call acquire\(\) first/);
  await releasing;
  expect(filesIn(directory)).toEqual(["request.json"]);
  expect(await store.loadRequest()).toEqual(request(2));
});

test("a lock file that is something else is an error that names it", async () => {
  const directory = workerDirectory();
  plant(directory, { ".lock": "This is not what it should be. ".repeat(40) });
  const acquiring = new FileCheckpointStore(directory).acquire();
  await expect(acquiring).rejects.toBeInstanceOf(CheckpointStoreError);
  await expect(acquiring).rejects.toMatchObject({
    details: { reason: "lock", paths: [join(directory, ".lock")] },
  });
});

test("a failed acquire does not keep the worker", async () => {
  const counting = new FaultyFileSystem();
  await new FileCheckpointStore(workerDirectory(), { fileSystem: counting }).acquire();
  expect(counting.operations).toContain("chmod");
  for (const at of counting.operations.keys()) {
    const directory = workerDirectory();
    const fileSystem = new FaultyFileSystem();
    fileSystem.arm({ kind: "EIO", at });
    const failing = new FileCheckpointStore(directory, { fileSystem }).acquire();
    await expect(failing).rejects.toBeInstanceOf(CheckpointStoreError);
    await fileSystem.finish();
    await held(directory);
  }
});

describe("a process that is killed at any moment of its writing", () => {
  test("leaves the last checkpoint that it reported, or a later one, whole", async () => {
    const directory = workerDirectory();
    let last = 0;
    for (let round = 0; round < 6; round++) {
      const child = Child.start("persist-checkpoints", directory, String(last));
      for (let lines = 0; lines < 3 + round * 2; lines++) last = Number(await child.line());
      await child.kill();
      for (const line of await child.rest()) last = Number(line);

      const store = new FileCheckpointStore(directory);
      const release = await store.acquire();
      const found = Number((await store.loadCheckpoint())?.cursor["turnIndex"]);
      expect(found).toBeGreaterThanOrEqual(last);
      expect(await store.loadCheckpoint()).toMatchObject({
        snapshot: { slices: { long: String(found).repeat(20_000) } },
      });
      expect(filesIn(directory)).toEqual(["checkpoint.json", "request.json"]);
      last = found;
      await release();
    }
    expect(last).toBeGreaterThan(40);
  });
});
