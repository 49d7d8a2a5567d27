// Scenarios that only some bugs need: slow outside systems, and agents that change.

import { z } from "zod";
import { ModelCallError, NotApplied } from "../../../../src/core/errors.ts";
import { defineAgent } from "../../../../src/engine/definition/agent.ts";
import { conversationStep } from "../../../../src/engine/definition/conversation-step.ts";
import { type Tool, tool } from "../../../../src/engine/definition/tool.ts";
import type { ModelPort } from "../../../../src/engine/ports/model-port.ts";
import { append, defineSlice } from "../../../../src/session/slice.ts";
import type { Store } from "../../../../src/store/store.ts";
import type {
  ExecuteStandIn,
  Scenario,
  StandInContext,
  ToolStandIn,
} from "../../../../src/testing/crash/scenario.ts";
import {
  modelStandIn,
  RUN_ID,
  sleepUntilDue,
  workUntilDone,
} from "../../../../src/testing/crash/scenario.ts";
import { scriptedPort } from "../../scripted-port.ts";
import { asks, charge, errandAgent, found, lookUp, STAND_INS, ship } from "../scenarios/errand-tools.ts";

/** A call in flight when its process dies, which lands right after it was looked up. */
function lateLanding(): Scenario {
  const slow: Tool = { ...ship, timeoutMs: 10_000, landsWithinMs: 60_000 };
  /** By the world that they are in, and their key. */
  const inFlight = new WeakMap<Store, Map<string, StandInContext>>();
  const parcelsOf = ({ store }: StandInContext) => {
    const parcels = inFlight.get(store) ?? new Map<string, StandInContext>();
    inFlight.set(store, parcels);
    return parcels;
  };
  const standIn: ToolStandIn = {
    execute: async (_: never, { idempotencyKey: key }, outside) => {
      parcelsOf(outside).set(key, outside);
      await outside.take(5_000);
      parcelsOf(outside).delete(key);
      outside.effect("shipped");
      return "shipped";
    },
    reconcile: (_: never, call, outside) => {
      const answer = found(call, outside);
      if (answer.status === "absent") parcelsOf(outside).get(call.idempotencyKey)?.effect("shipped");
      parcelsOf(outside).delete(call.idempotencyKey);
      return answer;
    },
  };
  return {
    name: "late-landing",
    pipeline: errandAgent([asks(["ship", "a"], ["look_up", "b"]), { text: "Shipped." }], {
      ship: slow,
      look_up: lookUp,
    }),
    input: "Ship a.",
    tools: { ...STAND_INS, ship: standIn },
  };
}

/**
 * A first attempt that times out, and returns long after the second one has brought the receipt: in a process that keeps
 * running when its work is done, as servers do.
 */
function lateReturn(): Scenario {
  const slowAtFirst: ExecuteStandIn = async (_: never, { attempt, idempotencyKey }, outside) => {
    for (let i = 0; attempt === 1 && i < 20; i++) await outside.take(1_000);
    return `charged under ${idempotencyKey.length} characters`;
  };
  const scenario: Scenario = {
    name: "late-return",
    pipeline: errandAgent([asks(["charge", "a"]), { text: "Charged." }]),
    input: "Charge a.",
    tools: { charge: slowAtFirst },
    act: async (tools) => {
      try {
        return await workUntilDone(scenario, tools);
      } finally {
        await tools.options.clock?.sleep(60_000);
      }
    },
  };
  return scenario;
}

/** A call that breaks after its effect, and is requested again. */
function uncertainAgain(): Scenario {
  return {
    name: "uncertain-again",
    pipeline: errandAgent([
      asks(["call_taxi", "a", "breaks"]),
      asks(["call_taxi", "a", "breaks"]),
      { text: "Called." },
    ]),
    input: "Call a.",
    tools: STAND_INS,
    person: { approval: () => ({ deny: "It may have come." }) },
  };
}

/** A turn whose only call needs approval. */
function approvalAlone(): Scenario {
  return {
    name: "approval-alone",
    pipeline: errandAgent([asks(["charge", "a"]), { text: "Charged." }], {
      charge: { ...charge, approval: true },
    }),
    input: "Charge a.",
    tools: STAND_INS,
  };
}

/** A new deployment of a tool transforms its arguments differently; its declaration is unchanged. */
function changedArguments(): Scenario {
  const charging = (suffix: string) => chargingWith(suffix, { description: "Charges.", approval: true });
  return replacedAfterTheFirst("changed-arguments", charging(""), charging(AND_THE_REST));
}

/** The same, but the declaration changes too, and so does the agent's fingerprint. */
function changedAgent(): Scenario {
  const charging = (suffix: string) => chargingWith(suffix, { description: `Charges${suffix}.` });
  return replacedAfterTheFirst("changed-agent", charging(""), charging(AND_THE_REST));
}

const AND_THE_REST = ", and all of the rest";

function chargingWith(
  suffix: string,
  options: { readonly description: string; readonly approval?: boolean },
): Tool {
  return tool({
    name: "charge",
    inputSchema: z.object({ order: z.string().transform((order) => `${order}${suffix}`) }),
    effect: "external",
    recovery: "keyed",
    execute: ({ order }, { idempotencyKey }) => `${order} ${idempotencyKey.length}`,
    ...options,
  });
}

/** Every process after the first uses the second tool. */
function replacedAfterTheFirst(name: string, first: Tool, second: Tool): Scenario {
  const agentWith = (charging: Tool) =>
    errandAgent([asks(["charge", "a"]), { text: "Charged." }], { charge: charging });
  const [before, after] = [agentWith(first), agentWith(second)];
  const scenario: Scenario = {
    name,
    pipeline: before,
    input: "Charge a.",
    act: (given) => {
      const runner = given.life === 1 ? given.runner : given.runnerOf(after);
      return workUntilDone(scenario, { ...given, runner });
    },
  };
  return scenario;
}

