import type { Evidence } from "../evidence.ts";
import { FINE, type Invariant, lookAt, type Problem, wrong } from "../invariant.ts";
import { accountOf } from "./places.ts";

/** What a process that was stopped had open when another one took the run. */
type LeftOpen =
  | { readonly kind: "model"; readonly runId: string; readonly place: string }
  | { readonly kind: "tool"; readonly runId: string; readonly toolCallId: string; readonly attempt: number };

export const silenceIsNoProof: Invariant = {
  name: "silence-is-no-proof",
  promise:
    "What a process that may still live had open counts as sent: its requests are charged, its calls are in doubt.",
  judge: (evidence) => lookAt(leftOpen(evidence), (left) => judgeLeft(left, evidence)),
};

/** Of a process that stood still until its lease had run out: the one disturbance in which nobody is proven dead. */
function leftOpen({ schedule, lives, moments }: Evidence): LeftOpen[] {
  const [moment] = moments;
  if (schedule.kind !== "pause" || lives.length < 2 || moment === undefined) return [];
  // One that wakes before the other has ended may not have been overtaken.
  if (schedule.wake !== null) return [];
  return moment.flatMap(({ run: { runId, status }, modelCalls, calls }) => {
    if (status !== "running") return [];
    const requests = modelCalls.filter(({ charge }) => charge === null);
    const running = calls.filter((call) => call.status === "running");
    return [
      ...requests.map((call) => ({ kind: "model" as const, runId, place: placeOf(call) })),
      ...running.map(({ toolCallId, attempt }) => ({ kind: "tool" as const, runId, toolCallId, attempt })),
    ];
  });
}

function placeOf(call: { readonly stepPath: string; readonly turnIndex: number; readonly attempt: number }) {
  return `try ${call.attempt} at turn ${call.turnIndex} of ${call.stepPath}`;
}

function judgeLeft(left: LeftOpen, { again }: Evidence): readonly Problem[] {
  const account = accountOf(again.accounts, left.runId);
  if (left.kind === "model") {
    const call = account?.modelCalls.find((each) => placeOf(each) === left.place);
    return call?.charge?.basis === "none"
      ? wrong(`${left.place} was open in a process that may have sent it, and nothing is charged for it`)
      : FINE;
  }
  const lost = account?.tries.find(
    ({ toolCallId, attempt }) => toolCallId === left.toolCallId && attempt === left.attempt,
  );
  return lost?.errorCode === "not_sent"
    ? wrong(`${left.toolCallId} was under way in a process that may live, and counts as never sent`)
    : FINE;
}
