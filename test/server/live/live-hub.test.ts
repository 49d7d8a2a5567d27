// What pages are told while runs change: from the store alone, whichever process works.

import { expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { databaseFile, fileStore } from "../../engine/run-fixture.ts";
import { ACME, principal, serverWorld } from "../handlers/server-world.ts";
import { type NewDatabase, twoDatabases } from "../two-databases.ts";
import { openLive } from "./live-reader.ts";

const LABELS = { metadata: { tenant: "acme" } };

/** A server, and a worker in another process. */
async function twoProcesses(newDatabase: NewDatabase = onSqlite) {
  const open = newDatabase();
  const [served, store] = [await open(), await open()];
  return { served, store, world: serverWorld(served) };
}

const databases = twoDatabases();
const onSqlite: NewDatabase = () => {
  const file = databaseFile();
  return () => fileStore(file);
};

test.each(databases)(
  "on %s a page sees what another process commits, and the figures after it",
  async (_, newDatabase) => {
    const { store, world } = await twoProcesses(newDatabase);
    const page = await openLive(world);
    expect(await page.next()).toMatchObject({
      event: "hello",
      data: { version: "1.0.0", instance: "server-1" },
    });
    const run = await SampleRun.create(store, "run-1");
    await page.until("head", ({ runId, status }) => runId === "run-1" && status === "running");
    await page.until("counts", ({ counts }) => counts.running === 1);
    await run.waiting({ kind: "escalation", question: "Which?", subject: {} });
    const { data } = await page.until("head", ({ status }) => status === "waiting");
    expect(data).toMatchObject({ openWaits: 1, firstWait: { waitId: "run-1~1", question: "Which?" } });
    await page.until("waits", ({ open }) => open === 1);
    await store.requestCancel("run-1");
    await page.until("waits", ({ open }) => open === 0);
    await store.deleteRun("run-1", { why: "It is old." });
    await page.until("gone", ({ runId }) => runId === "run-1");
    await page.until("counts", ({ total }) => total === 0);
  },
);

test.each(databases)("on %s a page is told of the runs in its scope only", async (_, newDatabase) => {
  const { store, world } = await twoProcesses(newDatabase);
  const page = await openLive(world, { as: principal({ scope: ACME }) });
  await SampleRun.create(store, "theirs");
  const own = await SampleRun.create(store, "own", LABELS);
  await own.committed(1);
  await page.until("head", ({ runId }) => runId === "own");
  await page.until("counts", ({ total }) => total === 1);
  expect(page.all.filter(({ data }) => JSON.stringify(data).includes("theirs"))).toEqual([]);
});

test.each(databases)(
  "on %s a run whose worker is silent is shown as interrupted, although nothing is committed",
  async (_, newDatabase) => {
    const { store, world } = await twoProcesses(newDatabase);
    const page = await openLive(world);
    await SampleRun.create(store, "run-1", { leaseMs: 600 });
    const running = await page.until("head", ({ runId }) => runId === "run-1");
    const dead = await page.until("head", ({ status }) => status === "interrupted");
    expect(dead.data).toMatchObject({ runId: "run-1", eventSeq: page.all.findLast(isHead)?.data.eventSeq });
    expect(running.data.status).toBe("running");
    // The store counts by its own clock, and may have been first.
    const isCounted = page.all.some(({ event, data }) => event === "counts" && data.counts.interrupted === 1);
    if (!isCounted) await page.until("counts", ({ counts }) => counts.interrupted === 1);
  },
);

test.each(databases)(
  "on %s a page that was away hears of workers that died and runs that were deleted meanwhile",
  async (_, newDatabase) => {
    const { served, store, world } = await twoProcesses(newDatabase);
    const page = await openLive(world);
    const old = await SampleRun.create(store, "old");
    await page.until("head", ({ runId }) => runId === "old");
    await SampleRun.create(store, "left", { leaseMs: 300 });
    await page.until("head", ({ runId }) => runId === "left");
    world.closing.abort(new Error("The server stops."));
    await store.releaseRun(old.fence, { status: "failed", error: { code: "x", message: "x", details: {} } });
    await store.deleteRun("old", { why: "It is old." });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const headers = { "last-event-id": page.lastId ?? "" };
    const again = await openLive(serverWorld(served), { headers });
    await again.until("head", ({ runId, status }) => runId === "left" && status === "interrupted");
    await again.until("gone", ({ runId }) => runId === "old");
  },
);

const isHead = ({ event }: { readonly event: string }) => event === "head";

test("a renewal of a lease is no head of its own, and keeps a run from being shown as interrupted", async () => {
  const { store, world } = await twoProcesses();
  const run = await SampleRun.create(store, "run-1", { leaseMs: 500 });
  const page = await openLive(world);
  for (let i = 0; i < 10; i++) {
    await store.renewLease(run.fence, 500);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await run.committed(1);
  await page.until("head", ({ charged }) => charged.tokens > 0);
  const statuses = page.all.filter(isHead).map(({ data }) => data.status);
  expect(statuses).not.toContain("interrupted");
  // Those of the commits that make a turn, and none for ten renewals.
  expect(statuses.length).toBeLessThanOrEqual(5);
});

test.each(databases)(
  "on %s a stream continues after a restart of the server without a gap in the log",
  {
    timeout: 60_000,
  },
  async (_, newDatabase) => {
    const { served, store, world: first } = await twoProcesses(newDatabase);
    const run = await SampleRun.create(store, "run-1");
    const seqs: number[] = [];
    const heads = new Map<string, number>();
    let world = first;
    let lastId: string | null = null;
    for (let restart = 1; restart <= 8; restart++) {
      const asked = {
        query: { run: "run-1", after: "0" },
        headers: lastId === null ? {} : { "last-event-id": lastId },
      };
      const page = await openLive(world, asked);
      const writing = [run.committed(2 * restart - 1), SampleRun.create(store, `other-${restart}`)];
      await page.until("log");
      if (restart % 2 === 0) await Promise.all(writing);
      world.closing.abort(new Error("The server stops."));
      await Promise.all(writing);
      // What is committed while no server is there.
      await run.committed(2 * restart);
      await expect(broken(page)).resolves.toBe(true);
      lastId = page.lastId;
      note(page.all, seqs, heads);
      world = serverWorld(served);
    }
    const page = await openLive(world, {
      query: { run: "run-1" },
      headers: lastId === null ? {} : { "last-event-id": lastId },
    });
    const last = (await store.listEvents("run-1")).at(-1)?.seq ?? 0;
    if ((seqs.at(-1) ?? 0) < last) await page.until("log", ({ seq }) => seq === last);
    await run.record();
    note(page.all, seqs, heads);
    expect(last).toBeGreaterThan(16);
    expect(seqs).toEqual(Array.from({ length: last }, (_, i) => i + 1));
    for (let restart = 1; restart <= 8; restart++)
      expect(heads.get(`other-${restart}`)).toBe(await seqOf(store, `other-${restart}`));
  },
);

/** What the page knows after these events. */
function note(
  events: readonly {
    readonly event: string;
    readonly data: { seq: number; runId: string; eventSeq: number };
  }[],
  seqs: number[],
  heads: Map<string, number>,
): void {
  for (const { event, data } of events) {
    if (event === "log") seqs.push(data.seq);
    if (event === "head") heads.set(data.runId, Math.max(data.eventSeq, heads.get(data.runId) ?? 0));
  }
}

/** True if the stream breaks, and does not end. */
async function broken(page: { next(): Promise<unknown> }): Promise<boolean> {
  try {
    while ((await page.next()) !== null);
    return false;
  } catch {
    return true;
  }
}

async function seqOf(store: Store, runId: string): Promise<number | undefined> {
  return (await store.readProgress([runId])).get(runId);
}

test("a place that the store does not know is a reset, and the stream continues", async () => {
  const { store, world } = await twoProcesses();
  const page = await openLive(world, { headers: { "last-event-id": "no such place" } });
  await page.until("reset");
  expect(page.all.flatMap(({ id }) => (id === null ? [] : [id]))).not.toEqual([]);
  expect(page.all.map(({ id }) => id)).not.toContain("no such place");
  await SampleRun.create(store, "run-1");
  await page.until("head");
});

test("the log of a deleted run ends with word of that", async () => {
  const { store, world } = await twoProcesses();
  const run = await SampleRun.create(store, "run-1");
  const page = await openLive(world, { query: { run: "run-1" } });
  await page.until("log");
  await run.waiting();
  await store.requestCancel("run-1");
  await store.deleteRun("run-1", { why: "It is old." });
  await page.until("gone");
});

test("twenty pages of the same run cost as many reads as one", async () => {
  const { served, store } = await twoProcesses();
  const reads = { listEvents: 0, countRuns: 0, listChangedRuns: 0 };
  const counted = new Proxy(served, {
    get: (target, name) => {
      if (Object.hasOwn(reads, name)) reads[name as keyof typeof reads] += 1;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const world = serverWorld(counted);
  const run = await SampleRun.create(store, "run-1");
  const pages = [];
  for (let i = 0; i < 20; i++) pages.push(await openLive(world, { query: { run: "run-1" } }));
  const before = (await store.listEvents("run-1")).length;
  for (const page of pages) await page.until("log", ({ seq }) => seq === before);
  // A new page hears how many runs and waits there are, although nothing changes.
  for (const page of pages) await page.until("waits", ({ open }) => open === 0);
  Object.assign(reads, { listEvents: 0, countRuns: 0, listChangedRuns: 0 });
  await run.waiting({ kind: "escalation", question: "Which?", subject: {} });
  for (const page of pages) await page.until("log", ({ seq }) => seq === before + 1);
  for (const page of pages) await page.until("waits", ({ open }) => open === 1);
  expect(reads.listEvents).toBeLessThan(10);
  expect(reads.countRuns).toBeLessThan(5);
  expect(reads.countRuns).toBeGreaterThan(0);
});
