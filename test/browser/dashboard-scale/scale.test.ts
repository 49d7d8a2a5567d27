// 100,000 runs and a run of 20,000 events: the budgets of the pages, twice as large, in the full test. Prints what it measures.

import { randomUUID } from "node:crypto";
import type { BrowserContext, Page, Request } from "playwright-core";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import { createHandler } from "../../../src/server/http/create-handler.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { browserForTests, type TestContext } from "../browser-tests.ts";
import { onDatabases } from "../dashboard-kills/killed-databases.ts";
import { isLive, WAIT } from "../dashboard-kills/shown-pages.ts";
import { fill, LONG, MANY } from "./large-store.ts";
import { inMs, measured, report } from "./measured.ts";

const browser = browserForTests();
const SCREEN = { width: 1280, height: 1200 };
/** As many as fill that screen. */
const FULL_OF_ROWS = 35;

describe.skipIf(!IS_FULL_TEST)("in the full test,", () => {
  onDatabases(["SQLite", "PostgreSQL"], (world, database) => {
    const say = (what: string, figure: string) => report(database, what, figure);

    beforeAll(async () => {
      const begun = performance.now();
      await fill(world().store, world().address);
      say(
        `made ${MANY} runs and ${LONG.events} events`,
        `${((performance.now() - begun) / 1000).toFixed(1)} s`,
      );
    }, 120_000);

    it("a page of 50 of the runs takes the server no time that a person notices", PATIENCE, async () => {
      const handler = createHandler({
        store: world().store,
        dashboard: false,
        authenticate: () => ({ name: "ana", id: "ana", role: "viewer", scope: EVERYTHING }),
      });
      onTestFinished(() => handler.close());
      const times: number[] = [];
      let cursor = "";
      for (let i = 0; i < 200; i++) {
        const begun = performance.now();
        const answer = await handler.fetch(
          new globalThis.Request(`http://127.0.0.1/v1/runs?limit=50${cursor}`),
        );
        const page = (await answer.json()) as {
          readonly items: readonly unknown[];
          readonly nextCursor: string;
        };
        times.push(performance.now() - begun);
        expect(page.items).toHaveLength(50);
        cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
      }
      // The first ones compile the code.
      const figures = measured(times.slice(20));
      say("GET /v1/runs?limit=50", inMs(figures));
      // Of times this short, the longest are those of the machine: this test runs beside others.
      expect(figures.p50).toBeLessThan(10);
    });

    it("a page full of rows is painted soon after it was asked for", PATIENCE, async () => {
      const own = await browser.newContext();
      await signedIn(own);
      const cookies = await own.context.cookies();
      const times: number[] = [];
      for (let i = 0; i < 12; i++) {
        // Another context has another cache: nothing of the page is there yet.
        const { context: cold } = await browser.newContext();
        await cold.addCookies(cookies);
        const page = await cold.newPage();
        await page.setViewportSize(SCREEN);
        await page.addInitScript({ content: PAINTED });
        await page.goto(`${world().url}/?view=all`);
        times.push(await page.evaluate<number>("painted"));
        await page.close();
      }
      const figures = measured(times);
      say(`navigation to ${FULL_OF_ROWS} rows painted`, inMs(figures));
      expect(figures.p95).toBeLessThan(1_000);
    });

    it("what another process commits is soon on the screen", PATIENCE, async () => {
      const ids = Array.from({ length: 30 }, () => `seen-${randomUUID()}`);
      for (const runId of ids) await world().startWalk(runId, 1, 0);
      const page = await signedIn(await browser.newContext());
      const times: number[] = [];
      for (const runId of ids) {
        const seen = page.evaluate(`(${SEEN})("${runId}", "cancelled")`) as Promise<number>;
        await world().store.requestCancel(runId);
        const committedAt = Date.now();
        times.push((await seen) - committedAt);
      }
      const figures = measured(times);
      say("commit in another process to pixel", inMs(figures));
      expect(figures.p95).toBeLessThan(600);
    });

    it("lists and timelines have few nodes, however long they are", PATIENCE, async () => {
      const page = await signedIn(await browser.newContext());
      let most = 0;
      for (let i = 0; i < 20; i++) {
        most = Math.max(most, await page.locator("[data-run]").count());
        await page.mouse.wheel(0, 1_500);
        await page.waitForTimeout(50);
      }
      expect(most).toBeGreaterThan(FULL_OF_ROWS);
      say("most rows in the list while it is scrolled", String(most));
      expect(most).toBeLessThanOrEqual(60);
      const begun = performance.now();
      await page.goto(`${world().url}/runs/${LONG.runId}`);
      const shapes = page.locator("svg[role=img] > *");
      await expect.poll(() => shapes.count(), WAIT).toBeGreaterThan(10);
      const paintedMs = performance.now() - begun;
      const counts = [await shapes.count()];
      for (let i = 0; i < 6; i++) {
        await page.keyboard.press("+");
        await page.waitForTimeout(300);
        counts.push(await shapes.count());
      }
      say(`timeline of ${LONG.events} events`, `${paintedMs.toFixed()} ms, shapes ${counts.join(", ")}`);
      expect(Math.max(...counts)).toBeLessThanOrEqual(1_500);
    });

    it("a browser has one stream, and few requests beside it", PATIENCE, async () => {
      const own = await browser.newContext();
      const { context } = own;
      const open = new Set<Request>();
      let [most, mostStreams] = [0, 0];
      context.on("request", (request) => {
        if (!request.url().includes("/v1/")) return;
        open.add(request);
        const streams = [...open].filter((each) => each.url().endsWith("/v1/stream")).length;
        [most, mostStreams] = [Math.max(most, open.size - streams), Math.max(mostStreams, streams)];
      });
      const end = (request: Request) => void open.delete(request);
      context.on("requestfinished", end);
      context.on("requestfailed", end);
      const page = await signedIn(own);
      for (const path of [`/runs/${LONG.runId}`, "/waits", "/spend", "/health"]) {
        await page.getByRole("banner").waitFor();
        await page.goto(world().url + path);
        await isLive(page);
      }
      say("requests at a time beside the stream", `${most}, streams ${mostStreams}`);
      expect(mostStreams).toBe(1);
      // Six are all that a browser opens to a server.
      expect(most).toBeLessThanOrEqual(5);
    });

    it("100,000 heads through a stream leave the page as large as it was", PATIENCE, async () => {
      const own = await browser.newContext();
      const { context } = own;
      // Its tab has the stream of the browser, until it is closed.
      await (await signedIn(own)).close();
      const page = await context.newPage();
      await page.addInitScript({ content: HEADS });
      await page.goto(`${world().url}/?view=all`);
      await isLive(page);
      await expect.poll(() => page.locator("[data-run]").count(), WAIT).toBeGreaterThan(12);
      const before = await heapOf(context, page);
      const begun = performance.now();
      await page.evaluate("sendHeads(100000)");
      await expect
        .poll(() => page.getByText("head 100000", { exact: true }).count(), { timeout: 60_000 })
        .toBe(1);
      const after = await heapOf(context, page);
      say(
        "100,000 heads",
        `${((performance.now() - begun) / 1000).toFixed(1)} s, heap ${before.toFixed(1)} to ${after.toFixed(1)} MB`,
      );
      expect(after - before).toBeLessThan(40);
    });

    async function signedIn(context: TestContext): Promise<Page> {
      const { page } = await world().signIn(context, "/?view=all");
      await page.setViewportSize(SCREEN);
      await expect.poll(() => page.locator("[data-run]").count(), WAIT).toBeGreaterThan(FULL_OF_ROWS);
      return page;
    }
  });
});

