import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import { agent, openStore, Runner, tool } from "../../../src/index.ts";
import { readWaitDetail } from "../../../src/server/handlers/waits/wait-detail.ts";
import type { Principal } from "../../../src/server/principal.ts";
import { scriptedModel } from "../../../src/testing/index.ts";

const OPERATOR: Principal = {
  name: "ana",
  id: "token-1",
  role: "operator",
  scope: EVERYTHING,
  source: "token",
  expiresAt: null,
};

it("a wait shows what the tool was called with before, from the first turn on", async () => {
  const store = await openStore(":memory:");
  onTestFinished(() => store.close());
  const refund = tool({
    name: "refund",
    description: "Refunds an order.",
    inputSchema: z.object({ order: z.string() }),
    effect: "external",
    approval: true,
    execute: () => "done",
  });
  const model = scriptedModel(({ turn }) => ({
    text: "I refund it.",
    toolCalls: [{ name: "refund", input: { order: String(turn) } }],
  }));
  const clerk = agent({ name: "clerk", instructions: "Help.", model, tools: { refund } });
  const runner = new Runner(clerk, { store, identity: "required" });
  await runner.enqueue("Refund them.", { runId: "q" });
  const shown: unknown[] = [];
  for (const number of [1, 2]) {
    while ((await runner.advance("q", { turns: 10 })).next === "now");
    const [wait] = await store.listWaits("q", { open: true });
    const run = await store.getRun("q");
    if (wait === undefined || run === null) throw new Error(`Wait ${number} is missing.`);
    shown.push((await readWaitDetail(store, wait, run, OPERATOR, Date.now())).previous);
    await store.approve(wait.waitId);
  }
  expect(shown).toEqual([null, { toolCallId: "q/clerk#1.1", request: { order: "1" } }]);
});
