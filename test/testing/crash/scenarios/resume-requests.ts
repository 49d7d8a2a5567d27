// Runs that a person asks to be resumed, while no process works on them.

import { ModelCallError, ResumeError } from "../../../../src/core/errors.ts";
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
 * The run waits for an approval. A person accepts the new settings of its agent, and the worker that takes the run waits again.
 * When the approval is there, the agent has other settings again: a person is asked again, and accepts the change that they see.
 * Processes with the earlier settings may still be there: they do nothing with a consent that is not for theirs.
 */
export const resumeChangedTwice = () => resumeChanged("resume-changed-twice", 0.1);

/** The same, but the worker that takes the run first has the settings of its beginning: its wait ends the unused consent. */
export const resumeChangedLater = () => resumeChanged("resume-changed-later", 0);

/** `between` is the temperature of the worker that takes the run after the first consent. */
function resumeChanged(name: string, between: number): Scenario {
  const input = "Charge a.";
  const tools = { ...ERRAND_TOOLS, charge: { ...charge, approval: true as const } };
  const agent = errandAgent([], tools);
  // No answer shows which of them was asked: where two of them may work on the run, it ends in the same way.
  const at = (temperature: number) => ({ ...agent, settings: { ...agent.settings, temperature } });
  const first = at(0);
  return {
    name,
    pipeline: first,
    input,
    model: modelStandIn(scriptedPort([asks(["charge", "a"]), { text: "Charged." }])),
    tools: STAND_INS,
    act: async (given) => {
      const { runnerOf, store, answer } = given;
      if (!(await isAsked(store, RUN_ID))) {
        // As a worker, a process with earlier settings lives on when it finds that the run has changed.
        await unless(ResumeError, runnerOf(first).run(input, { runId: RUN_ID, wait: true }));
        await askOnce(store, RUN_ID, { acceptDivergence: "A warmer answer." });
      }
      const open = () => store.listWaits(RUN_ID, { open: true });
      if ((await open()).length > 0) {
        await unless(ResumeError, runnerOf(at(between)).advance(RUN_ID, { turns: MOST_CALLS }));
        await answer(await open());
      }
      const worker = runnerOf(at(0.2));
      for (let asked = 0; asked < MOST_CALLS; asked++) {
        await unless(ResumeError, advanceToEnd(given, worker, { turns: MOST_CALLS }));
        const status = (await store.getRun(RUN_ID))?.status;
        if (status !== "failed") return { runId: RUN_ID, status };
        const ifSeq = (await store.listEvents(RUN_ID)).length;
        const shown = await shownBy(worker, "A still warmer answer.");
        await store.requestResume(RUN_ID, { ...shown, ifSeq }, { by: "Ann" });
      }
      return null;
    },
  };
}

/** The request of a person who has seen what a resume by this worker would change, and accepts that. */
async function shownBy(worker: Runner, acceptDivergence: string): Promise<ResumeRequest> {
  const { accepts } = await worker.forecast(RUN_ID, { acceptDivergence });
  return { acceptDivergence, ...(accepts === null ? {} : { changesHash: accepts.changesHash }) };
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
