// Runs that wait for a person.

import { NeedsHuman } from "../../../../src/core/errors.ts";
import { Pipeline, Step } from "../../../../src/engine/definition/step.ts";
import { askHuman } from "../../../../src/engine/definition/waiting/ask-human.ts";
import { RUN_ID, type Scenario, type ToolStandIn } from "../../../../src/testing/crash/scenario.ts";
import { asks, charge, ERRAND_TOOLS, errandAgent, STAND_INS } from "./errand-tools.ts";

/** Two calls need approval: one is approved, the other denied; a third one runs meanwhile. */
export function approval(): Scenario {
  const approved = { ...charge, approval: true };
  return {
    name: "approval",
    pipeline: errandAgent([asks(["charge", "a"], ["charge", "b"], ["ship", "c"]), { text: "Done." }], {
      ...ERRAND_TOOLS,
      charge: approved,
    }),
    input: "Charge a and b.",
    tools: STAND_INS,
    person: {
      approval: ({ subject }) =>
        JSON.stringify(subject).includes('"b"') ? { deny: "Not that one." } : "approve",
    },
  };
}

/** A call that two people must approve, neither of whom started the run. */
export function twoPeople(): Scenario {
  return {
    name: "two-people",
    pipeline: errandAgent([asks(["charge", "a"], ["ship", "c"]), { text: "Done." }]),
    input: "Charge a.",
    runner: {
      policy: { approve: [{ match: "charge", people: 2, notStarter: true }] },
      startedBy: { by: "starter" },
    },
    tools: STAND_INS,
  };
}

/** The agent asks a person, and so does the step after it. */
export function question(): Scenario {
  const asking = errandAgent(
    [
      {
        toolCalls: [
          { name: "ask_human", input: { question: "Which one?" } },
          { name: "charge", input: { order: "a" } },
        ],
      },
      { text: "That one." },
    ],
    { ask_human: askHuman, charge },
  );
  return {
    name: "question",
    pipeline: Pipeline.of(
      "asking",
      Step.granular("ask", asking),
      Step.human("check", { question: "Is that right?", choices: ["Yes.", "No."] }),
    ),
    input: "Ask.",
    tools: STAND_INS,
  };
}

/** A tool that needs a person's help: the person settles the wait, and the call is tried again. */
export function escalation(): Scenario {
  const lockedAtFirst: ToolStandIn = ({ order }: { readonly order: string }, { attempt, idempotencyKey }) => {
    if (attempt === 1) throw new NeedsHuman("auth_failure", "The door is locked.");
    return `${order}: done with a key of ${idempotencyKey.length} characters`;
  };
  return {
    name: "escalation",
    pipeline: errandAgent([asks(["charge", "a"]), { text: "Charged." }]),
    input: "Charge a.",
    tools: { charge: lockedAtFirst },
  };
}

/** A cancel request arrives while a tool is running that ignores it; then the run is resumed. */
export function cancel(): Scenario {
  return {
    name: "cancel",
    pipeline: errandAgent([
      asks(["charge", "a"], ["look_up", "b"]),
      asks(["charge", "c"]),
      { text: "Done." },
    ]),
    input: "Charge a and c.",
    tools: {
      ...STAND_INS,
      charge: async ({ order }: { readonly order: string }, { idempotencyKey }, outside) => {
        const isFirst = order === "a" && outside.happened(idempotencyKey) === null;
        outside.effect(`${order}: done`);
        if (isFirst) {
          await outside.store.requestCancel(RUN_ID);
          await outside.take(3_000);
        }
        return `${order}: done`;
      },
    },
    act: async ({ runner }) => {
      const result = await runner.run("Charge a and c.", { runId: RUN_ID, wait: true });
      return result.status === "cancelled" ? runner.resume(RUN_ID, { wait: true }) : result;
    },
  };
}

/** The run is cancelled while it waits for approval: its call never runs. */
export function cancelledWaiting(): Scenario {
  return {
    name: "cancelled-waiting",
    mayFail: true,
    pipeline: errandAgent([asks(["look_up", "a"], ["charge", "b"]), { text: "Charged." }], {
      ...ERRAND_TOOLS,
      charge: { ...charge, approval: true },
    }),
    input: "Charge b.",
    tools: STAND_INS,
    act: async ({ runner, store }) => {
      const result = await runner.run("Charge b.", { runId: RUN_ID, wait: true });
      if (result.status === "waiting") await store.requestCancel(RUN_ID, { by: "somebody" });
      return runner.run("Charge b.", { runId: RUN_ID, wait: true });
    },
  };
}
