// What other processes do, on pages that are left open.

import { expect } from "vitest";
import { WAIT } from "../dashboard-world.ts";
import type { Journey, Visitor } from "../journey.ts";

/** The row of a run. One that is new does not move what is read: it is behind a chip, unless the list was empty. */
async function rowOf({ page }: Visitor, runId: string) {
  const row = page.getByRole("row").filter({ hasText: runId });
  const chip = page.getByText(/\d+ new/);
  await expect.poll(async () => (await row.count()) + (await chip.count()), WAIT).toBeGreaterThan(0);
  if ((await row.count()) === 0) await chip.click();
  return row;
}

export const WATCHING: readonly Journey[] = [
  {
    title: "sees the runs of another process as they change, without a reload",
    isMain: true,
    run: async (test) => {
      const { world, name } = test;
      const ana = await test.person("ana", "operator", "/?view=all");
      await ana.page.evaluate("window.wasLoadedOnce = true");
      const plan = [
        { tool: "notify", input: { order: "7" } },
        { tool: "refund", input: { order: "7" } },
      ] as const;
      const runId = await world.enqueue(`${name}-1`, plan, { queue: name });
      const row = await rowOf(ana, runId);
      await expect.poll(() => row.innerText(), WAIT).toContain("queued");
      await world.startProcess(name);
      await expect.poll(() => row.innerText(), WAIT).toContain("waiting");
      expect(world.effects(runId)).toEqual([["notify", { order: "7" }]]);
      expect(await ana.page.evaluate("window.wasLoadedOnce")).toBe(true);
    },
  },
  {
    title:
      "keeps a page open while the server is killed: it is live again by itself, and shows what happened",
    isMain: true,
    run: async (test) => {
      const { world, name } = test;
      const runId = await world.enqueue(`${name}-1`, [{ tool: "refund", input: { order: "8" } }]);
      const ana = await test.person("ana", "operator", `/runs/${runId}`);
      ana.expectLostConnections();
      await ana.sees("queued");
      await world.killServer();
      await expect
        .poll(() => ana.page.getByRole("status").first().innerText(), WAIT)
        .toMatch(/reconnecting|offline/);
      // What was read stays on the screen.
      expect(await ana.page.getByRole("heading", { name: runId }).count()).toBe(1);
      await world.work(runId);
      await world.startServer();
      await ana.isLive();
      await ana.sees("waiting");
    },
  },
  {
    title: "watches workers come, work and die",
    run: async (test) => {
      const { world, name } = test;
      const ana = await test.person("ana", "viewer", "/workers");
      const worker = await world.startProcess(name);
      const row = ana.page.getByRole("row").filter({ hasText: `/${worker.pid}` });
      await expect.poll(() => row.innerText(), WAIT).toMatch(/seen .* ago/);
      const runId = await world.enqueue(`${name}-1`, [{ tool: "hold", input: { order: "1" } }], {
        queue: name,
      });
      await expect.poll(() => row.innerText(), WAIT).toContain(runId);
      await worker.kill();
      // It is silent once it has missed three of its reports.
      await expect.poll(() => row.innerText(), { timeout: 60_000 }).toMatch(/silent for/);
      await ana.goto(`/runs/${runId}`);
      await ana.sees("interrupted");
    },
  },
  {
    title: "fires a schedule, pauses it, and sees another person resume it",
    run: async (test) => {
      const { world, name } = test;
      const schedule = `nightly-${name}`;
      world.startWorker(name, {
        schedules: { [schedule]: { pipeline: "clerk", cron: "0 2 * * *", input: "[]", queue: name } },
      });
      const ana = await test.person("ana", "operator", "/schedules");
      const row = ana.page.getByRole("row").filter({ hasText: schedule });
      await expect.poll(() => row.innerText(), WAIT).toContain("never fired");
      await ana.press(schedule, row);
      await ana.press("Fire now…");
      await ana.press("Fire now", ana.dialog);
      await ana.sees(/^It is (fired|started)/);
      await expect.poll(() => row.innerText(), WAIT).not.toContain("never fired");
      const firings = await world.store.listFirings(schedule, { limit: 10 });
      expect(firings).toHaveLength(1);
      const runId = firings[0]?.runId ?? "";
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      await ana.press("Pause…");
      await ana.press("Pause", ana.dialog);
      await expect.poll(() => row.innerText(), WAIT).toMatch(/paused .* by ana/);
      await world.store.resumeSchedule(schedule);
      await expect.poll(() => row.innerText(), WAIT).not.toContain("paused");
      await ana.goto(`/runs/${encodeURIComponent(runId)}`);
      await ana.sees("succeeded");
    },
  },
];
