// Viewers: what is shown while it is written, and what is left of it.

import { textOf } from "../../../core/message.ts";
import type { EventRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { RUN_ID } from "../scenario.ts";
import type { ViewerRecord } from "../viewers/simulated-viewer.ts";
import { firstDifference } from "./first-difference.ts";
import { accountOf, allLines, allObservations, objectOf } from "./observations.ts";
import { attemptName, turnPlace, WatchedScreen } from "./watched-screen.ts";

type Watched = {
  readonly record: ViewerRecord;
  readonly screen: WatchedScreen;
  readonly account: RunAccount;
};

/** Each viewer, with what it has before it at the end and what the store has then. */
function watchedIn({ viewers, accounts }: Evidence): readonly Watched[] {
  const account = accountOf(accounts, RUN_ID);
  if (account === null) return [];
  return viewers.map((record) => ({ record, screen: WatchedScreen.of(record), account }));
}

function viewerText({ number, joins }: ViewerRecord): string {
  return `Viewer ${number} (${joins})`;
}

export const viewerConverges: Invariant = {
  name: "viewer-converges",
  promise: "Whenever a viewer joined and whatever it missed, it ends with what the store has.",
  judge: (evidence) =>
    checkEach(watchedIn(evidence), ({ record, screen, account }) => {
      const failed = record.sessions.find(({ end }) => typeof end === "object");
      if (typeof failed?.end === "object") return wrong(`${viewerText(record)} failed: ${failed.end.error}`);
      const difference = firstDifference(storedOf(account), seenBy(screen));
      return difference === null
        ? FINE
        : wrong(`${viewerText(record)} does not have what the store has: ${difference}`);
    }),
};

/** What a viewer should know of a run. */
function storedOf({ run, turns }: RunAccount): unknown {
  const isEnded = run.status === "succeeded" || run.status === "failed" || run.status === "cancelled";
  const calls = turns.flatMap((turn) => turn.calls);
  return {
    turns: byName(
      turns.map(({ stepPath: step, turnIndex: turn, response: { content }, committed, calls: own }) => [
        turnPlace({ step, turn }),
        {
          content,
          calls: own.map(({ toolCallId, tool, request: input }) => ({ toolCallId, tool, input })),
          committedText: committed ? textOf(content) : null,
        },
      ]),
    ),
    receipts: byName(
      calls.flatMap(({ toolCallId, receipt }) =>
        receipt === null ? [] : [[toolCallId, { status: receipt.status, output: receipt.output }] as const],
      ),
    ),
    end: isEnded ? { status: run.status, output: run.output } : null,
    shown: [],
  };
}

function seenBy({ turns, receipts, end, shown }: WatchedScreen): unknown {
  return { turns: byName([...turns]), receipts: byName([...receipts]), end, shown };
}

function byName<T>(entries: readonly (readonly [string, T])[]): { readonly [name: string]: T } {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

export const withdrawnIsNeverFinal: Invariant = {
  name: "withdrawn-is-never-final",
  promise: "What is shown of an attempt without an answer is taken back, and nothing more of it is shown.",
  judge: (evidence) => {
    const watched = watchedIn(evidence);
    const problems = watched.flatMap(({ record, screen }) =>
      screen.leftovers.flatMap((what) => wrong(`${viewerText(record)} ${what}`)),
    );
    // Each piece either belongs to the answer that follows, or is taken back.
    return { looked: watched.reduce((sum, { screen }) => sum + screen.pieces.length, 0), problems };
  },
};

export const oldEpochsAreSilent: Invariant = {
  name: "old-epochs-are-silent",
  promise: "A viewer that knows of a new worker is shown nothing that an earlier one writes.",
  judge: (evidence) =>
    checkEach(
      watchedIn(evidence).flatMap(({ record, screen, account }) => {
        const epochs = epochsOf(account.events);
        return screen.pieces.map((piece) => ({ record, piece, epochs }));
      }),
      ({ record, piece, epochs }) => {
        const name = attemptName(piece);
        const own = epochs.get(name) ?? [];
        return own.includes(piece.knownEpoch)
          ? FINE
          : wrong(
              `${viewerText(record)} was shown a piece of ${name}, which belongs to epoch ${own.join(" or ") || "none"}, when it knew of epoch ${piece.knownEpoch}`,
            );
      },
    ),
};

/** The epochs in which each attempt was opened, by its name. */
function epochsOf(events: readonly EventRecord[]): ReadonlyMap<string, readonly number[]> {
  const epochs = new Map<string, number[]>();
  let epoch = 0;
  const open = (step: unknown, turn: number, attempt: unknown) => {
    const name = attemptName({ step: String(step), turn, attempt: Number(attempt) });
    epochs.set(name, [...(epochs.get(name) ?? []), epoch]);
  };
  for (const { type, data } of events) {
    const facts = objectOf(data);
    if (type === "run.created" || type === "run.claimed") epoch = Number(facts.epoch);
    if (type === "turn.opened") open(facts.step, Number(facts.turn), facts.attempt);
    // A commit may reserve for the next turn.
    if (type === "turn.committed" && facts.reserved !== undefined)
      open(facts.step, Number(facts.turn) + 1, 1);
  }
  return epochs;
}

export const noHalfAnswerJournaled: Invariant = {
  name: "no-half-answer-journaled",
  promise: "A response that is stored is one that its provider has finished.",
  judge: (evidence) => {
    const lines = allLines(evidence);
    return checkEach(
      allObservations(evidence)
        // A fork has the turns of its parent.
        .filter(({ account }) => account.run.forkedFrom === null)
        .flatMap(({ account, when }) => account.turns.map((turn) => ({ turn, account, when }))),
      ({ turn: { stepPath, turnIndex, response }, account: { run }, when }): readonly Problem[] => {
        const finished = lines.flatMap((line) =>
          line.kind === "answered" &&
          line.runId === run.runId &&
          line.stepPath === stepPath &&
          line.turnIndex === turnIndex
            ? [line.finished]
            : [],
        );
        const text = textOf(response.content);
        return finished.includes(text)
          ? FINE
          : wrong(
              `${turnPlace({ step: stepPath, turn: turnIndex })} has ${JSON.stringify(text)} ${when}, which no provider finished`,
            );
      },
    );
  },
};

export const liveChangesNothing: Invariant = {
  name: "live-changes-nothing",
  promise: "What is stored is the same with live parts, without them, and if they cannot be written.",
  judge: ({ twins, accounts }) =>
    checkEach(twins, ({ live, accounts: others }) => {
      const difference = firstDifference(others.map(durableOf), accounts.map(durableOf));
      const which = live === "off" ? "without live parts" : "if live parts cannot be written";
      return difference === null ? FINE : wrong(`What is stored is not what it is ${which}: ${difference}`);
    }),
};

/** What is stored of a run, without what differs between any two runs of a schedule: owners, and digests of them. */
function durableOf({ run, turns, calls, usage, messages, events }: RunAccount): unknown {
  return {
    run: { status: run.status, output: run.output, error: run.error?.code ?? null },
    events: events.map(({ seq, type, data }) => {
      const { owner: _, rows: __, marks: ___, ...facts } = objectOf(data);
      return { seq, type, facts };
    }),
    turns: turns.map(({ stepPath, turnIndex, response, committed }) => ({
      stepPath,
      turnIndex,
      response,
      committed,
    })),
    calls: calls.map(({ toolCallId, status, receipt }) => ({
      toolCallId,
      status,
      output: receipt?.output ?? null,
    })),
    usage,
    messages: messages.map(({ id, status, takenBy }) => ({ id, status, takenBy })),
  };
}
