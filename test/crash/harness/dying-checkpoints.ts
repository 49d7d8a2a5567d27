import type { CheckpointStore } from "../../../src/index.ts";

/** Where a worker dies: right before or right after one of its checkpoint writes. */
export type CheckpointDeath = {
  readonly operation: "begin" | "persistCheckpoint" | "markCompleted";
  readonly when: "before" | "after";
  /** The n-th time, from 1. */
  readonly occurrence?: number;
};

/** The same checkpoint store, but the process dies by SIGKILL before or after one of its writes. */
export function dyingCheckpoints(
  checkpoints: CheckpointStore,
  { operation, when, occurrence = 1 }: CheckpointDeath,
): CheckpointStore {
  let left = occurrence;
  const around = async (name: CheckpointDeath["operation"], write: () => Promise<void>): Promise<void> => {
    const isFatal = name === operation && --left === 0;
    if (isFatal && when === "before") die();
    await write();
    if (isFatal) die();
  };
  return {
    worker: checkpoints.worker,
    acquire: (warn) => checkpoints.acquire(warn),
    loadRequest: () => checkpoints.loadRequest(),
    loadCheckpoint: () => checkpoints.loadCheckpoint(),
    isCompleted: () => checkpoints.isCompleted(),
    hasIncomplete: () => checkpoints.hasIncomplete(),
    setCheckpointAside: () => checkpoints.setCheckpointAside(),
    begin: (request) => around("begin", () => checkpoints.begin(request)),
    persistCheckpoint: (checkpoint) =>
      around("persistCheckpoint", () => checkpoints.persistCheckpoint(checkpoint)),
    markCompleted: (runId) => around("markCompleted", () => checkpoints.markCompleted(runId)),
  };
}

/** The signal is delivered asynchronously to other threads; this thread must not continue. */
function die(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;);
}
