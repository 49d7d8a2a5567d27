// More waits than one answer holds.

import { describe, expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { SampleRun, sha256 } from "../../../src/testing/store/sample-run.ts";
import { twoDatabases } from "../two-databases.ts";
import { type ServerWorld, serverWorld } from "./server-world.ts";

const IN_RUN = 150;
const HASH = sha256("arguments").toString("hex");

/** Three runs with 150 approvals each, asked at once: their order is not that of their times alone. */
async function asking(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for (const runId of ["run-1", "run-2", "run-3"]) {
    const run = await SampleRun.create(store, runId);
    await run.journaled(
      1,
      Array.from({ length: IN_RUN }, () => "prepared" as const),
    );
    const waits = Array.from({ length: IN_RUN }, (_, index) => run.approval(1, index + 1, HASH));
    await run.waiting(...waits);
    ids.push(...waits.map((_, index) => `${runId}~${index + 1}`));
  }
  return ids;
}

/** The ids of all pages. Between two of them, `meanwhile` happens. */
async function walk(
  { call }: ServerWorld,
  query: { readonly [name: string]: string },
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<{ readonly ids: string[]; readonly pages: number }> {
  const ids: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const { body } = await call("listWaits", { query: { ...query, ...(cursor === null ? {} : { cursor }) } });
    ids.push(...body.items.map(({ waitId }: { waitId: string }) => waitId));
    cursor = body.nextCursor;
    pages += 1;
    await meanwhile();
  } while (cursor !== null);
  return { ids, pages };
}

describe.each(twoDatabases())("on %s", (_, newDatabase) => {
  test("each of 450 open waits is on one page, also if the last of a page is answered meanwhile", async () => {
    const store = await newDatabase()();
    const world = serverWorld(store);
    const all = await asking(store);
    const found = await walk(world, { limit: "200" });
    expect([found.ids.length, found.pages]).toEqual([450, 3]);
    expect(found.ids.toSorted()).toEqual(all.toSorted());
    const last = found.ids[199] ?? "";
    let isFirst = true;
    const answeredBetween = await walk(world, { limit: "200" }, async () => {
      if (isFirst) await store.approve(last);
      isFirst = false;
    });
    expect(answeredBetween.ids).toEqual(found.ids);
    expect((await walk(world, { limit: "200", runId: "run-3" })).ids).toHaveLength(IN_RUN);
  });

  test("the answers of people are listed in pages, and one that comes meanwhile moves none", async () => {
    const store = await newDatabase()();
    const world = serverWorld(store);
    const all = await asking(store);
    for (const waitId of all.slice(0, 45)) await store.approve(waitId);
    const newest = await walk(world, { status: "answered", limit: "20" });
    expect([newest.ids.length, newest.pages]).toEqual([45, 3]);
    expect(newest.ids.toSorted()).toEqual(all.slice(0, 45).toSorted());
    let next = 45;
    const during = await walk(world, { status: "answered", limit: "20" }, async () =>
      store.approve(all[next++] ?? ""),
    );
    expect(during.ids).toEqual(newest.ids);
  });
});
