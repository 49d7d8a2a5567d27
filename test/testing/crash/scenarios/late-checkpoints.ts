// An agent whose milestones are saved while its next turn is under way: a crash may lose the last one.

import { z } from "zod";
import { defineAgent } from "../../../../src/engine/definition/agent.ts";
import { CheckpointTrigger } from "../../../../src/session/checkpoint-trigger.ts";
import { dynamic } from "../../../../src/session/prompt-section.ts";
import { promptTemplate } from "../../../../src/session/prompt-template.ts";
import { append, defineSlice } from "../../../../src/session/slice.ts";
import { RUN_ID, type Scenario } from "../../../../src/testing/crash/scenario.ts";
import type { ScriptedResponse } from "../../../../src/testing/scripted-model.ts";
import { scriptedPort } from "../../scripted-port.ts";
import { charge } from "./errand-tools.ts";
import { type Charged, chargedSlice, recordingCharge } from "./plans.ts";

const ORDERS = ["door", "window", "terrace"] as const;

/** Charges the first order that its prompt does not list. */
const model = scriptedPort(({ options: { prompt } }): ScriptedResponse => {
  const system = prompt[0]?.role === "system" ? prompt[0].content : "";
  const next = ORDERS.find((order) => !system.includes(`${order}: charged`));
  // The result of the run shows an event that was lost, or applied twice.
  if (next === undefined) return { text: `All are charged. ${/^Log: .*$/m.exec(system)?.[0]}` };
  return { toolCalls: [{ name: "charge", input: { order: next } }] };
});

/** Not rolled back with the session. */
const chargeLog = defineSlice({
  name: "charge-log",
  kind: "log",
  schema: z.string(),
  reducers: { Charged: append(({ order }: Charged) => order) },
});

const charger = defineAgent({
  name: "charger",
  model,
  tools: { charge },
  slices: [chargedSlice, chargeLog],
  instructions: promptTemplate({
    namespace: "tests",
    key: "late-charges",
    version: 1,
    parameters: z.object({}),
    sections: [
      dynamic({
        key: "progress",
        title: "Progress",
        slices: [chargedSlice, chargeLog],
        render: (session) => {
          const charged = session.query(chargedSlice).all();
          const log = session.query(chargeLog).all();
          return [...charged.map((order) => `${order}: charged`), `Log: ${log.join(", ")}`].join("\n");
        },
      }),
    ],
  }),
});

/**
 * Every process but the first goes back to the last milestone that was saved. If a crash has lost one, the model is asked
 * for that turn again; its call reuses the receipt.
 */
export function asyncCheckpoints(): Scenario {
  return {
    name: "async-checkpoints",
    pipeline: charger,
    input: {},
    tools: { charge: recordingCharge },
    runner: { checkpointTrigger: new CheckpointTrigger({ eventTypes: ["Charged"], checkpoint: "async" }) },
    act: async ({ runner, store }) => {
      const run = await store.getRun(RUN_ID);
      if (run === null || run.status === "succeeded") return runner.run({}, { runId: RUN_ID, wait: true });
      return runner.resume(RUN_ID, { wait: true, from: "milestone", reason: "A new process." });
    },
  };
}
