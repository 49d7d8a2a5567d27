// Agents that work by a plan: each finished plan step is a milestone to resume from.

import { z } from "zod";
import { renderProgress } from "../../../../examples/milestones/task-prompt.ts";
import { ModelCallError, ResumeError } from "../../../../src/core/errors.ts";
import { defineAgent } from "../../../../src/engine/definition/agent.ts";
import type { ModelRequest } from "../../../../src/engine/ports/model-port.ts";
import { DurableMainLoop } from "../../../../src/engine/runner/durable-main-loop.ts";
import { planSlice } from "../../../../src/session/plan.ts";
import { dynamic, markdown, planning as planningSection } from "../../../../src/session/prompt-section.ts";
import { promptTemplate } from "../../../../src/session/prompt-template.ts";
import { append, defineSlice } from "../../../../src/session/slice.ts";
import { DatabaseCheckpointStore } from "../../../../src/store/checkpoint/database-checkpoint-store.ts";
import type { WorkerRequest } from "../../../../src/store/store.ts";
import {
  type ModelStandIn,
  modelStandIn,
  RUN_ID,
  type Scenario,
  type ToolStandIn,
} from "../../../../src/testing/crash/scenario.ts";
import type { ScriptedResponse } from "../../../../src/testing/scripted-model.ts";
import { scriptedPort } from "../../scripted-port.ts";
import { charge } from "./errand-tools.ts";

export const INPUT = { objective: "Charge both." };
const ORDERS = ["window", "terrace"] as const;

export type Charged = { readonly type: "Charged"; readonly order: string };

/** The session events of the tool: each charge once, even if the model asks for it again. */
export const chargedSlice = defineSlice({
  name: "charged",
  schema: z.string(),
  reducers: { Charged: append(({ order }: Charged) => order) },
});

export const recordingCharge: ToolStandIn = (
  { order }: { readonly order: string },
  { idempotencyKey, session },
) => {
  session.dispatch({ type: "Charged", order });
  return `${order}: charged with a key of ${idempotencyKey.length} characters`;
};

/** Plans, charges and marks one order after the other. It reads the next one from its prompt. */
const model = scriptedPort(({ options: { prompt } }): ScriptedResponse => {
  const system = prompt[0]?.role === "system" ? prompt[0].content : "";
  if (system.includes("No progress yet"))
    return {
      toolCalls: [{ name: "planning_setup_plan", input: { objective: "Charge", steps: [...ORDERS] } }],
    };
  const done = doneIn(system);
  const next = ORDERS[done];
  if (next === undefined) return { text: "Both are charged." };
  return {
    toolCalls: [
      { name: "charge", input: { order: next } },
      { name: "planning_update_step", input: { id: done + 1, status: "done" } },
    ],
  };
});

function doneIn(system: string): number {
  return system.match(/^- ✓ /gm)?.length ?? 0;
}

export function planner(version: number) {
  return defineAgent({
    name: "planner",
    model,
    tools: { charge },
    slices: [chargedSlice],
    instructions: promptTemplate({
      namespace: "tests",
      key: "charges",
      version,
      parameters: z.object({ objective: z.string() }),
      sections: [
        markdown({ key: "objective", title: "Objective", template: "$objective" }),
        dynamic({ key: "progress", title: "Progress", render: renderProgress, slices: [planSlice] }),
        planningSection(),
      ],
    }),
  });
}

export function planning(): Scenario {
  return { name: "planning", pipeline: planner(1), input: INPUT, tools: { charge: recordingCharge } };
}

/** The first prompt fails after the first milestone; the second one resumes from there. */
export function milestoneAfterChange(): Scenario {
  const [old, next] = [planner(1), planner(2)];
  return {
    name: "milestone-after-change",
    pipeline: old,
    input: INPUT,
    model: rejectingAfterOne(),
    tools: { charge: recordingCharge },
    act: async ({ runnerOf, store }) => {
      const run = await store.getRun(RUN_ID);
      const lines = run === null ? [] : await store.listLineages(RUN_ID);
      if (lines.length > 0) return runnerOf(next).resume(RUN_ID, { wait: true });
      // A resume with the new prompt is refused without a reason, and changes nothing.
      if (run?.status !== "failed") {
        await unless(ModelCallError, runnerOf(old).run(INPUT, { runId: RUN_ID, wait: true }));
        await unless(ResumeError, runnerOf(next).resume(RUN_ID, { wait: true }));
      }
      return runnerOf(next).resume(RUN_ID, { wait: true, from: "milestone", reason: "A new prompt." });
    },
  };
}

/** The provider rejects the conversation of the first prompt after its first milestone. */
export function rejectingAfterOne(): ModelStandIn {
  const answer = modelStandIn(model);
  return (request, place, outside) => {
    const { length } = answersIn(request);
    if (doneIn(request.instructions) === 1 && length > 0)
      throw new ModelCallError("The provider refused the request.", {
        kind: "rejected",
        status: 400,
        retryAfterMs: null,
        retryable: false,
      });
    return answer(request, place, outside);
  };
}

function answersIn({ messages }: ModelRequest) {
  return messages.filter(({ role }) => role === "assistant");
}

export async function unless(expected: typeof ModelCallError | typeof ResumeError, work: Promise<unknown>) {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof expected)) throw error;
  }
}

/** A named worker, which resumes from its last milestone whenever it is started. */
export function mainLoop(): Scenario {
  return {
    name: "main-loop",
    pipeline: planner(1),
    input: INPUT,
    tools: { charge: recordingCharge },
    act: async ({ runner, store, options }) => {
      const checkpoints = new NamedRun(store, "worker-1");
      if (await checkpoints.isCompleted()) return runner.run(INPUT, { runId: RUN_ID, wait: true });
      const loop = new DurableMainLoop(planner(1), { ...options, checkpoints, warn: () => undefined });
      return loop.execute(INPUT);
    },
  };
}

/** Every world has the same run id, so that their runs can be compared. */
class NamedRun extends DatabaseCheckpointStore {
  override begin(request: WorkerRequest): Promise<void> {
    return super.begin({ ...request, runId: RUN_ID });
  }
}
