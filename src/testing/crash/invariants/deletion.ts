import type { DeletedRun, Evidence } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { accountOf, allObservations, isDeleted } from "./observations.ts";

export const deletedOrWhole: Invariant = {
  name: "deleted-or-whole",
  promise: "A run is there with everything, or it is deleted and its tombstone says so.",
  judge: (evidence) => {
    const stones = checkEach(evidence.deleted, (deleted) => judgeDeleted(deleted, evidence));
    const ids = new Set(allObservations(evidence).map(({ account }) => account.run.runId));
    const runs = checkEach(ids, (runId) =>
      accountOf(evidence.again.accounts, runId) !== null || isDeleted(evidence, runId)
        ? FINE
        : wrong(`${runId} is gone, and has no tombstone`),
    );
    return { looked: stones.looked, problems: [...stones.problems, ...runs.problems] };
  },
};

function judgeDeleted({ stone, refused }: DeletedRun, evidence: Evidence): readonly Problem[] {
  const { runId, events, eventHash } = stone;
  if (refused !== "RunDeletedError")
    return wrong(`${runId} is deleted, but it is verified with ${refused ?? "no error"}`);
  for (const accounts of [evidence.accounts, evidence.again.accounts])
    if (accountOf(accounts, runId) !== null) return wrong(`${runId} is deleted, but it is there`);
  const last = evidence.moments.flatMap((runs) => accountOf(runs, runId)?.events ?? []).at(-1);
  if (last === undefined || last.seq < events || last.hash === eventHash) return FINE;
  return wrong(`The tombstone of ${runId} has ${events} events, and the run had ${last.seq}`);
}
