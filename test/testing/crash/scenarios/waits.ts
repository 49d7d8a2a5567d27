// Runs that wait for the clock, and for messages.

import type { Json } from "../../../../src/core/json.ts";
import { Pipeline, Step } from "../../../../src/engine/definition/step.ts";
import { receiveTool, sleepTool } from "../../../../src/engine/definition/waiting/wait-tools.ts";
import {
  type ProcessTools,
  RUN_ID,
  type Scenario,
  sleepUntilDue,
} from "../../../../src/testing/crash/scenario.ts";
import { asks, charge, errandAgent, STAND_INS, ship } from "./errand-tools.ts";

const HOUR_MS = 3_600_000;

/** The same message every time, from every process. */
const PAID = { id: "m-1", event: "payment.confirmed", body: { amount: 7 }, by: { by: "bank" } } as const;
/** Nothing waits for it. */
const NEWS = { id: "m-2", event: "news", body: "Rain.", by: { by: "paper" } } as const;

const order = Step.run("order", async (_input: Json, ctx) => ctx.call(charge, { order: "a" }));

const paid = Step.receive("paid", { event: "payment.*" });

/** Code that sleeps before and after an effect. */
export function sleepInCode(): Scenario {
  return {
    name: "sleep-in-code",
    pipeline: Step.run("code", async (_input: Json, ctx) => {
      await ctx.sleep(HOUR_MS);
      const charged = await ctx.call(charge, { order: "a" });
      await ctx.sleep(HOUR_MS);
      return charged;
    }),
    input: "Go.",
    tools: STAND_INS,
  };
}

/** A step that sleeps, and is resumed before its time has come. */
export function sleepStep(): Scenario {
  return {
    name: "sleep-step",
    pipeline: Pipeline.of("sleeping", order, Step.sleep("pause", 24 * HOUR_MS)),
    input: "Go.",
    tools: STAND_INS,
    act: async (tools) => {
      const { runner } = tools;
      let result = await runner.run("Go.", { runId: RUN_ID, wait: true });
      if (result.status !== "waiting") return result;
      result = await runner.resume(RUN_ID, { wait: true });
      while (result.status === "waiting" && (await sleepUntilDue(tools, result.waits)))
        result = await runner.resume(RUN_ID, { wait: true });
      return result;
    },
  };
}

/** An agent that waits for a time and for a message in one turn, beside an ordinary tool. */
export function agentWaits(): Scenario {
  const waits = {
    toolCalls: [
      { name: "wait_until", input: { seconds: 3_600 } },
      { name: "wait_for", input: { event: "payment.confirmed" } },
      { name: "charge", input: { order: "a", how: "works" } },
    ],
  };
  const tools = { wait_until: sleepTool, wait_for: receiveTool({ events: ["payment.*"] }), charge };
  return {
    name: "agent-waits",
    pipeline: errandAgent([waits, { text: "Done." }], tools),
    input: "Wait.",
    tools: STAND_INS,
    act: (given) => workAndSend("Wait.", given),
  };
}

/** Runs the run to its end; whenever it waits, its message is sent, twice. */
async function workAndSend(input: string, tools: ProcessTools): Promise<unknown> {
  const { runner, store } = tools;
  let result = await runner.run(input, { runId: RUN_ID, wait: true });
  while (result.status === "waiting") {
    await store.sendMessage(RUN_ID, PAID);
    await store.sendMessage(RUN_ID, PAID);
    await sleepUntilDue(tools, result.waits);
    result = await runner.resume(RUN_ID, { wait: true });
  }
  return result;
}

/** The message comes before anything waits for it: while the step before is at work. */
export function messageBeforeWait(): Scenario {
  return {
    name: "message-before-wait",
    pipeline: Pipeline.of("paying", order, paid),
    input: "Go.",
    tools: {
      charge: async ({ order: what }: { readonly order: string }, { idempotencyKey }, outside) => {
        await outside.store.sendMessage(RUN_ID, PAID);
        return `${what}: done with a key of ${idempotencyKey.length} characters`;
      },
    },
  };
}

/** The message comes while the run waits, twice; two others are withdrawn, and returned at the end. */
export function messageWhileWaiting(): Scenario {
  return {
    name: "message-while-waiting",
    pipeline: Pipeline.of(
      "paying",
      paid,
      Step.run("charge", async (_input, ctx) => ctx.call(charge, { order: "a" })),
    ),
    input: "Go.",
    tools: STAND_INS,
    act: async (tools) => {
      const { runner, store } = tools;
      if ((await store.getRun(RUN_ID)) === null) await runner.run("Go.", { runId: RUN_ID, wait: true });
      await store.sendMessage(RUN_ID, NEWS);
      await store.sendMessage(RUN_ID, { ...NEWS, id: "m-3" });
      await store.withdrawMessage(RUN_ID, "m-3");
      return workAndSend("Go.", tools);
    },
  };
}

/** Nothing comes: one wait goes on without a message. */
export function receiveTimesOut(): Scenario {
  return {
    name: "receive-times-out",
    pipeline: Pipeline.of(
      "waiting",
      Step.receive("paid", { event: "payment.*", timeoutMs: HOUR_MS, onTimeout: "go_on" }),
      Step.run("charge", async (_input, ctx) => ctx.call(charge, { order: "a" })),
    ),
    input: "Go.",
    tools: STAND_INS,
  };
}

/** Of three calls one is approved in time, and the others are denied; a question gets the answer that it names. */
export function approvalTimesOut(): Scenario {
  return {
    name: "approval-times-out",
    pipeline: Pipeline.of(
      "silence",
      Step.granular(
        "work",
        errandAgent([asks(["charge", "a"], ["ship", "b"]), asks(["charge", "c"]), { text: "Done." }], {
          charge: { ...charge, approval: true },
          ship: { ...ship, approval: true },
        }),
      ),
      Step.human("check", {
        question: "Is that right?",
        choices: ["Yes.", "No."],
        timeLimit: { afterMs: HOUR_MS, onDue: { answer: "No." }, remindEveryMs: HOUR_MS / 2 },
      }),
    ),
    input: "Charge a and c.",
    runner: { policy: { timeLimits: { approval: { afterMs: HOUR_MS, onDue: "deny" } } } },
    tools: STAND_INS,
    act: async (tools) => {
      const { runner, answer } = tools;
      let result = await runner.run("Charge a and c.", { runId: RUN_ID, wait: true });
      while (result.status === "waiting") {
        await answer(result.waits.filter(({ subject }) => subject.tool === "ship"));
        await sleepUntilDue(tools, result.waits);
        result = await runner.resume(RUN_ID, { wait: true });
      }
      return result;
    },
  };
}
