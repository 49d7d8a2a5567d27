// Fake processes, for the tests of the story and the tally.

import type { Death, EffectCounts, ProcessLife } from "../../src/demo/killed-job.ts";
import type { ReportedEvent, WorkerMessage } from "../../src/demo/worker-order.ts";
import type { CrashPoint } from "../../src/engine/ports/crash-points.ts";

const NOTHING: EffectCounts = { pages: 0, modelCalls: 0, files: 0, uploads: 0, mails: 0, notifications: 0 };

export function life(
  messages: readonly WorkerMessage[],
  death: Death | null = null,
  done: Partial<EffectCounts> = {},
): ProcessLife {
  return { messages, death, done: { ...NOTHING, ...done } };
}

export function at(phase: string, point: CrashPoint, turn = 0): Death {
  return { kind: "point", phase, point, turn };
}

export const asked = (phase: string, turn: number): WorkerMessage => ({ kind: "asked", phase, turn });
export const entered = (phase: string): WorkerMessage => ({ kind: "entered", phase });

function event(reported: ReportedEvent): WorkerMessage {
  return { kind: "event", event: reported };
}

const runId = "clockwork";

export const skipped = (step: string) => event({ type: "step.skipped", runId, step });
export const finished = (step: string) => event({ type: "step.finished", runId, step });
export const committed = (step: string, index: number) =>
  event({ type: "turn.committed", runId, step, turn: index, text: "", isComplete: false });
export const stands = (phase: string, point: CrashPoint, index = 0): WorkerMessage => ({
  kind: "halted",
  phase,
  point,
  turn: index,
});
export const turn = (step: string, index: number, replayed = false) =>
  event({ type: "turn.started", runId, step, turn: index, replayed });

/** `call` is what follows the run's id in a call's: `crawl#1.2`. */
export const started = (call: string, tool: string, about: string, attempt = 1) => {
  const input = about.startsWith("http") ? { url: about } : { name: about };
  return event({ type: "tool.started", runId, toolCallId: `${runId}/${call}`, tool, attempt, input });
};
export const ended = (call: string, tool: string, attempt = 1) =>
  event({
    type: "tool.finished",
    runId,
    toolCallId: `${runId}/${call}`,
    tool,
    attempt,
    status: "succeeded",
  });
export const lookedUp = (call: string, tool: string, status: "done" | "absent" | "unknown") =>
  event({ type: "tool.reconciled", runId, toolCallId: `${runId}/${call}`, tool, status });
