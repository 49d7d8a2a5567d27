// Agents that answer, and agents that call tools of one recovery class or of all.

import type { Scenario } from "../../../../src/testing/crash/scenario.ts";
import { asks, callTaxi, ERRAND_TOOLS, errandAgent, found, OTHER_SIDES } from "./errand-tools.ts";
import { tracing } from "./tracing.ts";

/** One turn without a tool: journaled and committed in one. */
export function plainAnswer(): Scenario {
  return { name: "plain-answer", pipeline: errandAgent([{ text: "Nothing to do." }]), input: "Well?" };
}

/** One call in one turn, and a trace of it. */
export function oneTool(): Scenario {
  return {
    name: "one-tool",
    pipeline: errandAgent([asks(["charge", "a"]), { text: "Charged." }]),
    input: "Charge a.",
    tools: OTHER_SIDES,
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
    tools: OTHER_SIDES,
  };
}

/** A crash costs a try: with two of them, a call that breaks once would have none left, and end in an error. */
const TRIES_FOR_CRASHES = 5;

/** Equal calls are two; one is busy at first; one breaks after it has happened, and its key keeps it from happening again. */
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
    tools: OTHER_SIDES,
    runner: { maxRetriesPerToolCall: TRIES_FOR_CRASHES },
  };
}

/** The same with one that is looked up. */
export function reconcile(): Scenario {
  return {
    name: "reconcile",
    pipeline: errandAgent([
      asks(["ship", "a"], ["ship", "b", "busy"]),
      asks(["ship", "c", "breaks"]),
      { text: "Shipped." },
    ]),
    input: "Ship a, b and c.",
    tools: OTHER_SIDES,
  };
}

/** One that gives what it does a number of its own, after it has happened, and is looked up by that where it is known. */
export function correlated(): Scenario {
  const numberOf = (key: string) => `parcel-${key}`;
  return {
    name: "correlated",
    pipeline: errandAgent([asks(["ship", "a"]), { text: "Shipped." }]),
    input: "Ship a.",
    tools: {
      ...OTHER_SIDES,
      ship: {
        execute: async (_, call, outside) => {
          const result = "a: done";
          outside.effect(result);
          await call.correlate(numberOf(call.idempotencyKey));
          return result;
        },
        reconcile: (_, call, outside) => {
          const { correlationId, idempotencyKey } = call;
          // Whoever asks for another parcel is told that there is none, and would ship it twice.
          if (correlationId !== null && correlationId !== numberOf(idempotencyKey))
            return { status: "absent" };
          return found(call, outside);
        },
      },
    },
  };
}

/** One that only a person knows of. */
export function opaque(): Scenario {
  return {
    name: "opaque",
    pipeline: errandAgent([
      asks(["call_taxi", "a"], ["call_taxi", "b", "busy"]),
      asks(["call_taxi", "c"], ["call_taxi", "d", "breaks"]),
      { text: "Called." },
    ]),
    input: "Call taxis.",
    tools: OTHER_SIDES,
  };
}

/** The same where the model is told that nobody knows, in place of a person. */
export function inDoubtTold(): Scenario {
  return {
    name: "in-doubt-told",
    pipeline: errandAgent([asks(["call_taxi", "a"], ["look_up", "a"]), { text: "Called, or not." }], {
      ...ERRAND_TOOLS,
      call_taxi: { ...callTaxi, inDoubt: "tell" },
    }),
    input: "Call a taxi.",
    tools: OTHER_SIDES,
  };
}

/** One that changes nothing, and may run as often as it likes. */
export function repeat(): Scenario {
  return {
    name: "repeat",
    pipeline: errandAgent([
      asks(["look_up", "a"], ["look_up", "b", "breaks"]),
      asks(["look_up", "c", "busy"]),
      { text: "Looked." },
    ]),
    input: "Look a, b and c up.",
    tools: OTHER_SIDES,
    runner: { maxRetriesPerToolCall: TRIES_FOR_CRASHES },
  };
}
