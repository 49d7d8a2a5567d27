// A call of which nobody knows whether it happened, settled in each of three ways.

import { expect } from "vitest";
import { WAIT } from "../dashboard-world.ts";
import type { Journey, JourneyTest } from "../journey.ts";

/** The bank was asked to wire, and has not answered. An operator looks at the question. */
async function inDoubt(test: JourneyTest, isSent: boolean) {
  const { world, name } = test;
  const wired = { order: "70", isSent };
  const runId = await world.worked(`${name}-1`, [{ tool: "wire", input: wired }], { queue: name });
  const waitId = await world.openWait(runId);
  const ana = await test.person("ana", "operator", `/waits/${encodeURIComponent(waitId)}`);
  await ana.sees("What was sent, byte for byte");
  world.startWorker(name);
  return { runId, waitId, wired, ana };
}

export const SETTLING: readonly Journey[] = [
  {
    title: "settles a call in doubt as one that happened: it is not sent again",
    run: async (test) => {
      const { world } = test;
      const { runId, wired, ana } = await inDoubt(test, true);
      await ana.press("Settle…");
      await ana.dialog.getByRole("radio", { name: /^It happened/ }).check();
      await ana.dialog.getByLabel("Its result, as JSON").fill('{"wired": "70"}');
      await ana.press(/^Settle/, ana.dialog);
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      expect(world.effects(runId)).toEqual([["wire", wired]]);
      const [call] = await world.store.listToolCalls(runId);
      expect(call?.receipt).toMatchObject({ status: "succeeded", source: "person" });
      await ana.goto(`/runs/${runId}?view=ledger&at=${encodeURIComponent(call?.toolCallId ?? "")}`);
      await ana.sees(/settled by a person/);
    },
  },
  {
    title: "settles a call in doubt as one that did not happen, and has it sent",
    isMain: true,
    run: async (test) => {
      const { world } = test;
      const { runId, wired, ana } = await inDoubt(test, false);
      expect(world.effects(runId)).toEqual([]);
      await ana.press("Settle…");
      await ana.dialog.getByRole("radio", { name: /^It did not happen: run it/ }).check();
      await ana.press("Run it again", ana.dialog);
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      expect(world.effects(runId)).toEqual([["wire", wired]]);
    },
  },
  {
    title: "settles a call in doubt from the ledger as one that did not happen and shall not",
    run: async (test) => {
      const { world } = test;
      const { runId, waitId, ana } = await inDoubt(test, false);
      const [call] = await world.store.listToolCalls(runId);
      await ana.goto(`/runs/${runId}?view=ledger&at=${encodeURIComponent(call?.toolCallId ?? "")}`);
      await ana.sees("It is not known whether it happened.");
      await ana.press("Settle…", ana.page.getByRole("region", { name: "Ledger" }));
      await ana.dialog.getByRole("radio", { name: /^It did not happen, and shall not/ }).check();
      await ana.dialog.getByLabel("Why it shall not happen").fill("The account is closed.");
      await ana.press("Settle", ana.dialog);
      await expect.poll(() => world.status(runId), WAIT).toBe("succeeded");
      expect(world.effects(runId)).toEqual([]);
      const settled = (await world.store.listToolCalls(runId))[0]?.receipt;
      expect(settled).toMatchObject({ status: "failed", source: "person" });
      expect(JSON.stringify(settled?.output)).toContain("The account is closed.");
      await ana.goto(`/waits/${encodeURIComponent(waitId)}`);
      await ana.sees(/^ana: /);
    },
  },
];
