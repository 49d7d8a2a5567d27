import { isDeepStrictEqual } from "node:util";
import type { TurnRecord } from "../../../store/store.ts";
import type { RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { firstDifference } from "./first-difference.ts";
import {
  allObservations,
  earlierAndLater,
  type Observation,
  type ObservationPair,
  objectOf,
  turnName,
} from "./observations.ts";

export const committedTurnsKept: Invariant = {
  name: "committed-turns-kept",
  promise: "A committed turn is never lost, and never changed.",
  judge: (evidence) => {
    const pairs = earlierAndLater(evidence).flatMap((pair) =>
      pair.account.turns.filter(({ committed }) => committed).map((turn) => ({ pair, turn })),
    );
    return checkEach(pairs, ({ pair, turn }) => judgeKept(pair, turn));
  },
};

function judgeKept(
  { account, when, later, laterWhen }: ObservationPair,
  turn: TurnRecord,
): readonly Problem[] {
  const { stepPath, turnIndex } = turn;
  const name = turnName(account.run.runId, stepPath, turnIndex);
  const found = later?.turns.find(
    (other) => other.stepPath === stepPath && other.turnIndex === turnIndex && other.committed,
  );
  if (found === undefined) return wrong(`${name} was committed ${when}, but is not ${laterWhen}`);
  const difference = firstDifference(contentOf(turn), contentOf(found));
  if (difference === null) return FINE;
  return wrong(`${name} was committed ${when}, but has changed ${laterWhen}: ${difference}`);
}

function contentOf({ response, tokens, followUp, calls }: TurnRecord) {
  const kept = calls.map(({ toolCallId, tool, idempotencyKey, receipt }) => ({
    toolCallId,
    tool,
    idempotencyKey,
    receipt,
  }));
  return { response, tokens, followUp, calls: kept };
}

export const turnsWithoutAHole: Invariant = {
  name: "turns-without-a-hole",
  promise: "The turns of a step are numbered from 1 without a gap, and each is committed once.",
  judge: (evidence) => {
    const steps = allObservations(evidence).flatMap((observation) => {
      const paths = new Set(observation.account.turns.map(({ stepPath }) => stepPath));
      return [...paths].map((path) => ({ observation, path }));
    });
    return checkEach(steps, ({ observation, path }) => judgeNumbers(observation, path));
  },
};

function judgeNumbers({ account, when }: Observation, path: string): readonly Problem[] {
  const { runId } = account.run;
  const turns = account.turns.filter(({ stepPath }) => stepPath === path);
  const committed = turns.filter((turn) => turn.committed).map(({ turnIndex }) => turnIndex);
  const abandoned = abandonedTurns(account, path, Math.max(0, ...turns.map(({ turnIndex }) => turnIndex)));
  const past = [...committed, ...abandoned].sort((a, b) => a - b);
  const whole = past.map((_, i) => i + 1);
  if (!isDeepStrictEqual(past, whole))
    return wrong(
      `The turns of ${path} in ${runId} ${when} are ${past.join(", ")}: they should be 1 to ${past.length}`,
    );
  const open = turns.filter(({ turnIndex }) => turnIndex > past.length).map(({ turnIndex }) => turnIndex);
  if (open.length > 1 || open.some((turnIndex) => turnIndex !== past.length + 1))
    return wrong(
      `The turns of ${path} in ${runId} ${when} are committed up to ${past.length}, but there is a response for ${open.join(", ")}`,
    );
  return judgeCommits(account, path, committed, when);
}

/** Turns that were open when a new lineage began: they stay open, and only their numbers count. */
function abandonedTurns({ lineages }: RunAccount, path: string, last: number): readonly number[] {
  return lineages.flatMap(({ stepPath, openTurn }) =>
    stepPath === path && openTurn !== null && openTurn <= last ? [openTurn] : [],
  );
}

/** The event log records one commit for each turn. Turns that a fork copied were committed in its parent. */
function judgeCommits(
  { run, events }: RunAccount,
  path: string,
  committed: readonly number[],
  when: string,
): readonly Problem[] {
  const logged = events
    .filter(({ type, data }) => type === "turn.committed" && objectOf(data).step === path)
    .map(({ data }) => Number(objectOf(data).turn));
  const copied = run.forkedFrom?.stepPath === path ? run.forkedFrom.turnIndex : null;
  const isOfFork = run.forkedFrom !== null && copied === null && logged.length === 0;
  const own = isOfFork ? [] : committed.filter((turnIndex) => turnIndex > (copied ?? 0));
  if (isDeepStrictEqual(logged, own)) return FINE;
  return wrong(
    `The event log of ${run.runId} ${when} records commits of turns ${logged.join(", ") || "none"} of ${path}, but committed are ${own.join(", ") || "none"}`,
  );
}

export const journaledResponsesKept: Invariant = {
  name: "journaled-responses-kept",
  promise:
    "A journaled response is used, and the model is not asked for that turn again, unless a person drops it.",
  judge: (evidence) => {
    // Only a scenario's own `act` can drop a turn.
    const mayDrop = evidence.scenario.act !== undefined;
    const turns = earlierAndLater(evidence).flatMap((pair) =>
      pair.account.turns.map((turn) => ({ pair, turn })),
    );
    return checkEach(
      turns,
      ({ pair: { account, when, later, laterWhen }, turn: { stepPath, turnIndex, response } }) => {
        const isDropped = later?.events.some(({ type }) => type === "turn.dropped") === true;
        const found = later?.turns.find(
          (other) => other.stepPath === stepPath && other.turnIndex === turnIndex,
        );
        const isKept = found !== undefined && isDeepStrictEqual(found.response, response);
        if (isDropped ? mayDrop : isKept) return FINE;
        const name = turnName(account.run.runId, stepPath, turnIndex);
        return wrong(
          `${name} had its response ${when}, but ${laterWhen} it was discarded and the model was asked again`,
        );
      },
    );
  },
};
