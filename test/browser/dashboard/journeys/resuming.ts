// Acts that say beforehand what they will do.

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Plan } from "../clerk.ts";
import { WAIT } from "../dashboard-world.ts";
import type { Journey, JourneyTest, Visitor } from "../journey.ts";

const notify = (order: string) => ({ tool: "notify", input: { order } }) as const;

/** A run whose worker died when the second answer of the model was stored, and nothing of it was done. */
async function interrupted(test: JourneyTest): Promise<{ readonly runId: string; readonly plan: Plan }> {
  const { world, name } = test;
  const plan = [notify(`${name}-a`), notify(`${name}-b`)];
  const runId = await world.enqueue(`${name}-1`, plan, { queue: name });
  await world.dieIn(name, "turn:journaled", 2);
  return { runId, plan };
}

async function forecastIn({ page }: Visitor): Promise<string> {
  const text = page.getByRole("region", { name: "Resume" }).getByText("A resume would:").locator("..");
  await text.waitFor(WAIT);
  return text.innerText();
}

export const RESUMING: readonly Journey[] = [
  {
    title: "reads what a resume would do, resumes, and that is what happens",
    isMain: true,
    run: async (test) => {
      const { world, name } = test;
      const { runId, plan } = await interrupted(test);
      expect(world.asked(plan)).toEqual([1, 2]);
      const ana = await test.person("ana", "operator", `/runs/${runId}`);
      await ana.sees("interrupted");
      await ana.press("Resume…");
      const said = await forecastIn(ana);
      expect(said).toMatch(/continue clerk · replay turn 2 \(not asked, not paid\) · run notify again\.$/);
      await ana.press("Resume", ana.page.getByRole("region", { name: "Resume" }));
      await ana.sees(/ana asked for a resume/);
      world.startWorker(name);
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      await ana.sees("It has succeeded.");
      // The model was not asked for turn 2 again, and its call was made once: the first worker had not come that far.
      expect(world.asked(plan)).toEqual([1, 2, 3]);
      expect(world.effects(runId)).toEqual([
        ["notify", { order: `${name}-a` }],
        ["notify", { order: `${name}-b` }],
      ]);
    },
  },
  {
    title: "does not resume a run that has changed since the forecast, sees what changed, and looks again",
    run: async (test) => {
      const { world, name } = test;
      const { runId } = await interrupted(test);
      const ana = await test.person("ana", "operator", `/runs/${runId}`);
      await ana.press("Resume…");
      await forecastIn(ana);
      await world.runner.send(runId, { event: "news" }, { by: "ben" });
      const panel = ana.page.getByRole("region", { name: "Resume" });
      ana.expectStatus(409);
      await ana.press("Resume", panel);
      await ana.sees("The run has changed since this forecast. Nothing was resumed.");
      await ana.sees(/Since then: message\./);
      expect((await world.store.getRun(runId))?.resumeRequest).toBe(null);
      await ana.press("Look again", panel);
      await forecastIn(ana);
      await ana.press("Resume", panel);
      await ana.sees(/ana asked for a resume/);
      world.startWorker(name);
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
    },
  },
  {
    title: "forks a run at turn 3, is shown what the fork may repeat, and compares the two",
    run: async (test) => {
      const { world, name } = test;
      const orders = ["one", "two", "three", "four", "five"].map((each) => `${name}-${each}`);
      const runId = await world.worked(`${name}-1`, orders.map(notify), { queue: name });
      // It takes whatever is ready, and says other words than the worker of the first run.
      world.startWorker(name, { says: "I do it in another way." });
      const ana = await test.person("ana", "operator", `/runs/${runId}`);
      await ana.press("Fork…");
      await ana.dialog.getByLabel("After turn").fill("3");
      await ana.press("Make the fork", ana.dialog);
      await ana.sees("The fork may do 2 things a second time.");
      const listed = await ana.dialog.getByRole("listitem").allInnerTexts();
      for (const order of orders)
        expect([order, listed.join().includes(order)]).toEqual([order, orders.indexOf(order) > 2]);
      const [fork] = (await world.store.listRuns()).filter(({ forkedFrom }) => forkedFrom?.runId === runId);
      const forkId = fork?.runId ?? "";
      // Long enough for a worker that looks every second.
      await sleep(1_500);
      expect([await world.status(forkId), world.effects(forkId)]).toEqual(["queued", []]);
      await ana.press("Start it", ana.dialog);
      await ana.sees(/forked after turn 3 of/);
      expect(ana.path).toBe(`/runs/${forkId}`);
      await expect.poll(() => world.status(forkId), WAIT).toBe("succeeded");
      expect(world.effects(forkId)).toEqual(orders.slice(3).map((order) => ["notify", { order }]));
      expect(world.effects(runId)).toEqual(orders.map((order) => ["notify", { order }]));
      await ana.page.getByRole("link", { name: "compare" }).click();
      await ana.sees("b is a fork of a.");
      await ana.sees("Turns 1–3 are the same.");
      const turns = ana.page.getByRole("article", { name: /^Turn / });
      await expect.poll(() => turns.first().innerText(), WAIT).toContain("Turn 4");
      await ana.sees("differs", turns.first());
      await ana.press("Show");
      await expect.poll(() => turns.filter({ hasText: "the same" }).count(), WAIT).toBeGreaterThanOrEqual(3);
    },
  },
  {
    title: "cancels twenty runs in all states at once, and each ends as the dialog has said",
    run: cancelsMany,
  },
];

