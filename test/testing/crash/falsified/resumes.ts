import { type Draft, type Falsification, one } from "../invariants-evidence.ts";

type DraftEvent = Draft["account"]["events"][number];

const isOf =
  (...types: readonly string[]) =>
  ({ type }: { readonly type: string }) =>
    types.includes(type);

/** The log of the run after it was resumed, as the invariant reads it. */
function log({ again }: Draft): DraftEvent[] {
  return one(again.accounts).events;
}

/** The log with a second event of this type, right after the first one. */
function twice(draft: Draft, type: string): void {
  const events = log(draft);
  const i = events.findIndex(isOf(type));
  events.splice(i, 0, structuredClone(one(events, isOf(type))));
}

/** Falsified evidence of a run that was to be rolled back: the scenario `resume-from-milestone`. */
export const FALSIFIED_RESUMES: readonly Falsification[] = [
  [
    "resumed-as-requested",
    "a run was rolled back twice",
    (draft) => twice(draft, "lineage.begun"),
    /explored-1 was rolled back 2 times for one request, and not 1 times/,
  ],
  [
    "resumed-as-requested",
    "a run continued where it was",
    (draft) => {
      const events = log(draft);
      const lineage = events.findIndex(isOf("lineage.begun"));
      events.splice(lineage, 1);
    },
    /explored-1 was to be rolled back, and continued where it was/,
  ],
  [
    "resumed-as-requested",
    "no worker has taken the request",
    (draft) => {
      const events = log(draft);
      events.splice(events.findIndex(isOf("run.resume_requested")) + 1);
      one(draft.again.accounts).run.status = "queued";
    },
    /No worker has resumed explored-1/,
  ],
  [
    "resumed-as-requested",
    "the request is left at the end",
    ({ again }) => {
      const by = { name: "Ann", at: 0, authenticated: null };
      const consent = { acceptDivergence: null, changesHash: null };
      const work = { from: "milestone", redoTurn: false, ...consent } as const;
      one(again.accounts).run.resumeRequest = { ...work, allowance: {}, reason: "failed", by, takenSeq: 1 };
    },
    /explored-1 is succeeded, and is still to be resumed/,
  ],
  [
    "resumed-as-requested",
    "the budgets were not raised",
    (draft) => {
      for (const event of log(draft)) if (event.type === "run.claimed") event.data = {};
    },
    /The budgets of explored-1 were to be raised once, and were raised 0 times/,
  ],
];

/** Falsified evidence of a response that was to be dropped: the scenario `resume-with-redo`. */
export const FALSIFIED_REDOS: readonly Falsification[] = [
  [
    "resumed-as-requested",
    "two responses were dropped",
    (draft) => twice(draft, "turn.dropped"),
    /explored-1 dropped 2 responses for one request, and not 1/,
  ],
  [
    "resumed-as-requested",
    "the response was used",
    (draft) => {
      const events = log(draft);
      events.splice(events.findIndex(isOf("turn.dropped")), 1);
    },
    /A response of explored-1 was to be dropped, and was used/,
  ],
  [
    "resumed-as-requested",
    "a change was accepted twice",
    (draft) => twice(draft, "divergence.accepted"),
    /A change of explored-1 was accepted 2 times for one request/,
  ],
  [
    "resumed-as-requested",
    "a change was accepted after a wait",
    (draft) => {
      const events = log(draft);
      const accepted = events.findIndex(isOf("divergence.accepted"));
      events.splice(accepted, 0, structuredClone(one(events.slice(0, accepted), isOf("run.waiting"))));
    },
    /A change of explored-1 was accepted after a wait/,
  ],
];
