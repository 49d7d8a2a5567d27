import { RunNotFoundError } from "../../core/errors.ts";
import type { CheckpointStore, WorkerCheckpoint, WorkerRequest } from "../checkpoint-store.ts";
import type { CheckpointSnapshot, Store, WorkRecord } from "../store.ts";

/**
 * A worker kept in the store itself, beside its runs. Its checkpoints are those of its run, committed with their turns, so
 * nothing is written for them here; and the run's lease keeps a second process out.
 *
 * @example
 * const checkpoints = new DatabaseCheckpointStore(await openStore(), "worker-001");
 */
export class DatabaseCheckpointStore implements CheckpointStore {
  readonly worker: string;
  readonly #store: Store;

  constructor(store: Store, worker: string) {
    this.#store = store;
    this.worker = worker;
  }

  acquire(): Promise<() => Promise<void>> {
    return Promise.resolve(() => Promise.resolve());
  }

  async loadRequest(): Promise<WorkerRequest | null> {
    const work = await this.#store.findWork(this.worker);
    if (work === null) return null;
    const { completedAt: _, ...request } = work;
    return request;
  }

  async loadCheckpoint(): Promise<WorkerCheckpoint | null> {
    const work = await this.#store.findWork(this.worker);
    const last = work === null ? null : await this.#lastCheckpoint(work);
    if (last === null) return null;
    const { snapshot, cursor, checkpoint } = last;
    return { snapshot, cursor: { ...cursor, checkpoint } };
  }

  async #lastCheckpoint({ runId }: WorkRecord): Promise<CheckpointSnapshot | null> {
    try {
      return await this.#store.readCheckpoint(runId);
    } catch (error) {
      // The worker died after its request was stored and before its run was created.
      if (RunNotFoundError.isInstance(error)) return null;
      throw error;
    }
  }

  async isCompleted(): Promise<boolean> {
    const work = await this.#store.findWork(this.worker);
    return work !== null && work.completedAt !== null;
  }

  async hasIncomplete(): Promise<boolean> {
    return !(await this.isCompleted()) && (await this.loadCheckpoint()) !== null;
  }

  async begin(request: WorkerRequest): Promise<void> {
    await this.#store.beginWork(this.worker, request);
  }

  /** It was committed with its turn. */
  persistCheckpoint(): Promise<void> {
    return Promise.resolve();
  }

  markCompleted(runId: string): Promise<void> {
    return this.#store.completeWork(this.worker, runId);
  }

  /** Starting again from the beginning supersedes it: it is kept, but is no longer the latest one. */
  setCheckpointAside(): Promise<null> {
    return Promise.resolve(null);
  }
}
