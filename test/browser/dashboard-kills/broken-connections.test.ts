// Servers that stop, hang, are replaced or cannot write while pages are open, in the full test.

import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { browserForTests } from "../browser-tests.ts";
import { onDatabases } from "./killed-databases.ts";
import { Proxy } from "./proxy.ts";
import { isLive, isLost, isRight, SHOWN, statusInList, WAIT } from "./shown-pages.ts";

const browser = browserForTests();

describe.skipIf(!IS_FULL_TEST)("in the full test,", () => {
  onDatabases(["SQLite"], (world) => {
    const hasStatus = (runId: string, status: string) =>
      expect.poll(async () => (await world().store.getRun(runId))?.status, WAIT).toBe(status);

    const behindProxy = async () => {
      const proxy = await Proxy.listen(world().url);
      onTestFinished(() => proxy.close());
      return proxy;
    };

    it("SIGTERM breaks streams, and does not end them", PATIENCE, async () => {
      const runId = "stopped";
      await world().startWalk(runId, 5, 50);
      const { page } = await world().signIn(await browser.newContext(), SHOWN.list.path());
      const end = page.evaluate(`fetch("/v1/stream").then(async ({ body }) => {
        const reader = body.getReader();
        try {
          while (!(await reader.read()).done);
          return "ended";
        } catch {
          return "broken";
        }
      })`);
      await sleep(300);
      await world().stopServer();
      expect(await end).toBe("broken");
      await isLost(page);
      const worker = await world().startWorker();
      await hasStatus(runId, "succeeded");
      await world().startServer();
      await isLive(page);
      await isRight(page, SHOWN.list, world().store, runId);
      await worker.stop();
    });

    it(
      "502 of a proxy for five seconds is waited out, also by a page that is opened meanwhile",
      PATIENCE,
      async () => {
        const runId = "behind-proxy";
        await world().startWalk(runId, 5, 50);
        const worker = await world().startWorker();
        await hasStatus(runId, "succeeded");
        const proxy = await behindProxy();
        const context = await browser.newContext();
        const tab = await world().signIn(context, SHOWN.ledger.path(runId), proxy.url);
        const other = await context.newTab(proxy.url);
        await other.page.goto(proxy.url + SHOWN.list.path());
        for (const each of [tab, other]) each.expectError(/status of 502|ERR_|dynamically imported module/);
        await isLive(other.page);
        proxy.isBad = true;
        proxy.breakAll();
        await isLost(tab.page);
        // The code of this page was not fetched yet, and what this view shows neither. The run has ended, so nothing moves them.
        await other.page.getByRole("link", { name: "Spend" }).click();
        // Nor was the code of this view: the rest of its page stays, and the other views open.
        await tab.page.getByRole("link", { name: "transcript" }).click();
        await expect.poll(() => tab.page.getByText("This view could not be fetched").count(), WAIT).toBe(1);
        await tab.page.getByRole("link", { name: "money" }).click();
        await expect.poll(() => other.page.getByText("could not be fetched").count(), WAIT).toBe(1);
        await expect.poll(() => tab.page.getByText("could not be read").count(), WAIT).toBe(1);
        await sleep(5_000);
        proxy.isBad = false;
        await isLive(tab.page);
        await isRight(tab.page, SHOWN.money, world().store, runId);
        await expect.poll(() => other.page.getByRole("heading", { name: "Spend" }).count(), WAIT).toBe(1);
        expect(new URL(other.page.url()).pathname).toBe("/spend");
        await worker.stop();
      },
    );

    it(
      "a server that hangs for forty seconds is noticed, and followed again when it moves",
      PATIENCE,
      async () => {
        const runId = "half-open";
        await world().startWalk(runId, 5, 50);
        const context = await browser.newContext();
        const { page } = await world().signIn(context, SHOWN.list.path());
        const { page: log } = await world().open(context, SHOWN.log.path(runId));
        const worker = await world().startWorker();
        world().signalServer("SIGSTOP");
        await hasStatus(runId, "succeeded");
        const stoppedAt = performance.now();
        await expect
          .poll(() => page.getByRole("status").first().innerText(), { timeout: 45_000, interval: 200 })
          .toMatch(/reconnecting/);
        await sleep(40_000 - Math.min(40_000, performance.now() - stoppedAt));
        world().signalServer("SIGCONT");
        await isLive(page);
        await isRight(page, SHOWN.list, world().store, runId);
        await isRight(log, SHOWN.log, world().store, runId);
        await worker.stop();
      },
    );

    it(
      "a database that another process has locked is read meanwhile, and written when it is free",
      PATIENCE,
      async () => {
        const runId = "locked";
        await world().startWalk(runId, 5, 50);
        const context = await browser.newContext();
        const { page } = await world().signIn(context, SHOWN.list.path());
        const file = new DatabaseSync(world().address.replace(/^file:/, ""));
        onTestFinished(() => file.close());
        file.exec("BEGIN EXCLUSIVE");
        const cancelled = page.evaluate(
          `fetch("/v1/runs/${runId}/cancel", { method: "POST" }).then(({ status }) => status)`,
        );
        const { page: opened } = await world().open(context, SHOWN.list.path());
        expect(await statusInList(opened, runId)).toBe("queued");
        await sleep(2_000);
        await isLive(page);
        file.exec("ROLLBACK");
        expect(await cancelled).toBe(200);
        await hasStatus(runId, "cancelled");
        for (const each of [page, opened]) await isRight(each, SHOWN.list, world().store, runId);
      },
    );

    it(
      "a page of an older version offers to load the new one; a page of the new one does not",
      PATIENCE,
      async () => {
        const proxy = await behindProxy();
        const context = await browser.newContext();
        const old = await world().signIn(context, SHOWN.list.path(), proxy.url);
        old.expectError(/ERR_/);
        const offer = "The server is now version 99.0.0.";
        expect(await old.page.getByText("The server is now version").count()).toBe(0);
        proxy.version = "99.0.0";
        proxy.breakAll();
        await expect.poll(() => old.page.getByText(offer).count(), WAIT).toBe(1);
        const fresh = await context.newTab(proxy.url);
        await fresh.page.goto(proxy.url);
        await isLive(fresh.page);
        expect(await fresh.page.getByText(offer).count()).toBe(0);
        await old.page.getByRole("button", { name: "Reload it" }).click();
        await isLive(old.page);
        expect(await old.page.getByText(offer).count()).toBe(0);
      },
    );
  });
});
