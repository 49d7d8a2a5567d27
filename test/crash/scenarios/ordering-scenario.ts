// An agent that places one order with a provider that takes no keys, but gives each order its own number.

import { z } from "zod";
import { agent, Step, type StepNode, tool } from "../../../src/index.ts";
import { scriptedPort } from "../../testing/scripted-port.ts";
import { resultsIn } from "../harness/prompt.ts";
import { enterOutside, recordWitness } from "../harness/witness.ts";
import { type Setting, toolWork } from "./tool-work.ts";

export function ordering(setting: Setting): StepNode {
  const { folder } = setting;
  const place = tool({
    description: "Place an order.",
    inputSchema: z.object({ item: z.string() }),
    effect: "external",
    recovery: "reconcile",
    timeoutMs: 60_000,
    execute: (input, call) =>
      toolWork(setting, "place", input.item, call, async () => {
        enterOutside(folder, "prov-77", input.item);
        await call.correlate("prov-77");
        return "placed";
      }),
    reconcile: (_, call) => {
      recordWitness(folder, { kind: "code", name: "reconcile", detail: String(call.correlationId) });
      return call.correlationId === null ? { status: "unknown" } : { status: "done", result: "found" };
    },
  });
  const model = scriptedPort(({ turn, options }) =>
    turn === 1
      ? { toolCalls: [{ name: "place", input: { item: "tea" } }] }
      : { text: `Done: ${resultsIn(options).join("; ")}.` },
  );
  return Step.granular("ordering", agent({ name: "buyer", model, tools: { place } }));
}
