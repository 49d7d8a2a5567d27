import type { Json, JsonObject } from "../core/json.ts";

/** A worker's request, stored until it is done. */
export type WorkerRequest = {
  readonly runId: string;
  readonly request: Json;
  /** Milliseconds since 1970, like `deadline`. Both are absolute, so they hold across restarts. */
  readonly createdAt: number;
  readonly deadline: number | null;
};

/** A session snapshot with the position it was taken at; `cursor` is the cursor of the run's checkpoint. */
export type WorkerCheckpoint = { readonly snapshot: JsonObject; readonly cursor: JsonObject };

/**
 * The stored work of one worker: its request, the latest checkpoint, and whether it is completed. Each write
 * is atomic, and durable once it has resolved. Writing requires `acquire`; reading does not, but setting a
 * corrupt file aside is a write.
 */
export interface CheckpointStore {
  /** The worker's identity: two stores of the same worker exclude each other. */
  readonly worker: string;

  /**
   * Takes the worker for this process. `WorkerBusyError` while another living process (or another object of
   * this one) has it. Resolves to a function that releases it once writes in progress have ended. Until then
   * `warn` is called, with one sentence, for each file that is set aside.
   */
  acquire(warn?: (message: string) => void): Promise<() => Promise<void>>;

  loadRequest(): Promise<WorkerRequest | null>;

  loadCheckpoint(): Promise<WorkerCheckpoint | null>;

  isCompleted(): Promise<boolean>;

  /** True if there is a checkpoint and no completed marker. */
  hasIncomplete(): Promise<boolean>;

  /**
   * Starts fresh: discards the earlier state, then stores the request. A crash at any moment leaves a
   * completed worker either still completed or with the new request and no checkpoint; a worker that was not
   * completed has the old state or the new one, never the new request with the old checkpoint.
   */
  begin(request: WorkerRequest): Promise<void>;

  persistCheckpoint(checkpoint: WorkerCheckpoint): Promise<void>;

  /** The request of this run is done, or given up. A newer request of the worker stays as it is. */
  markCompleted(runId: string): Promise<void>;

  /**
   * Moves an unusable checkpoint out of the way, and keeps it. Resolves to its new location, or null if there
   * was none.
   */
  setCheckpointAside(): Promise<string | null>;
}