const AT_ONCE = "is cancelled at once";
const ITS_WORKER = "its worker is asked to";
const OVER = "is over already: nothing changes";

/** What the dialog says about a run of each kind, and how it ends. */
const FATES = {
  queued: [AT_ONCE, "cancelled"],
  later: [AT_ONCE, "cancelled"],
  waiting: [AT_ONCE, "cancelled"],
  interrupted: [AT_ONCE, "cancelled"],
  running: [ITS_WORKER, "cancelled"],
  succeeded: [OVER, "succeeded"],
  failed: [OVER, "failed"],
  cancelled: [OVER, "cancelled"],
} as const;
type Kind = keyof typeof FATES;

const MANY: { readonly [K in Kind]: number } = {
  queued: 5,
  later: 2,
  waiting: 4,
  interrupted: 1,
  running: 2,
  succeeded: 3,
  failed: 1,
  cancelled: 2,
};

async function cancelsMany(test: JourneyTest): Promise<void> {
  const { world, name } = test;
  const runs: { readonly runId: string; readonly kind: Kind }[] = [];
  for (const kind of Object.keys(MANY) as Kind[])
    for (let i = 1; i <= MANY[kind]; i += 1) {
      const runId = `${name}-${kind}-${i}`;
      await putRun(test, runId, kind);
      runs.push({ runId, kind });
    }
  expect(runs).toHaveLength(20);
  await world.dieIn(`${name}-dies`, "tool:executed", 1);
  world.startWorker(`${name}-runs`);
  for (const { runId, kind } of runs)
    if (kind === "running") await expect.poll(() => world.status(runId), WAIT).toBe("running");

  const ana = await test.person("ana", "operator", `/?q=${name}-`);
  const { page } = ana;
  await expect.poll(() => page.getByRole("checkbox").count(), WAIT).toBe(20);
  await expect
    .poll(() => page.locator(`[data-run="${name}-interrupted-1"]`).innerText(), WAIT)
    .toContain("interrupted");
  for (const { runId } of runs) await page.getByRole("checkbox", { name: `Select ${runId}` }).check();
  await ana.press("Cancel…", page.getByRole("toolbar", { name: "Selected runs" }));
  const outcome = (runId: string) =>
    ana.dialog
      .getByRole("list", { name: "Outcomes" })
      .getByRole("listitem")
      .filter({ hasText: runId })
      .innerText();
  for (const { runId, kind } of runs) await expect.poll(() => outcome(runId), WAIT).toContain(FATES[kind][0]);
  const changed = runs.filter(({ kind }) => FATES[kind][0] !== OVER).length;
  await ana.press(`Cancel ${changed} runs`, ana.dialog);
  await ana.sees("Cancel: what became of each");
  for (const { runId, kind } of runs) {
    expect(await outcome(runId)).toMatch(DONE[FATES[kind][0]]);
    await expect.poll(() => world.status(runId), WAIT).toBe(FATES[kind][1]);
  }
  await ana.press("Done", ana.dialog);
  // The list shows it without a reload.
  for (const { runId, kind } of runs)
    await expect
      .poll(() => page.locator(`[data-run="${runId}"]`).innerText(), WAIT)
      .toContain(FATES[kind][1]);
  for (const { runId, kind } of runs) if (kind === "queued") expect(world.effects(runId)).toEqual([]);
}

const DONE = {
  [AT_ONCE]: /cancelled/,
  [ITS_WORKER]: /asked; its worker does it/,
  [OVER]: /is over already: nothing changes/,
} as const;

async function putRun({ world, name }: JourneyTest, runId: string, kind: Kind): Promise<void> {
  const plan = [notify(runId)];
  switch (kind) {
    case "queued":
      return void (await world.enqueue(runId, plan));
    case "later":
      return void (await world.enqueue(runId, plan, { notBefore: new Date(Date.now() + 3_600_000) }));
    case "waiting":
      return void (await world.worked(runId, [{ tool: "refund", input: { order: runId } }]));
    case "interrupted":
      return void (await world.enqueue(runId, plan, { queue: `${name}-dies` }));
    case "running":
      return void (await world.enqueue(runId, [{ tool: "hold", input: { order: runId } }], {
        queue: `${name}-runs`,
      }));
    case "succeeded":
      return void (await world.worked(runId, []));
    case "failed":
      return void (await world.worked(runId, plan, {
        spec: { objective: "None.", budgets: { maxToolCalls: 0 } },
      }));
    case "cancelled":
      await world.enqueue(runId, plan);
      return void (await world.store.requestCancel(runId));
  }
}
