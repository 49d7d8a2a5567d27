import type { DeletionAccount, Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { accountOf, isDeleted } from "./observations.ts";

export const deletedOrWhole: Invariant = {
  name: "deleted-or-whole",
  promise:
    "A run is there with everything, or it is deleted, its tombstone says so, and its id is not used again.",
  judge: (evidence) => {
    const { moments, accounts, again } = evidence;
    const stones = checkEach(evidence.deleted, (deleted) => judgeDeleted(deleted, evidence));
    const gone = [
      ...moments.flatMap((runs) => missingIn(accounts, runs)),
      ...missingIn(again.accounts, accounts),
    ].filter((runId) => !isDeleted(evidence, runId));
    const problems = [...new Set(gone)].flatMap((runId) => wrong(`${runId} is gone, and has no tombstone`));
    return { looked: stones.looked, problems: [...stones.problems, ...problems] };
  },
};

function missingIn(later: readonly RunAccount[], earlier: readonly RunAccount[]): readonly string[] {
  return earlier.flatMap(({ run: { runId } }) => (accountOf(later, runId) === null ? [runId] : []));
}

function judgeDeleted({ stone, refused }: DeletionAccount, evidence: Evidence): readonly Problem[] {
  const { runId, events, eventHash } = stone;
  if (refused !== "RunDeletedError")
    return wrong(`${runId} is deleted, but ${refused === null ? "verified" : `refused with ${refused}`}`);
  for (const accounts of [evidence.accounts, evidence.again.accounts])
    if (accountOf(accounts, runId) !== null) return wrong(`${runId} is deleted, but it is there`);
  const seen = evidence.moments.flatMap((runs) => accountOf(runs, runId)?.events ?? []);
  return seen.some(({ seq, hash }) => seq === events && hash !== eventHash)
    ? wrong(`The tombstone of ${runId} has another last event than the run had`)
    : FINE;
}
