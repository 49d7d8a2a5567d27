// Servers and workers that are killed while pages are open: every page ends up right by itself. `npm test` takes a sample on
// SQLite; PAWL_TESTS=whole does all of it on both databases, and asserts the budgets of times, twice as large.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/testing/crash/seeded-random.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { browserForTests, type Tab } from "../browser-tests.ts";
import { type Database, onDatabases } from "./killed-databases.ts";
import {
  connectionOf,
  isLive,
  isLost,
  isRight,
  LAST_TURNS,
  type LogRow,
  logInSight,
  SHOWN,
  type ShownPage,
  statusInList,
  storedLog,
  WAIT,
  watchLog,
} from "./shown-pages.ts";

const DATABASES: readonly Database[] = IS_FULL_TEST ? ["SQLite", "PostgreSQL"] : ["SQLite"];
/** 50 in the full test, half of them on each database. */
const ROUNDS = IS_FULL_TEST ? 25 : 2;
const SEED = 20_261_118;
/** The pages that hide something different each: the list, a query of its own, pages of a list, and a log in chunks. */
const FEW = [SHOWN.list, SHOWN.timeline, SHOWN.ledger, SHOWN.log];
const ALL = Object.values(SHOWN);

const browser = browserForTests();

onDatabases(DATABASES, (world, database) => {
  type Opened = { readonly tab: Tab; readonly shown: ShownPage };

  /** One tab a page, all of the same person. */
  const open = async (runId: string, pages: readonly ShownPage[]): Promise<readonly Opened[]> => {
    const context = await browser.newContext();
    const [first, ...others] = pages;
    if (first === undefined) return [];
    const tab = await world().signIn(context, first.path(runId));
    const beside = others.map(async (shown) => ({
      tab: await world().open(context, shown.path(runId)),
      shown,
    }));
    return [{ tab, shown: first }, ...(await Promise.all(beside))];
  };

  const areRight = async (opened: readonly Opened[], runId: string): Promise<void> => {
    for (const { tab, shown } of opened) await isRight(tab.page, shown, world().store, runId);
  };

  const hasStatus = (runId: string, status: string) =>
    expect.poll(async () => (await world().store.getRun(runId))?.status, WAIT).toBe(status);

  /** Something was committed after now. */
  const commits = async (runId: string): Promise<void> => {
    const progress = async () => (await world().store.readProgress([runId])).get(runId) ?? 0;
    const before = await progress();
    await expect.poll(progress, WAIT).toBeGreaterThan(before);
  };

  it("kill -9 of the server leaves the rows, and every page is right again by itself", PATIENCE, async () => {
    const runId = "killed";
    await world().startWalk(runId, 12, 60);
    const opened = await open(runId, IS_FULL_TEST ? ALL : FEW);
    const list = opened.find(({ shown }) => shown === SHOWN.list)?.tab.page;
    if (list === undefined) throw new Error("The list is not open.");
    const worker = await world().startWorker();
    await commits(runId);
    const killedAt = performance.now();
    await world().killServer();
    await isLost(list);
    const bannerMs = performance.now() - killedAt;
    expect(await statusInList(list, runId)).toMatch(/queued|running/);
    await hasStatus(runId, "succeeded");
    expect(await statusInList(list, runId)).not.toBe("succeeded");
    if (IS_FULL_TEST) await sleep(3_000 - Math.min(3_000, performance.now() - killedAt));
    await world().startServer();
    const startedAt = performance.now();
    await isLive(list);
    const liveMs = performance.now() - startedAt;
    await areRight(opened, runId);
    await worker.stop();
    if (!IS_FULL_TEST) return;
    console.log(`${database}: banner after ${bannerMs.toFixed()} ms, live after ${liveMs.toFixed()} ms`);
    expect(bannerMs).toBeLessThan(2_000);
    expect(liveMs).toBeLessThan(4_000);
  });

  it(`kill -9 of the server at ${ROUNDS} random times loses no event`, { timeout: 300_000 }, async () => {
    const runId = "often";
    await world().startWalk(runId, 10_000, 50);
    const opened = await open(runId, [SHOWN.list, SHOWN.log]);
    const log = opened.find(({ shown }) => shown === SHOWN.log)?.tab.page;
    if (log === undefined) throw new Error("The log is not open.");
    const worker = await world().startWorker();
    await commits(runId);
    const random = seededRandom(SEED);
    for (let round = 0; round < ROUNDS; round++) {
      await sleep(random() * 400);
      await world().killServer();
      await sleep(random() * 200);
      await world().startServer();
      const { length: known } = await storedLog(world().store, runId);
      expect(known).toBeGreaterThan(0);
      // The page follows: its last rows are those of the store, without a gap, and reach what was there.
      let seen: readonly LogRow[] = [];
      const lastSeen = async () => {
        seen = await logInSight(log);
        return seen.at(-1)?.seq ?? 0;
      };
      await expect.poll(lastSeen, WAIT).toBeGreaterThanOrEqual(known);
      const stored = await storedLog(world().store, runId);
      const from = seen[0]?.seq ?? 0;
      expect(seen).toEqual(stored.slice(from - 1, from - 1 + seen.length));
      // And no row that has its event is blank again because the log grows.
      const { filled, emptied } = await watchLog(log);
      expect(filled.at(-1)).toBeGreaterThanOrEqual(known);
      expect(emptied).toEqual([]);
    }
    await world().store.requestCancel(runId);
    await hasStatus(runId, "cancelled");
    await areRight(opened, runId);
    await worker.stop();
  });

  it("eight tabs share a stream, stay live, and stall no request", PATIENCE, async () => {
    const runId = "shared";
    // Slow turns: eight tabs take their time, and a timeline with very many calls draws those beside one another as one.
    await world().startWalk(runId, 10_000, 500);
    // Each transcript of a running run would have a stream of its own, and a browser has six connections.
    const transcripts = Array.from({ length: 6 }, () => SHOWN.transcript);
    const opened = await open(runId, [SHOWN.timeline, SHOWN.list, ...transcripts]);
    const worker = await world().startWorker();
    await commits(runId);
    const answers = await Promise.all(opened.map(({ tab }) => answerOf(tab, "/v1/me")));
    expect(answers).toEqual(opened.map(() => expect.objectContaining({ status: 200 })));
    for (const { tab } of opened) expect(await connectionOf(tab.page)).toBe("live");
    // The one that all share, and that of the answer, which one tab reads.
    await expect
      .poll(() => answerOf(opened[0]?.tab, "/v1/server"), WAIT)
      .toMatchObject({ body: { streams: 2 } });
    const turns = async () => (await world().store.listTurns(runId)).length;
    await expect.poll(turns, WAIT).toBeGreaterThan(LAST_TURNS);
    await world().store.requestCancel(runId);
    await hasStatus(runId, "cancelled");
    await areRight(opened, runId);

    // The first tab has the stream: when it is closed, another one takes over.
    const [first, ...others] = opened;
    await first?.tab.page.close();
    await world().startWalk("taken-over", 1, 0);
    const newRuns = () => others[0]?.tab.page.getByText("1 new").count();
    await expect.poll(newRuns, WAIT).toBe(1);
    for (const { tab } of others) await isLive(tab.page);
    await expect
      .poll(() => answerOf(others[0]?.tab, "/v1/server"), WAIT)
      .toMatchObject({ body: { streams: 1 } });
    await worker.stop();
  });

  describe.skipIf(!IS_FULL_TEST)("in the full test,", () => {
    it("kill -9 of a worker shows as its death, and the next one resumes", PATIENCE, async () => {
      const runId = "orphan";
      const leaseMs = 2_000;
      await world().startWalk(runId, 8, 1_500);
      const opened = await open(runId, ALL);
      const list = opened.find(({ shown }) => shown === SHOWN.list)?.tab.page;
      const context = await browser.newContext();
      const { page: timeline } = await world().signIn(context, `/runs/${runId}`);
      if (list === undefined) throw new Error("The list is not open.");
      const worker = await world().startWorker(leaseMs);
      // In the middle of its second turn, whatever of that one is stored: its step is open.
      const calls = async () => (await world().store.listToolCalls(runId)).length;
      await expect.poll(calls, WAIT).toBeGreaterThan(0);
      await expect.poll(() => statusInList(list, runId), WAIT).toBe("running");
      const killedAt = performance.now();
      await worker.kill();
      await expect.poll(() => statusInList(list, runId), WAIT).toBe("interrupted");
      const interruptedMs = performance.now() - killedAt;
      await expect.poll(() => timeline.locator("svg text", { hasText: "†" }).count(), WAIT).toBe(1);
      await expect
        .poll(() => timeline.locator("[data-slice] [fill='url(#hatch-cut)']").count(), WAIT)
        .toBeGreaterThan(0);
      const second = await world().startWorker(leaseMs);
      await hasStatus(runId, "succeeded");
      await areRight(opened, runId);
      await expect.poll(() => timeline.locator("svg text", { hasText: "life 2" }).count(), WAIT).toBe(1);
      expect(await timeline.locator("svg text", { hasText: "†" }).count()).toBe(1);
      await second.stop();
      console.log(`${database}: interrupted after ${interruptedMs.toFixed()} ms, of a lease of ${leaseMs}`);
      expect(interruptedMs).toBeLessThan(2 * leaseMs);
    });
  });
});

/** What a tab is answered, as fast as everything else that it asks for. */
async function answerOf(tab: Tab | undefined, path: string): Promise<unknown> {
  return tab?.page.evaluate(
    `fetch(${JSON.stringify(path)}, { signal: AbortSignal.timeout(5000) })
      .then(async (answer) => ({ status: answer.status, body: await answer.json() }), (error) => String(error))`,
  );
}
