// A long run is read in pages: no result holds a whole table.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openStore } from "../../../../src/store/open-store.ts";
import { verify } from "../../../../src/store/sql/verify/verify.ts";
import { blobReceipt, SampleRun } from "../../../../src/testing/store/sample-run.ts";
import { milestone, sessionCommit, wholeSlice } from "../../../../src/testing/store/sample-session.ts";
import { runScript } from "./run-script.ts";
import { editor, TamperedStore } from "./tampered-store.ts";

const TURNS = 300;
const folder = mkdtempSync(join(tmpdir(), "pawl-verify-pages-"));
const template = join(folder, "template.db");
beforeAll(async () => {
  const store = await openStore(`file:${template}`);
  const run = await SampleRun.create(store, "long");
  for (let turn = 1; turn <= TURNS; turn++) {
    await run.journaled(turn, ["running"]);
    const session = sessionCommit({
      slices: [wholeSlice(`s-${turn % 7}`, [turn, "x"])],
      checkpoint: milestone({ slices: { turn } }),
    });
    const receipts = [blobReceipt(1, Buffer.from(`result ${turn}`))];
    await store.commitTurn(run.fence, run.commit(turn, { receipts, session }));
  }
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

it("no page is larger than it may be, and every row is counted", () => {
  const database = editor(template);
  const largest = new Map<string, number>();
  const found = runScript(database, verify("long"), (text, rows) => {
    const table = /FROM (\w+)/.exec(text)?.[1] ?? "";
    largest.set(table, Math.max(largest.get(table) ?? 0, rows.length));
  });
  database.close();
  expect(found).toMatchObject({ receipts: TURNS, blobs: TURNS, problems: [] });
  expect(found.events).toBeGreaterThan(500);
  expect(Object.fromEntries(largest)).toMatchObject({
    events: 500,
    turns: 200,
    tool_calls: 200,
    receipts: 200,
    checkpoints: 200,
    slice_contents: 20,
    blobs: 200,
    slice_items: 14,
  });
});

it.for([
  ["the last event of a page", "UPDATE events SET type = 'x' WHERE seq = 500", "event 500"],
  ["the first event of a page", "UPDATE events SET type = 'x' WHERE seq = 501", "event 501"],
  ["the last row of a page", "UPDATE turns SET tokens = 0 WHERE turn_index = 200", "turn long/draft#200"],
  ["the first row of a page", "UPDATE turns SET tokens = 0 WHERE turn_index = 201", "turn long/draft#201"],
  ["the last row", "UPDATE receipts SET tokens = 0 WHERE call_no = 300", "receipt long/draft#300.1"],
  ["an added row", "INSERT INTO slice_items VALUES (1, 's-6', 9, '1')", "slice s-6[9]"],
  ["a missing row", "DELETE FROM checkpoints WHERE checkpoint_index = 21", "checkpoint long~21"],
] as const)("%s is found", async ([, sql, row]) => {
  expect(await new TamperedStore(template).change(sql).named("long")).toEqual([row]);
});

it("every missing blob is found, with the receipt that refers to it", async () => {
  const { problems, blobs } = await new TamperedStore(template)
    .change("DELETE FROM blobs WHERE blob_hash >= X'80'")
    .verify("long");
  expect(problems).toHaveLength(TURNS - blobs);
  expect(problems.length).toBeGreaterThan(50);
  expect(problems[0]?.what).toMatch(
    /^is missing, collected or removed: the receipt of long\/draft#\d+\.1 refers to it$/,
  );
});
