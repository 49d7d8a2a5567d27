// The bytes of a run are never held together: a large run moves in small pieces, through a process with a small heap.

import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import {
  type BundlePart,
  type BundleRow,
  exportBundle,
  importBundle,
  openStore,
  type Store,
} from "../../../src/index.ts";
import { SampleRun, SUCCEEDED } from "../../../src/testing/store/sample-run.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";

const child = fileURLToPath(new URL("children/move-large.ts", import.meta.url));

const MEGABYTES = 200;
/** Less than the bytes of the run, and little more than Node, the store and one blob need. */
const HEAP_MB = 32;
/** The whole process, with buffers outside of the heap and the cache of the database. */
const MOST_MB = 190;

it.skipIf(!IS_FULL_TEST)(
  `a run with ${MEGABYTES} MB of blobs moves through a heap of ${HEAP_MB} MB`,
  PATIENCE,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-large-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const url = (name: string) => `file:${join(folder, name)}`;
    const store = await openStore(url("a.db"));
    await writeRun(store, MEGABYTES);
    await store.close();

    const heap = [`--max-old-space-size=${HEAP_MB}`, "--max-semi-space-size=2"];
    const args = [...heap, child, url("a.db"), url("b.db"), join(folder, "large.bundle")];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    const moved = JSON.parse(stdout) as {
      status: string;
      blobs: number;
      bytes: number;
      maxMegabytes: number;
    };
    expect(moved).toMatchObject({ status: "succeeded", blobs: MEGABYTES });
    expect(moved.bytes).toBeGreaterThan(MEGABYTES * 1_000_000);
    expect(moved.maxMegabytes).toBeLessThan(MOST_MB);
  },
);

it("a run is read and stored in pieces of a few megabytes, however many it has", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-large-"));
  const [source, target] = [await openStore(":memory:"), await openStore(":memory:")];
  onTestFinished(async () => {
    await Promise.all([source.close(), target.close()]);
    rmSync(folder, { recursive: true, force: true });
  });
  await writeRun(source, 16);
  const sizes = { read: [] as number[], stored: [] as number[] };
  const watched = (store: Store) =>
    new Proxy(store, {
      get: (inner, name) => {
        const member: unknown = Reflect.get(inner, name, inner);
        if (typeof member !== "function") return member;
        const method = member.bind(inner) as (...args: unknown[]) => Promise<unknown>;
        if (name !== "readMovedRows" && name !== "storeArrivingRows") return method;
        return async (...args: unknown[]) => {
          const result = await method(...args);
          if (name === "readMovedRows") sizes.read.push(charactersIn((result as BundlePart).rows));
          else sizes.stored.push(charactersIn(args[1] as readonly BundleRow[]));
          return result;
        };
      },
    });
  const file = join(folder, "large.bundle");
  await exportBundle(watched(source), "large", { file, to: await target.storeId() });
  const { blobs } = await importBundle(watched(target), file);
  expect(blobs).toBe(16);
  for (const each of [sizes.read, sizes.stored]) {
    expect(each.reduce((sum, size) => sum + size)).toBeGreaterThan(20_000_000);
    expect(Math.max(...each)).toBeLessThan(7_000_000);
  }
});

function charactersIn(rows: readonly BundleRow[]): number {
  return rows.flatMap(({ values }) => values).reduce<number>((sum, value) => sum + String(value).length, 0);
}

/** A run with so many blobs of a megabyte each. */
async function writeRun(store: Store, megabytes: number): Promise<void> {
  const run = await SampleRun.create(store, "large");
  for (let i = 0; i < megabytes; i++)
    await store.keepArtifact(run.fence, { stepKey: null, name: `${i}.bin`, bytes: randomBytes(1_000_000) });
  await store.releaseRun(run.fence, SUCCEEDED);
}
