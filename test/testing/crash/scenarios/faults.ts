// Failures outside: of tools, of providers, and budgets that are used up.

import {
  AlreadySettledError,
  ModelCallError,
  NotApplied,
  QuotaExceededError,
} from "../../../../src/core/errors.ts";
import { Step } from "../../../../src/engine/definition/step.ts";
import {
  type ExecuteStandIn,
  type ModelStandIn,
  modelStandIn,
  RUN_ID,
  type Scenario,
  type ToolStandIn,
} from "../../../../src/testing/crash/scenario.ts";
import { scriptedPort } from "../../scripted-port.ts";
import { asks, ERRAND_TOOLS, errandAgent, found, STAND_INS, ship } from "./errand-tools.ts";

const TWO_TURNS = [asks(["charge", "a"]), { text: "Charged." }];

/** Refuses two attempts, and then works. */
const failsTwice: ToolStandIn = (_input: never, { attempt, idempotencyKey }) => {
  if (attempt <= 2) throw new NotApplied(`Try ${attempt} was not taken.`);
  return `taken, with ${idempotencyKey.length} characters of key`;
};

export function retries(): Scenario {
  return {
    name: "retries",
    pipeline: errandAgent([asks(["charge", "a"], ["call_taxi", "b"]), { text: "Done." }]),
    input: "Charge a, call b.",
    tools: { ...STAND_INS, charge: failsTwice, call_taxi: failsTwice },
    // A crash costs an attempt, besides the two that fail.
    runner: { maxRetriesPerToolCall: 3 },
  };
}

/** The provider is down, then rate limited, then silent; then it answers. */
export function providerFaults(): Scenario {
  const answer = modelStandIn(scriptedPort(TWO_TURNS));
  const model: ModelStandIn = (request, place, outside) => {
    if (place.turnIndex > 1) return answer(request, place, outside);
    switch (place.attempt) {
      case 1:
        throw failed("server_error", 500, null);
      case 2:
        throw failed("rate_limited", 429, 7_000);
      case 3:
        return outside.hang(request.signal).catch(() => {
          throw failed("timeout", null, null);
        });
      default:
        return answer(request, place, outside);
    }
  };
  return {
    name: "provider-faults",
    pipeline: errandAgent(TWO_TURNS),
    input: "Charge a.",
    model,
    tools: STAND_INS,
    runner: { maxModelAttempts: 5, modelTimeoutMs: 60_000 },
  };
}

/** The provider is down, cannot be reached, and is rate limited: more often than `maxModelAttempts` allows failures. */
export function providerOutage(): Scenario {
  const answer = modelStandIn(scriptedPort(TWO_TURNS));
  const refusals = [
    failed("server_error", 503, null),
    failed("not_sent", null, null),
    failed("rate_limited", 429, 120_000),
    failed("server_error", 529, null),
  ];
  const model: ModelStandIn = (request, place, outside) => {
    const refusal = place.turnIndex === 1 ? refusals[place.attempt - 1] : undefined;
    if (refusal !== undefined) throw refusal;
    return answer(request, place, outside);
  };
  return {
    name: "provider-outage",
    pipeline: errandAgent(TWO_TURNS),
    input: "Charge a.",
    model,
    tools: STAND_INS,
  };
}

/** The provider rejects the request after the first turn, and the same call of `run` continues the run. */
export function requestRejected(): Scenario {
  const answer = modelStandIn(scriptedPort(TWO_TURNS));
  const input = "Charge a.";
  return {
    name: "request-rejected",
    pipeline: errandAgent(TWO_TURNS),
    input,
    model: (request, place, outside) => {
      if (place.turnIndex === 2 && place.attempt === 1) {
        const { details, message } = failed("rejected", 401, null);
        throw new ModelCallError(message, { ...details, retryable: false });
      }
      return answer(request, place, outside);
    },
    tools: STAND_INS,
    act: async ({ runner }) => {
      try {
        return await runner.run(input, { runId: RUN_ID, wait: true });
      } catch (error) {
        if (!ModelCallError.isInstance(error) || error.details.kind !== "rejected") throw error;
        return runner.run(input, { runId: RUN_ID, wait: true });
      }
    },
  };
}

