// Questions to people: what is shown is what happens, once, and it is known who decided.

import { expect } from "vitest";
import { SampleRun, sha256 } from "../../../../src/testing/store/sample-run.ts";
import { WAIT } from "../dashboard-world.ts";
import type { Journey, JourneyTest, Visitor } from "../journey.ts";

const CHOICES = { question: "Which colour?", choices: ["red", "blue"] };

/** A run whose worker is there, and its only question on the screen of an operator. */
async function asked(test: JourneyTest, plan: Parameters<JourneyTest["world"]["enqueue"]>[1]) {
  const { world, name } = test;
  const runId = await world.worked(`${name}-1`, plan, { queue: name });
  const waitId = await world.openWait(runId);
  const ana = await test.person("ana", "operator", `/waits/${encodeURIComponent(waitId)}`);
  world.startWorker(name);
  return { runId, waitId, ana };
}

/** Exactly what the page shows as the arguments, as JSON. */
async function shownArguments({ page }: Visitor): Promise<unknown> {
  const region = page.getByRole("region", { name: "Arguments" });
  await region.getByRole("button", { name: "as JSON" }).click();
  await region.getByRole("button", { name: "raw" }).click();
  return JSON.parse(await region.locator("pre").innerText());
}

export const ANSWERING: readonly Journey[] = [
  {
    title: "approves what is shown, and it runs once; the slower of two people is shown who was faster",
    isMain: true,
    run: async (test) => {
      const { world, name } = test;
      const input = { order: "41", note: 'for "Zoë" & co' };
      const runId = await world.worked(`${name}-1`, [{ tool: "refund", input }], { queue: name });
      const waitId = await world.openWait(runId);
      const path = `/waits/${encodeURIComponent(waitId)}`;
      const [ana, ben] = [
        await test.person("ana", "operator", path),
        await test.person("ben", "operator", path),
      ];
      const shown = await shownArguments(ana);
      expect(shown).toEqual(input);
      for (const each of [ana, ben]) await each.press(/^Approve/);
      // Ben presses before his page hears of ana's answer, which closes his question.
      ben.expectLostConnections();
      const reads = /\/v1\/waits\/[^/]+$/;
      await ben.page.route(reads, (route) => route.abort());
      await ana.press(/^Approve/, ana.dialog);
      await expect.poll(async () => (await world.store.listWaits(runId)).at(0)?.answeredBy, WAIT).toBe("ana");
      ben.expectStatus(409);
      await ben.press(/^Approve/, ben.dialog);
      await ben.sees("Nothing was changed.");
      await ben.page.unroute(reads);
      await expect.poll(() => ben.page.getByRole("article").innerText(), WAIT).toContain("ana");
      expect(world.effects(runId)).toEqual([]);
      world.startWorker(name);
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      expect(world.effects(runId)).toEqual([["refund", shown]]);
      expect((await world.store.verify(runId)).problems).toEqual([]);

      // Both acts are on record, each as the session that made it.
      const acts = await world.store.listAudit({ act: "approveWait" });
      const ofThis = acts.filter(({ target }) => target === waitId);
      expect(Object.fromEntries(ofThis.map(({ who, status }) => [who.name, status]))).toEqual({
        ana: 200,
        ben: 409,
      });
      const [wait] = await world.store.listWaits(runId);
      expect(wait?.people).toMatchObject([{ name: "ana", authenticated: { name: "ana", by: "pawl" } }]);
    },
  },
  {
    title: "approves and denies with the keyboard alone",
    run: async (test) => {
      const { world, name } = test;
      const runs = await Promise.all(
        ["1", "2"].map((order) =>
          world.worked(`${name}-${order}`, [{ tool: "refund", input: { order } }], { queue: name }),
        ),
      );
      const [first = "", second = ""] = runs;
      const ana = await test.person("ana", "operator", `/waits?run=${first}`);
      const { keyboard } = ana.page;
      await ana.sees(first, ana.page.getByRole("list", { name: "Open waits" }));
      await keyboard.press("j");
      await ana.sees("1", ana.page.getByRole("region", { name: "Arguments" }));
      await keyboard.press("a");
      await ana.dialog.waitFor();
      // A key alone decides nothing.
      await keyboard.press("a");
      await keyboard.press("Control+Enter");
      await ana.sees(/^ana: /);
      await ana.goto(`/waits?run=${second}`);
      await ana.sees(second, ana.page.getByRole("list", { name: "Open waits" }));
      await keyboard.press("j");
      await ana.sees("2", ana.page.getByRole("region", { name: "Arguments" }));
      await keyboard.press("d");
      await ana.dialog.waitFor();
      // Without a reason nothing is denied.
      await keyboard.press("Control+Enter");
      await keyboard.type("It is too much.");
      await keyboard.press("Control+Enter");
      await ana.sees(/^ana: .*It is too much\./);
      world.startWorker(name);
      for (const runId of runs) await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      expect(runs.flatMap((runId) => world.effects(runId))).toEqual([["refund", { order: "1" }]]);
    },
  },
  {
    title: "shows the oldest wait before one is chosen, and keeps a half-written reason in a narrow window",
    run: async (test) => {
      const { world, name } = test;
      const runId = await world.worked(`${name}-1`, [{ tool: "refund", input: { order: "7" } }], {
        queue: name,
      });
      const { page } = await test.person("ana", "operator", `/waits?run=${runId}`);
      await page.getByRole("region", { name: "Arguments" }).waitFor(WAIT);
      expect(new URL(page.url()).pathname).toBe("/waits");
      await page.keyboard.press("d");
      const why = page.getByRole("dialog").getByLabel("Why");
      await why.fill("Ask for");
      expect(decodeURIComponent(new URL(page.url()).pathname)).toBe(`/waits/${await world.openWait(runId)}`);
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await expect
          .poll(() => page.getByRole("list", { name: "Open waits" }).count(), WAIT)
          .toBe(width < 768 ? 0 : 1);
        expect(await why.inputValue()).toBe("Ask for");
      }
      await page.keyboard.press("Escape");
    },
  },
  {
    title: "reaches the last of 450 waits, and its row stays where it is while others are answered",
    run: async (test) => {
      const { world, name } = test;
      const run = await SampleRun.create(world.store, `${name}-1`);
      const calls = Array.from({ length: 450 }, (_, index) => index + 1);
      await run.journaled(
        1,
        calls.map(() => "prepared" as const),
      );
      await run.waiting(...calls.map((call) => run.approval(1, call, sha256("").toString("hex"))));
      const ana = await test.person("ana", "operator", `/waits?run=${run.runId}`);
      const { page } = ana;
      const rows = page.getByRole("list", { name: "Open waits" }).getByRole("listitem");
      const row = (call: number) => rows.filter({ has: page.locator(`a[href*="~${call}?"]`) });
      await ana.sees("200+ open waits, oldest first");
      const scrolled = async () => {
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
        return row(450).count();
      };
      await expect.poll(scrolled, WAIT).toBe(1);
      await ana.sees("450 open waits, oldest first");
      expect(await rows.count()).toBeLessThan(60);
      const place = await row(445).boundingBox();
      expect(place).not.toBeNull();
      for (const call of [1, 2, 3]) await world.store.approve(`${run.runId}~${call}`);
      await ana.sees("447 open waits, oldest first");
      await expect.poll(() => row(445).boundingBox(), WAIT).toEqual(place);

      await row(450).click();
      await ana.sees(`${run.runId}~450`, page.getByRole("article"));
      await page.keyboard.press("k");
      await ana.sees(`${run.runId}~449`, page.getByRole("article"));
      // What is behind an answered wait comes next, and not the first of all.
      await world.store.approve(`${run.runId}~449`);
      await ana.sees("446 open waits, oldest first");
      await page.keyboard.press("j");
      await ana.sees(`${run.runId}~450`, page.getByRole("article"));
    },
  },
  {
    title: "denies a call with a reason, which the model gets in the place of its effect",
    run: async (test) => {
      const { runId, ana } = await asked(test, [{ tool: "refund", input: { order: "5" } }]);
      const { world } = test;
      await ana.press("Deny…");
      await ana.dialog.getByLabel("Why").fill("Ask for the receipt first.");
      await ana.press(/^Deny/, ana.dialog);
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      expect(world.effects(runId)).toEqual([]);
      const [call] = await world.store.listToolCalls(runId);
      expect(JSON.stringify(call?.receipt?.output)).toContain("Ask for the receipt first.");
      await ana.goto(`/runs/${runId}?view=transcript`);
      await ana.sees("Ask for the receipt first.");
    },
  },
  {
    title: "answers a question with one of its choices",
    run: async (test) => {
      const { runId, ana } = await asked(test, [{ tool: "ask_human", input: CHOICES }]);
      const { world } = test;
      await ana.sees("Which colour?");
      await ana.page.getByRole("radio", { name: "blue" }).check();
      await ana.press("Answer");
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      const [call] = await world.store.listToolCalls(runId);
      expect(call?.receipt?.output).toMatchObject({ value: "blue" });
      expect((await world.store.listWaits(runId))[0]).toMatchObject({ answeredBy: "ana" });
      await ana.sees(/^ana: .*blue/);
    },
  },
  {
    title: "raises a budget that a run has reached, and it continues",
    run: async (test) => {
      const { world, name } = test;
      const plan = [
        { tool: "notify", input: { order: "1" } },
        { tool: "notify", input: { order: "2" } },
      ] as const;
      const spec = {
        objective: "Tell two customers.",
        budgets: { maxToolCalls: 1 },
        escalation: { askHumanOnBudgetReached: true },
      };
      const runId = await world.worked(`${name}-1`, plan, { queue: name, spec });
      expect(world.effects(runId)).toHaveLength(1);
      const path = `/waits/${encodeURIComponent(await world.openWait(runId))}`;
      const ana = await test.person("ana", "operator", path);
      await ana.goto(`/runs/${runId}?view=money`);
      // The call that the budget has refused is in the ledger, and has used nothing of it.
      await ana.sees("1 of 1");
      await ana.goto(path);
      await ana.sees("maxToolCalls");
      const limit = ana.page.getByRole("textbox", { name: "New limit" });
      await limit.fill("0");
      expect(await ana.page.getByRole("button", { name: /^Set the limit/ }).isDisabled()).toBe(true);
      await limit.fill("2");
      await ana.press("Set the limit to 2");
      world.startWorker(name);
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      expect(world.effects(runId)).toEqual([
        ["notify", { order: "1" }],
        ["notify", { order: "2" }],
      ]);
    },
  },
  {
    title: "approves what takes two people: not the one who started it, and none of them twice",
    run: async (test) => {
      const { world, name } = test;
      const runId = `${name}-1`;
      const sam = await test.person("sam", "operator");
      const input = JSON.stringify([{ tool: "pay", input: { order: "1000" } }]);
      const started = { pipeline: "clerk", input, queue: name };
      expect(await sam.request("PUT", `/v1/runs/${runId}`, started)).toBe(201);
      world.startWorker(name);
      await expect.poll(() => world.status(runId), WAIT).toBe("waiting");
      const path = `/waits/${encodeURIComponent(await world.openWait(runId))}`;
      await sam.goto(path);
      await sam.sees("You cannot answer this.");
      await sam.sees(/another person than sam/);
      expect(await sam.page.getByRole("button", { name: /^Approve/ }).count()).toBe(0);

      for (const who of ["ana", "ben"]) {
        const person = await test.person(who, "operator", path);
        expect(world.effects(runId)).toEqual([]);
        await person.press(/^Approve/);
        await person.press(/^Approve/, person.dialog);
        await person.sees(who === "ana" ? /ana has approved it already/ : /^(ana and )?ben: /);
        // The dialog has such a button too, until it is closed.
        const approve = () => person.page.getByRole("button", { name: /^Approve/ }).count();
        if (who === "ana") await expect.poll(approve, WAIT).toBe(0);
      }
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      expect(world.effects(runId)).toEqual([["pay", { order: "1000" }]]);
      const [wait] = await world.store.listWaits(runId);
      expect(wait?.people.map((person) => person.authenticated?.name)).toEqual(["ana", "ben"]);
    },
  },
];
