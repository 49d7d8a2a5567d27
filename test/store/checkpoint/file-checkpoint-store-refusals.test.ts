import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, type TestContext, test } from "vitest";
import { CheckpointStoreError } from "../../../src/core/errors.ts";
import { FileCheckpointStore } from "../../../src/store/checkpoint/file-checkpoint-store.ts";
import { tempFolder } from "../sqlite/temp-folder.ts";
import { checkpoint, filesIn, held, plant, request, textIn, workerDirectory } from "./worker-fixture.ts";

const FILES = ["request.json", "checkpoint.json", "completed", ".lock"] as const;

/** Every operation of a store. */
const acts: Readonly<Record<string, (store: FileCheckpointStore) => Promise<unknown>>> = {
  loadRequest: (store) => store.loadRequest(),
  loadCheckpoint: (store) => store.loadCheckpoint(),
  isCompleted: (store) => store.isCompleted(),
  hasIncomplete: (store) => store.hasIncomplete(),
  begin: (store) => store.begin(request(1)),
  persistCheckpoint: (store) => store.persistCheckpoint(checkpoint(1)),
  markCompleted: (store) => store.markCompleted(request(1).runId),
  setCheckpointAside: (store) => store.setCheckpointAside(),
  acquire: (store) => store.acquire(),
};

/** Asserts that the worker cannot be taken, read or written, and that the error has the reason and the path. */
async function expectRefused(store: FileCheckpointStore, reason: string, path: string): Promise<void> {
  for (const [name, act] of Object.entries(acts)) {
    const error: unknown = await act(store).then(
      () => `${name} went through`,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(CheckpointStoreError);
    expect(error).toMatchObject({
      message: expect.stringContaining(path),
      details: { reason, paths: [path] },
    });
  }
}

describe("a path is refused", () => {
  test.each(["../x", "..", "a/../b", "/tmp/../etc", "a/..", "./../x", "", "a\0b", "/tmp/a\0"])(
    "%j",
    (path) => {
      expect(() => new FileCheckpointStore(path)).toThrow(CheckpointStoreError);
      expect(() => new FileCheckpointStore(path)).toThrow(JSON.stringify(path));
      expect(() => FileCheckpointStore.forWorker(path, "worker-1")).toThrow(CheckpointStoreError);
    },
  );

  test.each(["/tmp/a..b", "..a", "a../b", "/tmp/...", "/tmp/a b"])(
    "but not %j, which only looks so",
    (path) => {
      expect(new FileCheckpointStore(path).worker.endsWith(path)).toBe(true);
    },
  );
});

describe("a worker's name is refused", () => {
  test.each([
    "../x",
    "..",
    ".",
    "",
    "a/b",
    "/a",
    "a\\b",
    ".hidden",
    "a b",
    "a\0",
    "a\n",
    "ä",
    "a:b",
    "a".repeat(101),
  ])("%j", (name) => {
    expect(() => FileCheckpointStore.forWorker("/tmp/workers", name)).toThrow(CheckpointStoreError);
    expect(() => FileCheckpointStore.forWorker("/tmp/workers", name)).toThrow(JSON.stringify(name));
  });

  test.each(["a", "worker-001", "A.b_C-9", "-", "a..b", "a".repeat(100)])("but not %j", (name) => {
    expect(FileCheckpointStore.forWorker("/tmp/workers", name).worker).toBe(`/tmp/workers/${name}`);
  });
});

describe("a worker's directory that is", () => {
  test.each(["", "/", "//", "/."])(
    "a symbolic link is refused, also when it is given with %j at its end",
    async (end) => {
      const target = tempFolder();
      const link = workerDirectory();
      symlinkSync(target, link);
      await expectRefused(new FileCheckpointStore(`${link}${end}`), "symlink", link);
      expect(readdirSync(target)).toEqual([]);
    },
  );

  test("a symbolic link to nothing is refused, and its target is not created", async () => {
    const link = workerDirectory();
    symlinkSync(join(dirname(link), "not-there"), link);
    await expectRefused(new FileCheckpointStore(link), "symlink", link);
    expect(readdirSync(dirname(link))).toEqual(["worker-1"]);
  });

  test("replaced by a symbolic link is refused, although the worker is held", async () => {
    const [directory, target] = [workerDirectory(), tempFolder()];
    const store = await held(directory);
    rmSync(directory, { recursive: true });
    symlinkSync(target, directory);
    await expectRefused(store, "symlink", directory);
    expect(readdirSync(target)).toEqual([]);
  });

  test("inside a directory that is a link is not refused: only the last part is the worker's", async () => {
    const [target, link] = [tempFolder(), workerDirectory()];
    symlinkSync(target, link);
    await (await held(join(link, "worker-2"))).begin(request(1));
    expect(filesIn(join(target, "worker-2"))).toEqual(["request.json"]);
  });

  test("a file is refused", async () => {
    const directory = workerDirectory();
    writeFileSync(directory, "mine");
    await expectRefused(new FileCheckpointStore(directory), "not_a_directory", directory);
    expect(textIn(dirname(directory), "worker-1")).toBe("mine");
  });

  test("inside a file is refused", async () => {
    const file = workerDirectory();
    writeFileSync(file, "mine");
    await expectRefused(new FileCheckpointStore(join(file, "a")), "not_a_directory", join(file, "a"));
  });

  test("another user's is refused", async (context) => {
    needsRoot(context);
    const directory = workerDirectory();
    plant(directory, {});
    chownSync(directory, 12_345, 12_345);
    const store = new FileCheckpointStore(directory);
    await expectRefused(store, "owner", directory);
    await expect(store.begin(request(1))).rejects.toThrow(/belongs to user 12345 and not to user 0/);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe.each(FILES)("a worker's file %s that is", (name) => {
  test("a symbolic link is refused, and its target is left alone", async () => {
    const directory = workerDirectory();
    const target = join(tempFolder(), "target");
    writeFileSync(target, "mine");
    const store = await held(directory);
    rmSync(join(directory, name), { force: true });
    symlinkSync(target, join(directory, name));
    for (const each of [store, new FileCheckpointStore(directory)])
      await expectRefused(each, "symlink", join(directory, name));
    expect(textIn(dirname(target), "target")).toBe("mine");
    expect(filesIn(directory)).toEqual(name === ".lock" ? [] : [name]);
  });

  test("a directory is refused", async () => {
    const directory = workerDirectory();
    mkdirSync(join(directory, name), { recursive: true });
    await expectRefused(new FileCheckpointStore(directory), "not_a_file", join(directory, name));
    expect(readdirSync(directory)).toEqual([name]);
  });

  test("a pipe is refused, without waiting for its other end", async () => {
    const directory = workerDirectory();
    plant(directory, {});
    execFileSync("mkfifo", [join(directory, name)]);
    await expectRefused(new FileCheckpointStore(directory), "not_a_file", join(directory, name));
    expect(readdirSync(directory)).toEqual([name]);
  });

  test("another user's is refused", async (context) => {
    needsRoot(context);
    const directory = workerDirectory();
    plant(directory, { [name]: "theirs" });
    chownSync(join(directory, name), 12_345, 12_345);
    await expectRefused(new FileCheckpointStore(directory), "owner", join(directory, name));
    expect(textIn(directory, name)).toBe("theirs");
    expect(readdirSync(directory)).toEqual([name]);
  });
});

function needsRoot(context: TestContext): void {
  if (process.geteuid?.() !== 0) context.skip("Only root can give a file to another user.");
}
