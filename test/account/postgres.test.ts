// What is said of a run is the same on both databases.

import { afterAll, beforeAll, expect, test } from "vitest";
import { compareRuns, compareTurns } from "../../src/account/compare/compare-runs.ts";
import { readLostWork } from "../../src/account/story/lost-work.ts";
import { RunStory } from "../../src/account/story/run-story.ts";
import { readTranscriptPage } from "../../src/account/transcript/transcript-page.ts";
import { openStore, type Store } from "../../src/index.ts";
import { LEASE_MS, newReceipt, SampleRun } from "../../src/testing/store/sample-run.ts";
import { START } from "../export/sample-store.ts";
import { type PostgresServer, startPostgres } from "../store/postgres/postgres-server.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

/** A run whose first worker is silent in a turn, and whose second one settles its call; and one like its beginning. */
async function written(store: Store, clock: { at: number }): Promise<unknown> {
  const run = await SampleRun.create(store, "run-1");
  await run.committed(1);
  const story = new RunStory(store, "run-1");
  await story.timeline({ now: clock.at });
  await run.journaled(2, ["running"]);
  clock.at += 2 * LEASE_MS;
  const next = await run.takenOver();
  await next.receipt(2, 1, newReceipt(1, { source: "reconciled", correlationId: "m-1" }));
  await next.waiting({ kind: "escalation", question: "Shall it continue?", subject: { why: "it is slow" } });
  const other = await SampleRun.create(store, "run-2");
  await other.committed(1);
  const { lives, ...timeline } = await story.timeline({ now: clock.at });
  return {
    lives: lives.map(({ owner: _, ...life }) => life),
    timeline,
    transcript: (await readTranscriptPage(store, "run-1")).items.map((item) =>
      item.kind === "life" ? { ...item, owner: "" } : item,
    ),
    comparison: await compareRuns(store, "run-1", "run-2"),
    turns: await compareTurns(store, "run-1", "run-2", { limit: 1 }),
    lost: await readLostWork(store, "run-1"),
  };
}

async function accountIn(address: string): Promise<unknown> {
  const clock = { at: START };
  const store = await openStore(address, { now: () => clock.at });
  try {
    return await written(store, clock);
  } finally {
    await store.close({ graceMs: 0 });
  }
}

test("the story, the transcript, the comparison and the lost work", { timeout: 60_000 }, async () => {
  const account = await accountIn(":memory:");
  expect(account).toMatchObject({
    lives: [{ end: "died" }, { end: "released" }],
    comparison: { sameTurns: 1 },
  });
  expect(await accountIn(server.url)).toEqual(account);
});
