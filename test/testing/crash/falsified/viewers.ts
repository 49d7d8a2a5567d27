import { type Draft, type Falsification, one, takeOut } from "../invariants-evidence.ts";

type DraftEvent = Draft["viewers"][number]["sessions"][number]["events"][number];
type EventOf<T extends DraftEvent["type"]> = Extract<DraftEvent, { type: T }>;

/** What the first viewer saw: it joined at once, and never left. */
function seenIn({ viewers }: Draft): DraftEvent[] {
  return one(one(viewers).sessions).events;
}

function eventOf<T extends DraftEvent["type"]>(
  draft: Draft,
  type: T,
  matches: (event: EventOf<T>) => boolean = () => true,
): EventOf<T> {
  const isOf = (event: DraftEvent): event is EventOf<T> => event.type === type;
  return one(seenIn(draft).filter(isOf), matches);
}

/** Puts a copy of the first piece behind the first event of this type. */
function showAgainAfter(draft: Draft, type: DraftEvent["type"]): EventOf<"part"> {
  const events = seenIn(draft);
  const copy = { ...eventOf(draft, "part") };
  events.splice(events.findIndex((event) => event.type === type) + 1, 0, copy);
  return copy;
}

/** Falsified evidence of viewers: the scenario `stream-cut`, whose process dies in the middle of an answer. */
export const FALSIFIED_VIEWERS: readonly Falsification[] = [
  [
    "viewer-converges",
    "a viewer was not given a receipt",
    (draft) => void takeOut(seenIn(draft), ({ type }) => type === "tool.receipt"),
    /Viewer 1 \(at once\) does not have what the store has: receipts\..* is missing/,
  ],
  [
    "viewer-converges",
    "a viewer has another answer",
    (draft) => void (eventOf(draft, "turn.journaled").content = []),
    /Viewer 1 \(at once\) does not have what the store has: turns\.turn 1 of errands\.content/,
  ],
  [
    "viewer-converges",
    "a viewer does not know of the end",
    (draft) => void takeOut(seenIn(draft), ({ type }) => type === "run.ended"),
    /Viewer 1 \(at once\) does not have what the store has: end is null/,
  ],
  [
    "viewer-converges",
    "a viewer failed",
    ({ viewers }) => void (one(one(viewers).sessions).end = { error: "It broke." }),
    /Viewer 1 \(at once\) failed: It broke\./,
  ],
  [
    "withdrawn-is-never-final",
    "what a dead process wrote is not taken back",
    (draft) => void takeOut(seenIn(draft), ({ type }) => type === "attempt.withdrawn"),
    /Viewer 1 \(at once\) still had attempt 1 of turn 1 of errands before it when epoch 2 began/,
  ],
  [
    "withdrawn-is-never-final",
    "more is shown of what was taken back",
    (draft) => void showAgainAfter(draft, "attempt.withdrawn"),
    /Viewer 1 \(at once\) was shown more of attempt 1 of turn 1 of errands after it had been withdrawn/,
  ],
  [
    "withdrawn-is-never-final",
    "something else is shown than what is stored",
    (draft) => void (eventOf(draft, "part", ({ attempt }) => attempt === 2).delta = "Something else"),
    /Viewer 1 \(at once\) still had attempt 2 of turn 1 of errands before it, which is no part of the answer/,
  ],
  [
    "old-epochs-are-silent",
    "the first process is shown after the second has begun",
    (draft) => void showAgainAfter(draft, "run.claimed"),
    /shown a piece of attempt 1 of turn 1 of errands, which belongs to epoch 1, when it knew of epoch 2/,
  ],
  [
    "old-epochs-are-silent",
    "an attempt is shown that the log does not have",
    (draft) => void (showAgainAfter(draft, "run.claimed").attempt = 9),
    /shown a piece of attempt 9 of turn 1 of errands, which belongs to epoch none/,
  ],
  [
    "no-half-answer-journaled",
    "a stored answer was never finished",
    ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "answered");
      if (line.kind === "answered") line.finished = null;
    },
    /turn 1 of errands has "I charge now\." at the end, which no provider finished/,
  ],
  [
    "live-changes-nothing",
    "without live parts there is one event less",
    ({ twins }) => void one(one(twins).accounts).events.pop(),
    /What is stored is not what it is (?:without live parts|if live parts cannot be written): 0\.events/,
  ],
];
