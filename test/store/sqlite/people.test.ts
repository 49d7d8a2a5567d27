// The people who decided, as stored: rows of an earlier version, and tampered rows.

import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { SampleRun, sha256 } from "../../../src/testing/store/sample-run.ts";
import { tempFolder } from "./temp-folder.ts";

/** A run that waits for two people, the first of whom has approved it. */
async function halfApproved(store: Store): Promise<void> {
  const run = await SampleRun.create(store);
  await run.journaled(1, ["prepared"]);
  const wait = run.approval(1, 1, sha256("arguments").toString("hex"));
  await run.waiting({ ...wait, subject: { ...wait.subject, people: 2 } });
  await store.approve("run-1~1", { by: "ann" });
}

async function afterwards<T>(sql: string, look: (store: Store) => Promise<T>): Promise<T> {
  const file = `${tempFolder()}/pawl.db`;
  const store = await openStore(`file:${file}`);
  await halfApproved(store);
  await store.close();
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
  const later = await openStore(`file:${file}`);
  try {
    return await look(later);
  } finally {
    await later.close();
  }
}

it("A name stored by an earlier version is read as it is", async () => {
  const people = await afterwards(
    "UPDATE waits SET status = 'answered', answered_by = 'Ann [x]', answered_at = 7, answer = '{\"approved\":true}'",
    async (store) => (await store.listWaits("run-1"))[0],
  );
  expect(people).toMatchObject({
    answeredBy: "Ann [x]",
    people: [{ name: "Ann [x]", at: 7, authenticated: null }],
  });
});

it.each([
  ["is another person", "UPDATE waits SET answered_by = replace(answered_by, 'ann', 'eve')"],
  ["is removed", "UPDATE waits SET answered_by = NULL"],
  [
    "is counted twice",
    'UPDATE waits SET answered_by = replace(answered_by, \']\', \',{"name":"bob","at":1}]\')',
  ],
])("An approval of one of two people that %s is named", async (_what, sql) => {
  const { problems } = await afterwards(sql, (store) => store.verify("run-1"));
  expect(problems.map(({ row }) => row)).toEqual(["wait run-1~1"]);
});
