// A run that is driven without a worker, and one that is deleted.

import { AlreadySettledError, RunDeletedError } from "../../../../src/core/errors.ts";
import { Pipeline, Step } from "../../../../src/engine/definition/step.ts";
import type { Store } from "../../../../src/store/store.ts";
import { type ProcessTools, RUN_ID, type Scenario } from "../../../../src/testing/crash/scenario.ts";
import { asks, charge, errandAgent, STAND_INS } from "./errand-tools.ts";

const HOUR_MS = 3_600_000;

/** More than a run takes. */
const MOST_CALLS = 200;

const PAID = { id: "m-1", event: "payment.confirmed", body: { amount: 7 }, by: { by: "bank" } } as const;

/** Turns of an agent, a sleep and a wait for a message, each by a call of its own. */
export function advance(): Scenario {
  return {
    name: "advance",
    pipeline: Pipeline.of(
      "stepping",
      Step.granular("work", errandAgent([asks(["charge", "a"]), asks(["ship", "b"]), { text: "Done." }])),
      Step.sleep("pause", HOUR_MS),
      Step.receive("paid", { event: "payment.*" }),
      Step.run("last", (_input, ctx) => ctx.call(charge, { order: "c" })),
    ),
    input: "Go.",
    tools: STAND_INS,
    act: async (tools) => {
      await tools.runner.enqueue("Go.", { runId: RUN_ID });
      for (let calls = 0; calls < MOST_CALLS; calls++) {
        const status = await advanceOnce(tools);
        if (status !== null) return { runId: RUN_ID, status };
      }
      return null;
    },
  };
}

/** One call, and what it asks for. Resolves to the status of the run, once it has ended. */
async function advanceOnce({ runner, store, options, answer }: ProcessTools): Promise<string | null> {
  const { clock } = options;
  const advanced = await runner.advance(RUN_ID, { turns: 1 });
  switch (advanced.next) {
    case "ended":
      return advanced.status;
    case "wait":
      await answer(await store.listWaits(RUN_ID));
      await retryStalled(store);
      await store.sendMessage(RUN_ID, PAID);
      return null;
    case "at":
      await clock.sleep(Math.max(0, advanced.at - clock.now()));
      return null;
    case "now":
      return null;
  }
}

/** A person lets the run continue in which too many processes have died. */
async function retryStalled(store: Store): Promise<void> {
  for (const { waitId, kind, status, toolCallId } of await store.listWaits(RUN_ID))
    if (kind === "escalation" && status === "open" && toolCallId === null)
      await store.answer(waitId, "retry", { by: "Ann" }).catch((error: unknown) => {
        // Another process was faster.
        if (!AlreadySettledError.isInstance(error)) throw error;
      });
}

const receipts = Step.run("receipts", async (order: string, ctx) => {
  const charged = await ctx.call(charge, { order });
  await ctx.artifact("receipt.md", charged);
  return charged;
});

const DELETION = { why: "The customer has asked for it.", by: { by: "Ann" } } as const;

/** One of two runs is deleted once it has ended. Its id is then asked for in every way, and is never begun again. */
export function deletion(): Scenario {
  return {
    name: "deletion",
    pipeline: receipts,
    input: "a",
    tools: STAND_INS,
    act: async ({ runner, store }) => {
      await runner.run("b", { runId: "kept", wait: true });
      // Another process may delete it before this one has its result.
      if ((await store.getTombstone(RUN_ID)) === null)
        await runner.run("a", { runId: RUN_ID, wait: true }).catch(assertDeleted);
      await store.deleteRun(RUN_ID, DELETION);
      await store.deleteRun(RUN_ID, DELETION);
      for (const ask of [
        () => runner.enqueue("a", { runId: RUN_ID }),
        () => runner.run("a", { runId: RUN_ID, wait: true }),
        () => runner.advance(RUN_ID),
        () => store.sendMessage(RUN_ID, PAID),
      ])
        await ask().then(() => Promise.reject(new Error("A deleted run was accepted.")), assertDeleted);
      return { runId: RUN_ID, status: "deleted" };
    },
  };
}

function assertDeleted(error: unknown): void {
  if (!RunDeletedError.isInstance(error)) throw error;
}
