import { RunDeletedError, RunNotFoundError } from "../errors.ts";

/** What is left of a deleted run, for a sentence about it. */
export type DeletedRun = {
  readonly runId: string;
  readonly deletedAt: number;
  readonly deletedBy: string;
  readonly why: string;
};

/** The error for a run that is not there: it was deleted, or (null) it never was. */
export function missingRunError(runId: string, stone: DeletedRun | null): RunDeletedError | RunNotFoundError {
  if (stone !== null) return runDeleted(stone);
  return new RunNotFoundError(
    `There is no run ${runId} in this store: check the id and the store's address.`,
    { runId },
  );
}

export function runDeleted({ runId, deletedAt, deletedBy, why }: DeletedRun): RunDeletedError {
  const at = new Date(deletedAt).toISOString();
  return new RunDeletedError(
    `Run ${runId} was deleted at ${at} by ${deletedBy} (${why}): its id is not used again; give another one.`,
    { runId },
  );
}
