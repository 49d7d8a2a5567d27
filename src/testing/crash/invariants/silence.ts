import type { ModelCallRecord } from "../../../store/store.ts";
import type { Evidence } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { accountOf } from "./observations.ts";

/** A model call or tool call that a paused process had open when another one took the run. */
type OpenAtPause =
  | { readonly kind: "model"; readonly runId: string; readonly name: string }
  | { readonly kind: "tool"; readonly runId: string; readonly toolCallId: string; readonly attempt: number };

export const silenceIsNoProof: Invariant = {
  name: "silence-is-no-proof",
  promise:
    "Calls of a process that may still be alive count as sent: its model calls are charged, its tool calls are in doubt.",
  judge: (evidence) => checkEach(openAtPause(evidence), (open) => judgeOpen(open, evidence)),
};

/** A pause until the lease has expired is the one disturbance after which no process is proven dead. */
function openAtPause({ schedule, lives, moments }: Evidence): OpenAtPause[] {
  const [moment] = moments;
  if (schedule.kind !== "pause" || lives.length < 2 || moment === undefined) return [];
  // A process that wakes before the other has ended may not have lost the run.
  if (schedule.wake !== null) return [];
  return moment.flatMap(({ run: { runId, status }, modelCalls, calls }) => {
    if (status !== "running") return [];
    const requests = modelCalls.filter(({ charge }) => charge === null);
    const running = calls.filter((call) => call.status === "running");
    return [
      ...requests.map((call) => ({ kind: "model" as const, runId, name: attemptName(call) })),
      ...running.map(({ toolCallId, attempt }) => ({ kind: "tool" as const, runId, toolCallId, attempt })),
    ];
  });
}

function attemptName(call: Pick<ModelCallRecord, "stepPath" | "turnIndex" | "attempt">) {
  return `attempt ${call.attempt} at turn ${call.turnIndex} of ${call.stepPath}`;
}

function judgeOpen(open: OpenAtPause, { again }: Evidence): readonly Problem[] {
  const account = accountOf(again.accounts, open.runId);
  if (open.kind === "model") {
    const call = account?.modelCalls.find((each) => attemptName(each) === open.name);
    return call?.charge?.basis === "none"
      ? wrong(`${open.name} was open in a process that may have sent it, but nothing is charged for it`)
      : FINE;
  }
  const lost = account?.tries.find(
    ({ toolCallId, attempt }) => toolCallId === open.toolCallId && attempt === open.attempt,
  );
  return lost?.errorCode === "not_sent"
    ? wrong(`${open.toolCallId} was running in a process that may be alive, but counts as never sent`)
    : FINE;
}
