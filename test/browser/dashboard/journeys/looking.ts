// Finding a run, and reading all of it.

import { expect } from "vitest";
import { FAILED, newReceipt, SampleRun } from "../../../../src/testing/store/sample-run.ts";
import { WAIT } from "../dashboard-world.ts";
import type { Journey, Visitor } from "../journey.ts";

async function shownRuns({ page }: Visitor, prefix: string): Promise<readonly string[]> {
  const ids = await page.evaluate<string[]>(
    `[...document.querySelectorAll('[data-run^="${prefix}"]')].map((row) => row.dataset.run)`,
  );
  return [...ids].sort();
}

const NOTIFY = { tool: "notify", input: { order: "7" } } as const;

export const LOOKING: readonly Journey[] = [
  {
    title: "filters runs, reloads, goes back, saves the view, and searches by the beginning of an id",
    run: async (test) => {
      const { world, name } = test;
      const done = await world.worked(`${name}-done`, [NOTIFY]);
      const waits = await world.worked(`${name}-waits`, [{ tool: "refund", input: { order: "7" } }]);
      const other = await world.worked(`x${name}`, []);
      const ana = await test.person("ana", "viewer", "/?view=all");
      const { page } = ana;
      const shows = (...expected: readonly string[]) =>
        expect.poll(() => shownRuns(ana, `${name}-`), WAIT).toEqual([...expected].sort());
      await shows(done, waits);
      const filters = page.getByRole("group", { name: "Filters" });
      await ana.press("Status", filters);
      await ana.press("succeeded", filters);
      await page.keyboard.press("Escape");
      expect(new URL(page.url()).searchParams.get("status")).toBe("succeeded");
      await shows(done);
      await page.reload();
      await ana.isLive();
      expect(new URL(page.url()).searchParams.get("status")).toBe("succeeded");
      await shows(done);

      await ana.press("Save view");
      await ana.dialog.getByLabel("Name").fill("what is done");
      await ana.press("Save", ana.dialog);
      const views = page.getByRole("group", { name: "Views" });
      const saved = views.getByRole("button", { name: "what is done", exact: true });
      await expect.poll(() => saved.getAttribute("aria-pressed"), WAIT).toBe("true");

      await page.goBack();
      await shows(done, waits);
      expect(new URL(page.url()).searchParams.get("status")).toBe(null);
      await saved.click();
      await shows(done);
      await ana.press(/^all/, views);
      await shows(done, waits);

      await page.keyboard.press("/");
      await page.keyboard.type(`${name}-d`);
      await shows(done);
      await expect.poll(() => new URL(page.url()).searchParams.get("q"), WAIT).toBe(`${name}-d`);
      expect(await page.locator(`[data-run="${other}"]`).count()).toBe(0);
      // It is live in a filter, too.
      const late = await world.worked(`${name}-dawn`, []);
      await expect
        .poll(
          async () => (await shownRuns(ana, late)).length + (await page.getByText(/\d+ new/).count()),
          WAIT,
        )
        .toBe(1);
    },
  },
  {
    title:
      "finds the runs with a failed call of a tool, drops the filter that hides them, and sees when they failed",
    run: async (test) => {
      const { world, name } = test;
      const broken = await SampleRun.create(world.store, `${name}-broken`);
      await broken.committedWithCall(1, newReceipt(1, { status: "failed", errorCode: "tool_failed" }));
      await world.store.releaseRun(broken.fence, FAILED);
      const done = await world.worked(`${name}-done`, [NOTIFY]);
      const ana = await test.person("ana", "viewer", "/?view=all");
      const { page } = ana;
      const shows = (...expected: readonly string[]) =>
        expect.poll(() => shownRuns(ana, `${name}-`), WAIT).toEqual([...expected].sort());
      await shows(broken.runId, done);
      const filters = page.getByRole("group", { name: "Filters" });
      await ana.press("Tool error", filters);
      await ana.press("search 1 run", filters);
      await page.keyboard.press("Escape");
      await shows(broken.runId);
      expect(new URL(page.url()).searchParams.get("toolError")).toBe("search");

      await ana.goto(`/?status=succeeded&toolError=search&q=${name}-`);
      const drops = page.getByRole("listitem").filter({ hasText: "without" });
      await expect
        .poll(() => drops.allInnerTexts(), WAIT)
        .toEqual(["without status succeeded: 1", "without error of search: 1", `without “${name}-”: 0`]);
      await ana.press("without error of search");
      await shows(done);

      await ana.goto("/?status=failed&groups=1");
      const errors = page.getByRole("list", { name: "Errors" });
      const group = errors.getByRole("listitem").filter({ hasText: broken.runId });
      const bars = group.getByRole("img", { name: /^1 run failed in 7 d, in the 7 h from / });
      await expect.poll(() => bars.locator("rect").count(), WAIT).toBe(1);
    },
  },
  {
    title: "reads a run in each of its views, by keys and by a link to one call, and copies what the API has",
    run: async (test) => {
      const { world, name } = test;
      const runId = await world.worked(`${name}-1`, [
        NOTIFY,
        { tool: "notify", input: { order: "8" } },
        { tool: "refund", input: { order: "9" } },
      ]);
      const ana = await test.person("ana", "viewer", `/runs/${runId}`);
      const { page } = ana;
      const views = page.getByRole("navigation", { name: "Views" });
      const seen = [
        ["2", "transcript", page.getByRole("log", { name: "Conversation" }).getByText("I do it.")],
        ["3", "ledger", page.getByRole("region", { name: "Ledger" }).getByRole("button", { name: "refund" })],
        ["4", "money", page.getByRole("main").getByText(/tokens/)],
        ["5", "log", page.getByRole("region", { name: "Log" }).getByText("turn.committed")],
        ["1", "timeline", page.getByRole("region", { name: "Timeline" }).locator("[data-slice]")],
      ] as const;
      await page.locator("[data-slice]").first().waitFor(WAIT);
      for (const [key, view, content] of seen) {
        await page.keyboard.press(key);
        await expect
          .poll(() => views.locator("[aria-current]").innerText(), WAIT)
          .toMatch(new RegExp(`^${view}`, "i"));
        await content.first().waitFor(WAIT);
      }

      const at = () => new URL(page.url()).searchParams.get("at");
      const visited: (string | null)[] = [];
      for (const key of ["j", "j", "j", "k"]) {
        const before = at();
        await page.keyboard.press(key);
        await expect.poll(at, WAIT).not.toBe(before);
        visited.push(at());
      }
      expect(new Set(visited.slice(0, 3)).size).toBe(3);
      expect(visited[3]).toBe(visited[1]);
      const selected = page.getByRole("complementary", { name: "Selected" });
      const title = await selected.getByRole("heading").first().innerText();
      const linked = await test.beside(ana, page.url());
      const there = linked.page.getByRole("complementary", { name: "Selected" });
      await expect.poll(() => there.getByRole("heading").first().innerText(), WAIT).toBe(title);

      const [call] = await world.store.listToolCalls(runId);
      await linked.goto(`/runs/${runId}?view=ledger&at=${encodeURIComponent(call?.toolCallId ?? "")}`);
      await linked.sees(/idempotency key/);
      await linked.sees(call?.toolCallId ?? "-");

      await ana.context.context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await ana.press("Copy JSON");
      const copied = await page.evaluate<string>("navigator.clipboard.readText()");
      const document = await page.evaluate<unknown>(
        `fetch("/v1/runs/${runId}").then((answer) => answer.json())`,
      );
      expect(JSON.parse(copied)).toEqual(document);
      expect(document).toMatchObject({ head: { runId, status: "waiting" } });
    },
  },
  {
    title: "verifies a run of which one letter was changed in the database, and is shown the row",
    isMain: true,
    run: async (test) => {
      const { world, name } = test;
      const runId = await world.worked(`${name}-1`, [NOTIFY]);
      const ana = await test.person("ana", "viewer", `/runs/${runId}`);
      await ana.press("verify");
      await ana.sees(/^verified /);
      await world.sql(
        `UPDATE receipts SET output = replace(output, '"7"', '"9"')
         WHERE run_key = (SELECT run_key FROM runs WHERE run_id = '${runId}')`,
      );
      await ana.press(/^verified /);
      await ana.sees("What is stored of this run is not what was written.");
      await ana.sees("1 problem");
      await ana.sees(`receipt ${runId}/clerk#1.1`);
    },
  },
];
