import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { StoreUnusableError } from "../../../../src/core/errors.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { newRun, SampleRun } from "../../../../src/testing/store/sample-run.ts";
import { tempFolder } from "../temp-folder.ts";

describe("a store that is open while a newer version migrates its file", () => {
  it("stops writing, reports it, and still reads", async () => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    const run = await SampleRun.create(store);
    const newer = new DatabaseSync(file);
    newer.exec("CREATE TABLE from_the_future (a); PRAGMA user_version = 999");
    newer.close();
    for (const write of [() => store.createRun(newRun("late")), () => run.open(1)]) {
      const error: unknown = await write().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StoreUnusableError);
      expect(error).toMatchObject({ details: { reason: "newer_schema" } });
      expect(String(error)).toContain("use a newer Pawl");
    }
    expect((await store.listRuns()).map(({ runId }) => runId)).toEqual(["run-1"]);
    expect(await store.listModelCalls("run-1")).toEqual([]);
    await store.close();
  });
});

describe("a store that is opened to be read", () => {
  it("does not block a writer in the same process, opened before or after", async () => {
    const file = join(tempFolder(), "pawl.db");
    await (await openStore(`file:${file}`)).close();
    const reader = await openStore(`file:${file}`, { readOnly: true });
    expect(await reader.listRuns()).toEqual([]);
    const store = await openStore(`file:${file}`);
    await store.createRun(newRun("r"));
    expect(await reader.listRuns()).toHaveLength(1);
    await store.close();
    expect(await reader.listRuns()).toHaveLength(1);
    await reader.close();
  });

  it("reads everything, changes no file and accepts no write", async () => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    const run = await SampleRun.create(store);
    await run.committed(1);
    const reader = await openStore(`file:${file}`, { readOnly: true });
    expect((await reader.listRuns()).map(({ runId }) => runId)).toEqual(["run-1"]);
    expect(await reader.isHeld("run-1")).toBe(true);
    await run.committed(2);
    expect(await reader.listTurns("run-1")).toHaveLength(2);
    await expect(reader.requestCancel("run-1")).rejects.toMatchObject({ details: { reason: "read_only" } });
    await reader.close();
    expect(await store.isHeld("run-1"), "its lease is its own").toBe(true);
    await store.close();
  });
});
