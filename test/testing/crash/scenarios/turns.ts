// Agents that answer, and agents that call tools of one recovery class or of all.

import type { Scenario } from "../../../../src/testing/crash/scenario.ts";
import { asks, callTaxi, ERRAND_TOOLS, errandAgent, found, STAND_INS } from "./errand-tools.ts";
import { tracing } from "./tracing.ts";

/** One turn without a tool call: journaled and committed in one write. */
export function plainAnswer(): Scenario {
  return { name: "plain-answer", pipeline: errandAgent([{ text: "Nothing to do." }]), input: "Well?" };
}

/** One call in one turn, and a trace of it. */
export function oneTool(): Scenario {
  return {
    name: "one-tool",
    pipeline: errandAgent([asks(["charge", "a"]), { text: "Charged." }]),
    input: "Charge a.",
    tools: STAND_INS,
    runner: { telemetry: tracing },
  };
}

/** Tools of all classes at once, then again: the canonical scenario. */
export function parallelMixed(): Scenario {
  return {
    name: "parallel-mixed",
    pipeline: errandAgent([
      asks(["look_up", "a"], ["charge", "a"], ["ship", "a"], ["call_taxi", "a"]),
      asks(["charge", "b"], ["call_taxi", "b"], ["look_up", "a"]),
      { text: "All is done." },
    ]),
    input: "Do it all.",
    tools: STAND_INS,
  };
}

/** A crash costs an attempt: with the default of two retries, a call that breaks once would have none left, and fail. */
const ATTEMPTS_FOR_CRASHES = 5;

/** Two equal calls; one that is busy at first; one that breaks after its effect, and whose key prevents a second one. */
export function keyed(): Scenario {
  return {
    name: "keyed",
    pipeline: errandAgent([
      asks(["charge", "a"], ["charge", "a"]),
      asks(["charge", "b", "busy"]),
      asks(["charge", "c", "breaks"]),
      { text: "Charged." },
    ]),
    input: "Charge a twice, b and c.",
    tools: STAND_INS,
    runner: { maxRetriesPerToolCall: ATTEMPTS_FOR_CRASHES },
  };
}

/** The same with a tool that is looked up. */
export function reconcile(): Scenario {
  return {
    name: "reconcile",
    pipeline: errandAgent([
      asks(["ship", "a"], ["ship", "b", "busy"]),
      asks(["ship", "c", "breaks"]),
      { text: "Shipped." },
    ]),
    input: "Ship a, b and c.",
    tools: STAND_INS,
  };
}

/** A tool that reports a correlation id after its effect, and is looked up by that id once it is known. */
export function correlated(): Scenario {
  const numberOf = (key: string) => `parcel-${key}`;
  return {
    name: "correlated",
    pipeline: errandAgent([asks(["ship", "a"]), { text: "Shipped." }]),
    input: "Ship a.",
    tools: {
      ...STAND_INS,
      ship: {
        execute: async (_, call, outside) => {
          const result = "a: done";
          outside.effect(result);
          await call.correlate(numberOf(call.idempotencyKey));
          return result;
        },
        reconcile: (_, call, outside) => {
          const { correlationId, idempotencyKey } = call;
          // A look-up with a wrong id would find nothing, and the parcel would be shipped twice.
          if (correlationId !== null && correlationId !== numberOf(idempotencyKey))
            return { status: "absent" };
          return found(call, outside);
        },
      },
    },
  };
}

/** A tool whose outcome only a person can find out. */
export function opaque(): Scenario {
  return {
    name: "opaque",
    pipeline: errandAgent([
      asks(["call_taxi", "a"], ["call_taxi", "b", "busy"]),
      asks(["call_taxi", "c"], ["call_taxi", "d", "breaks"]),
      { text: "Called." },
    ]),
    input: "Call taxis.",
    tools: STAND_INS,
  };
}

/** The same, but the model gets the unknown outcome, instead of a person. */
export function inDoubtToModel(): Scenario {
  return {
    name: "in-doubt-to-model",
    pipeline: errandAgent([asks(["call_taxi", "a"], ["look_up", "a"]), { text: "Called, or not." }], {
      ...ERRAND_TOOLS,
      call_taxi: { ...callTaxi, inDoubt: "tell" },
    }),
    input: "Call a taxi.",
    tools: STAND_INS,
  };
}

/** A tool that changes nothing, and may be repeated. */
export function repeat(): Scenario {
  return {
    name: "repeat",
    pipeline: errandAgent([
      asks(["look_up", "a"], ["look_up", "b", "breaks"]),
      asks(["look_up", "c", "busy"]),
      { text: "Looked." },
    ]),
    input: "Look a, b and c up.",
    tools: STAND_INS,
    runner: { maxRetriesPerToolCall: ATTEMPTS_FOR_CRASHES },
  };
}
