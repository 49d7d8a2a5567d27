import type { Json, JsonObject } from "../core/json.ts";

/** What a worker was asked to do, kept until it is done. */
export type WorkerRequest = {
  readonly runId: string;
  readonly request: Json;
  /** Milliseconds since 1970, as `deadline`, which is absolute: it holds across every restart. */
  readonly createdAt: number;
  readonly deadline: number | null;
};

/** A session snapshot with the place it was taken at; `cursor` is what the run's checkpoint says. */
export type WorkerCheckpoint = { readonly snapshot: JsonObject; readonly cursor: JsonObject };

/**
 * What one worker keeps of its work: the request, the latest checkpoint, and whether it is done. Each write is whole or
 * did not happen, and holds once it has resolved. Whatever writes needs the worker (`acquire`); reading does not, but a
 * file that has to be set aside is a write.
 */
export interface CheckpointStore {
  /** The identity: two stores of the same worker exclude each other. */
  readonly worker: string;

  /**
   * Takes the worker for this process. `WorkerBusyError` while another living process (or another object of this one)
   * has it. Resolves to the function that gives it back, once what is under way has ended. Until then `warn` is called for
   * each file that is set aside, in one sentence.
   */
  acquire(warn?: (message: string) => void): Promise<() => Promise<void>>;

  loadRequest(): Promise<WorkerRequest | null>;

  loadCheckpoint(): Promise<WorkerCheckpoint | null>;

  isCompleted(): Promise<boolean>;

  /** There is a checkpoint and no completed marker. */
  hasIncomplete(): Promise<boolean>;

  /**
   * Fresh: forgets what was, then keeps the request. Whatever moment it dies at, a completed worker is either still
   * completed or the new one without a checkpoint; one that was not completed is the old one or the new one, and never
   * the new one with the old one's checkpoint.
   */
  begin(request: WorkerRequest): Promise<void>;

  persistCheckpoint(checkpoint: WorkerCheckpoint): Promise<void>;

  /** What was asked in this run is done, or given up. Another request that the worker has by now stays as it is. */
  markCompleted(runId: string): Promise<void>;

  /** Puts a checkpoint that cannot be used out of the way, and keeps it. Resolves to where it is now, or null where there was none. */
  setCheckpointAside(): Promise<string | null>;
}
