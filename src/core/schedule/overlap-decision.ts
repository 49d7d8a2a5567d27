import type { UnfinishedRun } from "../run-start.ts";
import type { PersonWaitKind } from "../wait.ts";
import { scheduleKey } from "./firing-run-id.ts";
import type { CheckedSchedule } from "./schedule-spec.ts";

/** An unfinished run of an earlier planned time. */
export type EarlierFiring = UnfinishedRun & {
  /** The open wait that a person must answer; null if it waits for no person. */
  readonly wait: { readonly id: string; readonly kind: PersonWaitKind; readonly question: string } | null;
};

export type OverlapDecision =
  | { readonly kind: "start" }
  /** No run is started, and the reason is recorded. */
  | { readonly kind: "skip"; readonly why: string }
  /** The run is created now, with this key. No worker takes it while an earlier one with the same key is unfinished. */
  | { readonly kind: "queue"; readonly concurrencyKey: string }
  /** These are cancelled, and then the run is started. One that a worker holds may still run for a moment. */
  | { readonly kind: "cancel"; readonly runIds: readonly string[] };

/**
 * Decides what a firing does while runs of earlier ones are unfinished. Under "skip" a run that waits for a person is
 * unfinished too: another one would ask the same person the same question again.
 */
export function decideOverlap(
  { name, overlap }: Pick<CheckedSchedule, "name" | "overlap">,
  earlier: readonly EarlierFiring[],
): OverlapDecision {
  switch (overlap) {
    case "allow":
      return { kind: "start" };
    // Also if there is none: the next firing has to wait for this one.
    case "queue":
      return { kind: "queue", concurrencyKey: scheduleKey(name) };
    case "cancel":
      return earlier.length === 0
        ? { kind: "start" }
        : { kind: "cancel", runIds: earlier.map(({ runId }) => runId) };
    case "skip":
      return earlier.length === 0 ? { kind: "start" } : { kind: "skip", why: reasonToSkip(name, earlier) };
  }
}

/** Names the run that a person can do something about, if there is one. */
function reasonToSkip(name: string, earlier: readonly EarlierFiring[]): string {
  const shown = earlier.find(({ wait }) => wait !== null) ?? earlier[0];
  if (shown === undefined) return "";
  const others = earlier.length - 1;
  const more =
    others === 0 ? "" : ` ${others} more ${others === 1 ? "run is" : "runs are"} unfinished as well.`;
  return `Schedule ${name} skips this planned time, since run ${shown.runId} ${stateOf(shown)}.${more}`;
}

function stateOf({ runId, status, isHeld, wait }: EarlierFiring): string {
  if (wait !== null)
    return `waits for a person, who is asked ${JSON.stringify(wait.question)}: answer with ${HOW_TO_ANSWER[wait.kind](wait.id)}`;
  switch (status) {
    case "queued":
      return "is still queued";
    case "waiting":
      return `is waiting: \`pawl show ${runId}\` shows for what`;
    case "running":
      return isHeld
        ? "is still running"
        : `was left by its worker: the next worker continues it, or \`pawl resume ${runId}\``;
  }
}

const approveOrDeny = (id: string) => `\`pawl approve ${id}\` or \`pawl deny ${id} --why "…"\``;

const HOW_TO_ANSWER = {
  approval: approveOrDeny,
  possible_duplicate: approveOrDeny,
  in_doubt: (id) => `\`pawl settle ${id}\``,
  escalation: (id) => `\`pawl answer ${id} "…"\` or \`pawl settle ${id}\``,
  question: (id) => `\`pawl answer ${id} "…"\``,
  budget: (id) => `\`pawl answer ${id} NEW_LIMIT\` or \`pawl deny ${id} --why "…"\``,
} as const satisfies { readonly [K in PersonWaitKind]: (id: string) => string };