function failed(kind: ModelCallError["details"]["kind"], status: number | null, retryAfterMs: number | null) {
  return new ModelCallError(`The provider failed: ${kind}.`, { kind, status, retryAfterMs, retryable: true });
}

/** The model never finds out what the arguments of a tool are: the run ends with that. */
export function schemaMisfit(): Scenario {
  return {
    name: "schema-misfit",
    mayFail: true,
    pipeline: errandAgent(() => ({ toolCalls: [{ name: "charge", input: { order: 7 } }] })),
    input: "Charge seven.",
    tools: STAND_INS,
  };
}

/** The budget is used up after the first turn: the run fails, and is resumed with a higher one. */
export function budget(): Scenario {
  return {
    name: "budget",
    pipeline: Step.granular(
      "spend",
      errandAgent(
        ({ turn }) =>
          turn < 3
            ? { ...asks(["charge", `order ${turn}`]), usage: { inputTokens: 9_000, outputTokens: 1_000 } }
            : { text: "Spent." },
        ERRAND_TOOLS,
      ),
    ),
    input: "Spend.",
    tools: STAND_INS,
    act: async ({ runner }) => {
      try {
        return await runner.run("Spend.", { runId: RUN_ID, wait: true, budget: { tokens: 12_000 } });
      } catch (error) {
        if (!QuotaExceededError.isInstance(error)) throw error;
        return runner.resume(RUN_ID, { wait: true, budget: { tokens: 1_000_000 } });
      }
    },
  };
}

/** The RunSpec allows two calls, and the agent wants three: the run ends with that. */
export function budgetReached(): Scenario {
  return {
    name: "budget-reached",
    mayFail: true,
    pipeline: errandAgent(({ turn }) => asks(["charge", `order ${turn}`])),
    input: "Spend.",
    tools: STAND_INS,
    run: { spec: { objective: "Spend.", budgets: { maxToolCalls: 2 } } },
  };
}

/** The same, but a person is asked for more, and gives it. */
export function budgetAsked(): Scenario {
  return {
    name: "budget-asked",
    pipeline: errandAgent(({ turn }) => (turn < 3 ? asks(["charge", `order ${turn}`]) : { text: "Spent." })),
    input: "Spend.",
    tools: STAND_INS,
    act: async ({ runner, store }) => {
      const spec = {
        objective: "Spend.",
        budgets: { maxToolCalls: 1 },
        escalation: { askHumanOnBudgetReached: true },
      };
      let result = await runner.run("Spend.", { runId: RUN_ID, wait: true, spec });
      for (const { waitId } of result.waits) await unlessAnswered(store.answer(waitId, 5));
      if (result.status === "waiting") result = await runner.resume(RUN_ID, { wait: true });
      return result;
    },
  };
}

/** The tools return only after their timeout. */
export function lateReceipt(): Scenario {
  const slow: ExecuteStandIn = async ({ order }: { readonly order: string }, _call, outside) => {
    outside.effect(`${order}: done`);
    await outside.take(7_000);
    return `${order}: done`;
  };
  return {
    name: "late-receipt",
    pipeline: errandAgent([asks(["call_taxi", "a"], ["ship", "b"]), { text: "It took a while." }], {
      ...ERRAND_TOOLS,
      ship: { ...ship, landsWithinMs: 10_000 },
    }),
    input: "Call and ship.",
    tools: {
      call_taxi: slow,
      // A look-up finds the effect only later.
      ship: {
        execute: async (input: never, call, outside) => {
          await outside.take(7_000);
          return slow(input, call, outside);
        },
        reconcile: (_, call, outside) => found(call, outside),
      },
    },
  };
}

/** Another process may have answered first. */
async function unlessAnswered(answer: Promise<void>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (!AlreadySettledError.isInstance(error)) throw error;
  }
}
