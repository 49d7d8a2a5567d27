// Runs that continue in another way than they began: forked, released, or with another agent.

import { ConfigurationError, ResumeError } from "../../../../src/core/errors.ts";
import type { Agent } from "../../../../src/engine/definition/agent.ts";
import { Pipeline, Step, type StepNode } from "../../../../src/engine/definition/step.ts";
import type { CrashPoint } from "../../../../src/engine/ports/crash-points.ts";
import type { RunResult } from "../../../../src/engine/ports/run-result.ts";
import {
  modelStandIn,
  type ProcessTools,
  RUN_ID,
  type Scenario,
} from "../../../../src/testing/crash/scenario.ts";
import { scriptedPort } from "../../scripted-port.ts";
import { asks, charge, ERRAND_TOOLS, errandAgent, STAND_INS } from "./errand-tools.ts";
import { advanceToEnd, askOnce } from "./resume-requests.ts";

const FORK_ID = "explored-2";

const TWO_CHARGES = [asks(["charge", "a"]), asks(["charge", "b"]), { text: "Charged." }];

/** A second run continues from the first turn of the first one. */
export function fork(): Scenario {
  return {
    name: "fork",
    pipeline: errandAgent(TWO_CHARGES),
    input: "Charge a and b.",
    tools: STAND_INS,
    act: async (tools) => {
      await forkedOnce(tools, "Charge a and b.");
      return tools.runner.resume(FORK_ID, { wait: true });
    },
  };
}

/** A worker looks at a fork before a person has it resumed, and works on it after. */
export function forkHeld(): Scenario {
  return {
    name: "fork-held",
    pipeline: errandAgent(TWO_CHARGES),
    input: "Charge a and b.",
    tools: STAND_INS,
    act: async (tools) => {
      await forkedOnce(tools, "Charge a and b.");
      await tools.runner.advance(FORK_ID, { turns: 1 });
      await askOnce(tools.store, FORK_ID, {});
      return advanceToEnd(tools, tools.runner, { runId: FORK_ID, turns: 1 });
    },
  };
}

async function forkedOnce({ runner, store }: ProcessTools, input: string): Promise<void> {
  await runner.run(input, { runId: RUN_ID, wait: true });
  const isThere = async () => (await store.getRun(FORK_ID)) !== null;
  if (await isThere()) return;
  try {
    await runner.fork(RUN_ID, { atTurn: 1, runId: FORK_ID });
  } catch (error) {
    // Another process may have been faster.
    if (!ConfigurationError.isInstance(error) || !(await isThere())) throw error;
  }
}

/** Released after its first turn, and claimed again. */
export function released(): Scenario {
  return {
    name: "released",
    pipeline: errandAgent(TWO_CHARGES),
    input: "Charge a and b.",
    tools: STAND_INS,
    act: async ({ runner, runnerOf, store }) => {
      const input = "Charge a and b.";
      if ((await store.getRun(RUN_ID)) === null) {
        const release = new AbortController();
        const first = runnerOf(errandAgent(TWO_CHARGES), {
          onEvent: ({ type }) => {
            if (type === "turn.committed") release.abort();
          },
        });
        await first.run(input, { runId: RUN_ID, wait: true, release: release.signal });
      }
      return runner.run(input, { runId: RUN_ID, wait: true });
    },
  };
}

/** A response with an unwanted call is dropped, and the model is asked again. */
export function redoTurn(): Scenario {
  const input = "Charge a.";
  const first = modelStandIn(scriptedPort([asks(["charge", "a"])]));
  const second = modelStandIn(scriptedPort([asks(["look_up", "a"]), { text: "Looked." }]));
  return {
    name: "redo-turn",
    pipeline: errandAgent([], { ...ERRAND_TOOLS, charge: { ...charge, approval: true } }),
    input,
    model: (request, place, outside) =>
      (place.turnIndex === 1 && place.attempt === 1 ? first : second)(request, place, outside),
    tools: STAND_INS,
    act: async ({ runner }) => {
      const result = await runner.run(input, { runId: RUN_ID, wait: true });
      if (result.status !== "waiting") return result;
      return runner.resume(RUN_ID, { wait: true, redoTurn: true, reason: "Not that one." });
    },
  };
}

const [FIRST, SECOND] = ["Run the errands.", "Run the errands well."];

/** Another prompt continues the conversation of the first, since the divergence was accepted. */
export function acceptDivergence(): Scenario {
  return {
    name: "accept-divergence",
    pipeline: errandAgent(TWO_CHARGES),
    input: "Charge a and b.",
    tools: STAND_INS,
    act: async (tools) => {
      const [old, next] = prompts();
      try {
        const result = await stoppedAt(tools, old, "Charge a and b.", 2);
        if (result.status !== "cancelled") return result;
      } catch (error) {
        // The run already continues with the new prompt.
        if (!isDiverged(error)) throw error;
      }
      return tools.runnerOf(next).resume(RUN_ID, { wait: true, acceptDivergence: "A better prompt." });
    },
  };
}

/** Another prompt without an accepted divergence: the run ends in an error, and nothing is called. */
export function diverged(): Scenario {
  return {
    name: "diverged",
    mayFail: true,
    pipeline: errandAgent(TWO_CHARGES),
    input: "Charge a and b.",
    tools: STAND_INS,
    act: async (tools) => {
      const [old, next] = prompts();
      const run = await tools.store.getRun(RUN_ID);
      if (run?.status !== "failed") await stoppedAt(tools, old, "Charge a and b.", 1);
      return tools.runnerOf(next).resume(RUN_ID, { wait: true });
    },
  };
}

/** The steps after the current one have changed. */
export function changedShape(): Scenario {
  const agent = errandAgent([asks(["charge", "a"]), { text: "Charged." }]);
  const pipelineWith = (last: string) =>
    Pipeline.of(
      "changing",
      Step.granular("first", agent),
      Step.run(last, (input: string, ctx) => ctx.call(charge, { order: `${last} ${input}` })),
    );
  return {
    name: "changed-shape",
    pipeline: pipelineWith("old"),
    input: "Charge.",
    tools: STAND_INS,
    act: async (tools) => {
      const run = await tools.store.getRun(RUN_ID);
      const shape = run === null ? null : (await tools.store.readRunInput(RUN_ID)).shape;
      const isNew = JSON.stringify(shape).includes('"new"');
      if (!isNew) await stoppedAt(tools, pipelineWith("old"), "Charge.", 2);
      return tools.runnerOf(pipelineWith("new")).resume(RUN_ID, { wait: true });
    },
  };
}

function prompts(): readonly [Agent, Agent] {
  return [errandAgent(TWO_CHARGES, ERRAND_TOOLS, FIRST), errandAgent(TWO_CHARGES, ERRAND_TOOLS, SECOND)];
}

/** Cancelled right before this turn's request is sent: by then the fingerprint is stored. */
function stoppedAt(
  { runnerOf }: ProcessTools,
  target: Agent | StepNode,
  input: string,
  turn: number,
): Promise<RunResult<unknown>> {
  const stop = new AbortController();
  const probe = (point: CrashPoint, { turnIndex }: { readonly turnIndex: number }) => {
    if (point === "model:before-request" && turnIndex === turn) stop.abort();
  };
  return runnerOf(target, { probe }).run(input, { runId: RUN_ID, wait: true, signal: stop.signal });
}

function isDiverged(error: unknown): boolean {
  return error instanceof ResumeError && error.irrecoverable;
}
