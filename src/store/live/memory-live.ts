import type { LivePosition, LiveRow } from "../live-parts.ts";
import type { LiveBackend, LiveBatch, NewLiveRow } from "./live-backend.ts";

type KeptRow = { readonly at: number; readonly row: LiveRow };

/** Live rows of a store in memory: they are seen in this process alone. */
export class MemoryLive implements LiveBackend {
  readonly #runs = new Map<string, KeptRow[]>();
  readonly #watchedUntil = new Map<string, number>();
  #last = 0;
  #version = 0;

  write({ rows, sweepOlderThanMs }: LiveBatch): Promise<"written"> {
    const at = performance.now();
    for (const row of rows) {
      this.#last += 1;
      const kept = this.#kept(row);
      kept.push({ at, row: { ...row, no: this.#last } });
      this.#runs.set(row.runId, kept);
    }
    if (sweepOlderThanMs !== null)
      for (const [runId, kept] of this.#runs)
        if (kept.every((each) => each.at < at - sweepOlderThanMs)) this.#runs.delete(runId);
    if (sweepOlderThanMs !== null)
      for (const [runId, until] of this.#watchedUntil) if (until < at) this.#watchedUntil.delete(runId);
    this.#version += 1;
    return Promise.resolve("written");
  }

  read(runs: readonly LivePosition[]): Promise<readonly LiveRow[]> {
    const found = runs.flatMap(({ runId, after }) =>
      (this.#runs.get(runId) ?? []).map(({ row }) => row).filter(({ no }) => no > after),
    );
    return Promise.resolve(found);
  }

  version(): number {
    return this.#version;
  }

  announce(runId: string, forMs: number): Promise<void> {
    this.#watchedUntil.set(runId, performance.now() + forMs);
    return Promise.resolve();
  }

  isWatched(runId: string): Promise<boolean> {
    return Promise.resolve((this.#watchedUntil.get(runId) ?? 0) > performance.now());
  }

  forget(runId: string): Promise<void> {
    this.#watchedUntil.delete(runId);
    this.#runs.delete(runId);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#runs.clear();
    return Promise.resolve();
  }

  /** The run's rows that stay beside a new one. */
  #kept({ runId, index, epoch }: NewLiveRow): KeptRow[] {
    const known = this.#runs.get(runId) ?? [];
    return index === 0 ? known.filter(({ row }) => row.epoch > epoch) : known;
  }
}
