import { isDeepStrictEqual } from "node:util";
import type { TurnRecord } from "../../../store/store.ts";
import type { RunAccount } from "../evidence.ts";
import { FINE, type Invariant, lookAt, type Problem, wrong } from "../invariant.ts";
import { firstDifference } from "./first-difference.ts";
import { earlierAndLater, everySight, objectOf, type Pair, type Sight, turnName } from "./places.ts";

export const committedTurnsKept: Invariant = {
  name: "committed-turns-kept",
  promise: "A committed turn is never lost, and never changed.",
  judge: (evidence) => {
    const pairs = earlierAndLater(evidence).flatMap((pair) =>
      pair.account.turns.filter(({ committed }) => committed).map((turn) => ({ pair, turn })),
    );
    return lookAt(pairs, ({ pair, turn }) => judgeKept(pair, turn));
  },
};

function judgeKept({ account, when, later, laterWhen }: Pair, turn: TurnRecord): readonly Problem[] {
  const { stepPath, turnIndex } = turn;
  const name = turnName(account.run.runId, stepPath, turnIndex);
  const found = later?.turns.find(
    (other) => other.stepPath === stepPath && other.turnIndex === turnIndex && other.committed,
  );
  if (found === undefined) return wrong(`${name} was committed ${when} and is not ${laterWhen}`);
  const difference = firstDifference(essence(turn), essence(found));
  if (difference === null) return FINE;
  return wrong(`${name} was committed ${when} and is another ${laterWhen}: ${difference}`);
}

function essence({ response, tokens, followUp, calls }: TurnRecord) {
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
  promise: "The turns of a step are numbered from 1 without a hole, and each is committed once.",
  judge: (evidence) => {
    const steps = everySight(evidence).flatMap((sight) => {
      const paths = new Set(sight.account.turns.map(({ stepPath }) => stepPath));
      return [...paths].map((path) => ({ sight, path }));
    });
    return lookAt(steps, ({ sight, path }) => judgeNumbers(sight, path));
  },
};

function judgeNumbers({ account, when }: Sight, path: string): readonly Problem[] {
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
      `The turns of ${path} in ${runId} ${when} are committed up to ${past.length}, and there is a response for ${open.join(", ")}`,
    );
  return judgeCommits(account, path, committed, when);
}

/** Turns that were open when another line of history began stay where they are, and count as numbers only. */
function abandonedTurns({ lineages }: RunAccount, path: string, last: number): readonly number[] {
  return lineages.flatMap(({ stepPath, openTurn }) =>
    stepPath === path && openTurn !== null && openTurn <= last ? [openTurn] : [],
  );
}

/** The log tells of one commit for each. The turns that a fork began with were committed in another run. */
function judgeCommits(
  { run, events }: RunAccount,
  path: string,
  committed: readonly number[],
  when: string,
): readonly Problem[] {
  const told = events
    .filter(({ type, data }) => type === "turn.committed" && objectOf(data).step === path)
    .map(({ data }) => Number(objectOf(data).turn));
  const copied = run.forkedFrom?.stepPath === path ? run.forkedFrom.turnIndex : null;
  const isOfFork = run.forkedFrom !== null && copied === null && told.length === 0;
  const own = isOfFork ? [] : committed.filter((turnIndex) => turnIndex > (copied ?? 0));
  if (isDeepStrictEqual(told, own)) return FINE;
  return wrong(
    `The log of ${run.runId} ${when} tells of commits of turns ${told.join(", ") || "none"} of ${path}, and committed are ${own.join(", ") || "none"}`,
  );
}

export const journaledResponsesKept: Invariant = {
  name: "journaled-responses-kept",
  promise:
    "A response that was journaled is used, and its turn is not asked for again, unless a person drops it.",
  judge: (evidence) => {
    // Only what a scenario does by itself can be a person who drops one.
    const mayDrop = evidence.scenario.act !== undefined;
    const turns = earlierAndLater(evidence).flatMap((pair) =>
      pair.account.turns.map((turn) => ({ pair, turn })),
    );
    return lookAt(
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
          `${name} had its response ${when}, and ${laterWhen} that was given up, and the model asked again`,
        );
      },
    );
  },
};
