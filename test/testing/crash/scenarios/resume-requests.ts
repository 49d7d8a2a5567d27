// Runs that a person asks to be resumed, while no process works on them.

import { ModelCallError } from "../../../../src/core/errors.ts";
import type { Runner } from "../../../../src/engine/runner/runner.ts";
import type { ResumeRequest, Store } from "../../../../src/store/store.ts";
import {
  modelStandIn,
  type ProcessTools,
  RUN_ID,
  type Scenario,
} from "../../../../src/testing/crash/scenario.ts";
import { scriptedPort } from "../../scripted-port.ts";
import { asks, charge, ERRAND_TOOLS, errandAgent, STAND_INS } from "./errand-tools.ts";
import { INPUT, planner, recordingCharge, rejectingAfterOne, unless } from "./plans.ts";

/** More than a run takes. */
const MOST_CALLS = 200;

/**
 * The run has failed after a milestone. A person asks that it continues from there, with a higher budget. The first worker
 * that takes the run gives it back at once.
 */
export function resumeFromMilestone(): Scenario {
  return {
    name: "resume-from-milestone",
    pipeline: planner(1),
    input: INPUT,
    model: rejectingAfterOne(),
    tools: { charge: recordingCharge },
    act: async (tools) => {
      const { runner, store } = tools;
      if (!(await isAsked(store, RUN_ID))) {
        await unless(ModelCallError, runner.run(INPUT, { runId: RUN_ID, wait: true }));
        await askOnce(store, RUN_ID, {
          from: "milestone",
          budgets: { maxToolCalls: 50 },
          reason: "The history is bad.",
        });
      }
      const isUntaken = (await store.getRun(RUN_ID))?.resumeRequest?.takenSeq === null;
      if (isUntaken) await runner.advance(RUN_ID, { signal: AbortSignal.abort() });
      return advanceToEnd(tools, runner, { turns: 1 });
    },
  };
}

/** The run waits for an approval. A person wants another response instead, of an agent with another prompt. */
export function resumeWithRedo(): Scenario {
  const input = "Charge a.";
  const [first, second] = [[asks(["charge", "a"])], [asks(["look_up", "a"]), { text: "Looked." }]];
  const [asked, redone] = [modelStandIn(scriptedPort(first)), modelStandIn(scriptedPort(second))];
  const tools = { ...ERRAND_TOOLS, charge: { ...charge, approval: true as const } };
  const [old, next] = ["Run the errands.", "Look first."].map((prompt) => errandAgent([], tools, prompt));
  if (old === undefined || next === undefined) throw new Error("There are two agents.");
  return {
    name: "resume-with-redo",
    pipeline: old,
    input,
    model: (request, place, outside) =>
      (request.instructions.includes("Look first") ? redone : asked)(request, place, outside),
    tools: STAND_INS,
    act: async (given) => {
      const { runnerOf, store } = given;
      if (!(await isAsked(store, RUN_ID))) {
        await runnerOf(old).run(input, { runId: RUN_ID, wait: true });
        await askOnce(store, RUN_ID, { redoTurn: true, acceptDivergence: "A better prompt." });
      }
      // In one go: a process that still has the old prompt must not take the run in between.
      return advanceToEnd(given, runnerOf(next), { turns: MOST_CALLS });
    },
  };
}

/**
 * The run waits for an approval. A person accepts the new prompt of its agent, and the worker that takes the run waits again.
 * When the approval is there, the agent has yet another prompt: a person is asked again.
 */
export function resumeChangedTwice(): Scenario {
  const input = "Charge a.";
  const tools = { ...ERRAND_TOOLS, charge: { ...charge, approval: true as const } };
  const prompts = ["Run the errands.", "Run them well.", "Run them better."];
  const [first, second, third] = prompts.map((prompt) => errandAgent([], tools, prompt));
  if (first === undefined || second === undefined || third === undefined)
    throw new Error("There are three agents.");
  return {
    name: "resume-changed-twice",
    pipeline: first,
    input,
    model: modelStandIn(scriptedPort([asks(["charge", "a"]), { text: "Charged." }])),
    tools: STAND_INS,
    act: async (given) => {
      const { runnerOf, store, answer } = given;
      if (!(await isAsked(store, RUN_ID))) {
        await runnerOf(first).run(input, { runId: RUN_ID, wait: true });
        await askOnce(store, RUN_ID, { acceptDivergence: "A better prompt." });
      }
      const open = () => store.listWaits(RUN_ID, { open: true });
      if ((await open()).length > 0) {
        await runnerOf(second).advance(RUN_ID, { turns: MOST_CALLS });
        await answer(await open());
      }
      const end = await advanceToEnd(given, runnerOf(third), { turns: MOST_CALLS });
      if ((await store.getRun(RUN_ID))?.status !== "failed") return end;
      await store.requestResume(RUN_ID, { acceptDivergence: "An even better prompt." }, { by: "Ann" });
      return advanceToEnd(given, runnerOf(third), { turns: MOST_CALLS });
    },
  };
}

async function isAsked(store: Store, runId: string): Promise<boolean> {
  if ((await store.getRun(runId)) === null) return false;
  return (await store.listEvents(runId)).some(({ type }) => type === "run.resume_requested");
}

/** Asks once: a person who has not seen the last event looks again, and another process may have asked meanwhile. */
export async function askOnce(store: Store, runId: string, request: ResumeRequest): Promise<void> {
  for (;;) {
    const ifSeq = (await store.listEvents(runId)).length;
    if (await isAsked(store, runId)) return;
    const { kind } = await store.requestResume(runId, { ...request, ifSeq }, { by: "Ann" });
    if (kind !== "changed") return;
  }
}

/** Works on the run as a worker does, some turns at a time. */
export async function advanceToEnd(
  { options, store, answer }: ProcessTools,
  worker: Runner,
  { runId = RUN_ID, turns }: { readonly runId?: string; readonly turns: number },
): Promise<unknown> {
  const { clock } = options;
  for (let calls = 0; calls < MOST_CALLS; calls++) {
    const advanced = await worker.advance(runId, { turns });
    if (advanced.next === "ended") return { runId, status: advanced.status };
    if (advanced.next === "at") await clock.sleep(Math.max(0, advanced.at - clock.now()));
    if (advanced.next === "wait") await answer(await store.listWaits(runId, { open: true }));
  }
  return null;
}