/** Tools whose timeout is longer than the lease. */
function shortLease(): Scenario {
  return {
    name: "short-lease",
    pipeline: errandAgent([asks(["call_taxi", "a"]), asks(["call_taxi", "b"]), { text: "Called." }]),
    input: "Call taxis.",
    tools: STAND_INS,
    runner: { leaseMs: 1_500 },
  };
}

/** The run is cancelled while a tool waits for its next attempt, and is not resumed. */
function cancelledAndLeft(): Scenario {
  const input = "Call a.";
  const busy: ExecuteStandIn = async (_: never, __, outside) => {
    await outside.store.requestCancel(RUN_ID);
    throw new NotApplied("The line is busy.");
  };
  return {
    name: "cancelled-and-left",
    pipeline: errandAgent([asks(["call_taxi", "a"]), { text: "Called." }]),
    input,
    tools: { call_taxi: busy },
    runner: { maxRetriesPerToolCall: 9 },
    act: ({ runner }) => runner.run(input, { runId: RUN_ID, wait: true }),
  };
}

type Charged = { readonly type: "Charged"; readonly order: string };

const chargedSlice = defineSlice({
  name: "charged",
  schema: z.string(),
  reducers: { Charged: append(({ order }: Charged) => order) },
});

/** The provider rejects a conversation with session events; the run is resumed from the beginning. */
function startedOver(): Scenario {
  const input = "Charge a and b.";
  const port = scriptedPort([asks(["charge", "a"]), asks(["charge", "b"]), { text: "Charged." }]);
  const answer = modelStandIn(port);
  return {
    name: "started-over",
    pipeline: defineAgent({ name: "errands", model: port, tools: { charge }, slices: [chargedSlice] }),
    input,
    model: (request, place, outside) => {
      const isOld = place.turnIndex === 2 && request.messages.some(({ role }) => role === "assistant");
      if (isOld) throw new ModelCallError("It is too long.", REJECTED);
      return answer(request, place, outside);
    },
    tools: {
      charge: ({ order }: { readonly order: string }, { idempotencyKey, session }) => {
        session.dispatch({ type: "Charged", order });
        return `${order}: charged under ${idempotencyKey.length} characters`;
      },
    },
    act: async ({ runner, store }) => {
      const run = await store.getRun(RUN_ID);
      const hasStartedOver = run !== null && (await store.listLineages(RUN_ID)).length > 0;
      if (hasStartedOver) return runner.resume(RUN_ID, { wait: true });
      if (run?.status !== "failed")
        await runner.run(input, { runId: RUN_ID, wait: true }).catch((error: unknown) => {
          if (!(error instanceof ModelCallError)) throw error;
        });
      return runner.resume(RUN_ID, { wait: true, from: "beginning" });
    },
  };
}

const REJECTED = { kind: "rejected", status: 400, retryAfterMs: null, retryable: false } as const;

/** The provider runs a search within its first answer. */
function providerSearch(): Scenario {
  const search = { toolCallId: "s-1", toolName: "web_search" };
  const answers = [
    [
      { ...search, type: "tool-call", input: { query: "a" }, providerExecuted: true },
      { ...search, type: "tool-result", output: { type: "json", value: ["a"] } },
      { type: "tool-call", toolCallId: "c-1", toolName: "charge", input: { order: "a", how: "works" } },
    ],
    [{ type: "text", text: "Charged." }],
  ];
  const port: ModelPort = {
    provider: "searching",
    modelId: "searching-1",
    respond: ({ messages }) =>
      Promise.resolve({
        content: answers[messages.filter(({ role }) => role === "assistant").length] ?? [],
        finishReason: "stop",
        usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 0 },
        invalidCalls: {},
        responseId: null,
      }),
  };
  return {
    name: "provider-search",
    pipeline: defineAgent({ name: "errands", model: port, tools: { charge } }),
    input: "Charge a.",
    tools: STAND_INS,
  };
}

/** A text that is to join the exchange comes while the model gives its last answer. */
function conversationLateSteer(): Scenario {
  const by = { by: "ann" };
  const port = scriptedPort(({ turn }) => ({ text: `Answer ${turn}.` }));
  const answer = modelStandIn(port);
  return {
    name: "conversation-late-steer",
    pipeline: conversationStep("talk", defineAgent({ name: "errands", model: port }), {
      closesAfterMs: 1_000,
    }),
    input: null,
    model: async (request, place, outside) => {
      const late = { id: "late", event: null, body: "Wait.", mode: "steer", by } as const;
      if (place.turnIndex === 1) await outside.store.sendMessage(RUN_ID, late);
      return answer(request, place, outside);
    },
    act: async (tools) => {
      const { runner, store } = tools;
      let result = await runner.run(null, { runId: RUN_ID, wait: true });
      while (result.status === "waiting") {
        const known = (await store.listMessages(RUN_ID)).length;
        if (known === 0) await store.sendMessage(RUN_ID, { id: "one", event: null, body: "Hi.", by });
        else await sleepUntilDue(tools, result.waits);
        result = await runner.resume(RUN_ID, { wait: true });
      }
      return result;
    },
  };
}

export const OWN_SCENARIOS: { readonly [name: string]: () => Scenario } = {
  "late-landing": lateLanding,
  "late-return": lateReturn,
  "uncertain-again": uncertainAgain,
  "approval-alone": approvalAlone,
  "changed-arguments": changedArguments,
  "changed-agent": changedAgent,
  "short-lease": shortLease,
  "cancelled-and-left": cancelledAndLeft,
  "started-over": startedOver,
  "provider-search": providerSearch,
  "conversation-late-steer": conversationLateSteer,
};