/** When the frame with the rows was painted, in milliseconds after the navigation began. */
const PAINTED = `globalThis.painted = new Promise((resolve) => {
  const look = () => {
    if (document.querySelectorAll("[data-run]").length < ${FULL_OF_ROWS}) requestAnimationFrame(look);
    else requestAnimationFrame(() => resolve(performance.now()));
  };
  look();
});`;

/** When the row of a run had this status on the screen, by the clock of this machine. */
const SEEN = `(runId, status) => new Promise((resolve) => {
  const look = () => {
    const row = document.querySelector('[data-run="' + runId + '"]');
    if (row !== null && row.innerText.includes(status)) resolve(Date.now());
    else requestAnimationFrame(look);
  };
  look();
})`;

/** In the place of the server's stream: heads of the twelve first runs, one after the other, as fast as the page takes them. */
const HEADS = `(() => {
  const ask = fetch;
  let controller = null;
  globalThis.fetch = (path, init) => {
    if (!String(path).endsWith("/v1/stream")) return ask(path, init);
    const body = new ReadableStream({ start: (given) => { controller = given; } });
    return Promise.resolve(new Response(body));
  };
  globalThis.sendHeads = async (count) => {
    const { items } = await (await ask("/v1/runs?limit=12")).json();
    const encoder = new TextEncoder();
    for (let sent = 0; sent < count; ) {
      let text = "";
      for (let i = 0; i < 100; i += 1) {
        sent += 1;
        const head = items[sent % items.length];
        const data = { ...head, eventSeq: head.eventSeq + sent, objective: "head " + sent };
        text += "event: head\\nid: " + sent + "\\ndata: " + JSON.stringify(data) + "\\n\\n";
      }
      controller.enqueue(encoder.encode(text));
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
})();`;

/** The heap of a page once its garbage was collected, in megabytes. */
async function heapOf(context: BrowserContext, page: Page): Promise<number> {
  const session = await context.newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 2 ** 20;
}
