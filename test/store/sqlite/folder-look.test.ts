import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { FolderLook } from "../../../src/store/sqlite/folder-look.ts";
import { newRun } from "../../../src/testing/store/sample-run.ts";
import { tempFolder } from "./temp-folder.ts";

/** Longer than the coarsest tick of a file system: from then on, a change of the folder shows. */
const atRest = () => sleep(150);

/** A folder inside another, with a file, and a count of the checks of its files. */
function looked() {
  const path = join(tempFolder(), "folder");
  mkdirSync(path);
  writeFileSync(join(path, "file"), "text");
  const folder = new FolderLook(path);
  let looks = 0;
  return {
    path,
    /** True if the files themselves were checked. */
    look: (found = true) => {
      const before = looks;
      const isInPlace = folder.isInPlace(() => {
        looks++;
        return found;
      });
      return { isInPlace, looked: looks > before };
    },
  };
}

describe("a check of a folder", () => {
  it("is enough while no name in it changes, whatever is written to its files", async () => {
    const { path, look } = looked();
    await atRest();
    expect(look()).toEqual({ isInPlace: true, looked: true });
    writeFileSync(join(path, "file"), "another text");
    expect(look()).toEqual({ isInPlace: true, looked: false });
  });

  it.for<[string, (path: string) => void]>([
    ["a file was added", (path) => writeFileSync(join(path, "new"), "")],
    ["a file was removed", (path) => rmSync(join(path, "file"))],
    ["a file was renamed", (path) => renameSync(join(path, "file"), join(path, "name"))],
    [
      "the folder was replaced by its copy",
      (path) => {
        cpSync(path, `${path}-2`, { recursive: true, preserveTimestamps: true });
        renameSync(path, `${path}-1`);
        renameSync(`${path}-2`, path);
      },
    ],
    ["the folder was removed", (path) => rmSync(path, { recursive: true })],
  ])("is not enough once %s", async ([, change]) => {
    const { path, look } = looked();
    await atRest();
    look();
    change(path);
    expect(look()).toEqual({ isInPlace: true, looked: true });
  });

  it("is not enough right after a change: the next one may have the same timestamp", () => {
    const { look } = looked();
    expect([look(), look()]).toEqual(Array(2).fill({ isInPlace: true, looked: true }));
  });

  it("remembers nothing of files that are not in place", async () => {
    const { look } = looked();
    await atRest();
    expect([look(false), look(false)]).toEqual(Array(2).fill({ isInPlace: false, looked: true }));
  });
});

describe("a store whose folder has not changed for a while", () => {
  it.for<[string, (file: string) => void]>([
    ["was deleted", (file) => rmSync(file)],
    ["was moved", (file) => renameSync(file, `${file}-kept`)],
    [
      "was replaced by its copy",
      (file) => {
        copyFileSync(file, `${file}-copy`);
        renameSync(`${file}-copy`, file);
      },
    ],
    ["has lost its log", (file) => rmSync(`${file}-wal`)],
    ["was moved with its folder", (file) => renameSync(dirname(file), `${dirname(file)}-kept`)],
  ])("acknowledges nothing once its database %s", async ([, takeAway]) => {
    const folder = join(tempFolder(), "data");
    mkdirSync(folder);
    const file = join(folder, "pawl.db");
    const store = await openStore(`file:${file}`);
    onTestFinished(() => store.close());
    await store.createRun(newRun("r-1"));
    await atRest();
    await store.createRun(newRun("r-2"));
    takeAway(file);
    await expect(store.createRun(newRun("r-3"))).rejects.toMatchObject({
      code: "store_unavailable",
      details: { reason: "commit_unknown" },
    });
  });
});
