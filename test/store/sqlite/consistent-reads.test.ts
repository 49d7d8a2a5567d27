import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { Child } from "./child.ts";
import { tempFolder } from "./temp-folder.ts";

it("a read sees one state while another process commits", async () => {
  const file = join(tempFolder(), "pawl.db");
  const child = Child.start("commit-turns", file);
  expect(await child.line()).toBe("going");
  const store = await openStore(`file:${file}`);
  const [step] = await store.listSteps("run-1");
  const end = performance.now() + 1_000;
  let reads = 0;
  let last = 0;
  for (; performance.now() < end; reads++) {
    const state = await store.readGranularState("run-1", "draft");
    const turns = state?.turnIndex ?? 0;
    // The system prompt, the input, and two messages a turn.
    expect(state?.history).toHaveLength(2 + 2 * turns);
    const { turnIndex, tail, journaled } = await store.readConversation("run-1", step?.stepKey ?? 0, 50);
    expect(tail.at(-1)?.turnIndex).toBe(turnIndex);
    expect(journaled?.committed ?? false).toBe(false);
    const usage = await store.readUsage("run-1");
    expect(usage.charged.tokens).toBe(30 * usage.modelCalls);
    last = turns;
  }
  expect(reads).toBeGreaterThan(10);
  expect(last).toBeGreaterThan(10);
  await store.close();
});

it("a reader that stops in the middle of a history leaves no transaction open", async () => {
  const file = join(tempFolder(), "pawl.db");
  const store = await openStore(`file:${file}`);
  const run = await SampleRun.create(store);
  for (let turn = 1; turn <= 20; turn++) await run.committedWithCall(turn);
  expect((await store.readConversation(run.runId, run.stepKey, 20)).tail).toHaveLength(2);
  const outside = Database.open(file);
  const checkpoint = outside.get("PRAGMA wal_checkpoint(TRUNCATE)");
  expect([checkpoint?.int("busy"), checkpoint?.int("log")]).toEqual([0, 0]);
  outside.close();
  await store.close();
});
