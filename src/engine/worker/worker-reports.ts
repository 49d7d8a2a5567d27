import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Store, WorkerCounts, WorkerFacts } from "../../store/store.ts";
import type { Clock } from "../ports/clock.ts";
import type { WorkerNotice } from "../ports/worker-notices.ts";

/** How often it looks whether there is something to report, so that many short runs make few reports. */
const EVERY_MS = 1_000;

/** How long a report is good for. */
const REPORT_MS = 5_000;

/** How long the end of a worker waits for a store that does not answer. */
const PATIENCE_MS = 2_000;

/** The last runs whose latency counts. */
const MOST_LATENCIES = 100;

type ReportedWorker = Pick<WorkerFacts, "version" | "pipelines" | "queues" | "concurrency">;

/** Reports what a worker does, for people to see. Nothing depends on it: a store that fails is tried again later. */
export class WorkerReports {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #subject: ReportedWorker;
  readonly #runIds: () => readonly string[];
  readonly #workerId = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;
  readonly #counts: { -readonly [Name in keyof WorkerCounts]: number } = {
    claimed: 0,
    succeeded: 0,
    failed: 0,
    waiting: 0,
    handedBack: 0,
    takeovers: 0,
  };
  readonly #latencies: number[] = [];
  #blockedAt: number | null = null;
  #hasChanged = false;
  #reportedAt = 0;
  #reporting: Promise<void> | null = null;
  #stopTimer: () => void = () => undefined;

  constructor(store: Store, clock: Clock, subject: ReportedWorker, runIds: () => readonly string[]) {
    this.#store = store;
    this.#clock = clock;
    this.#subject = subject;
    this.#runIds = runIds;
  }

  start(): void {
    this.#report();
    this.#stopTimer = this.#clock.every(EVERY_MS, () => {
      const isDue = this.#clock.monotonic() - this.#reportedAt >= REPORT_MS;
      if (isDue || this.#hasChanged) this.#report();
    });
  }

  /** Removes it from those that people see. */
  async end(): Promise<void> {
    this.#stopTimer();
    const given = new AbortController();
    const forgotten = (async () => {
      await this.#reporting;
      await this.#store.forgetWorker(this.#workerId);
    })().catch(() => undefined);
    const patience = this.#clock.sleep(PATIENCE_MS, given.signal).catch(() => undefined);
    await Promise.race([forgotten, patience]);
    given.abort();
  }

  readonly onNotice = (notice: WorkerNotice): void => {
    switch (notice.type) {
      case "claimed":
        this.#counts.claimed += 1;
        if (notice.afterMs === null) this.#counts.takeovers += 1;
        else this.#latencies.push(notice.afterMs);
        if (this.#latencies.length > MOST_LATENCIES) this.#latencies.shift();
        break;
      case "left":
        this.#countEnd(notice.status);
        break;
      case "blocked":
        this.#blockedAt = this.#clock.now();
        break;
      case "unknown_pipelines":
      case "stalled":
      case "unfit":
      case "store_failed":
      case "deleted":
      case "fired":
      case "schedule_changed":
      case "schedule_failed":
      case "schedule_ignored":
      case "signals_only":
      case "handing_back":
        return;
    }
    this.#hasChanged = true;
  };

  #countEnd(status: string | null): void {
    if (status === "queued") this.#counts.handedBack += 1;
    if (status === "succeeded" || status === "failed" || status === "waiting") this.#counts[status] += 1;
  }

  #report(): void {
    if (this.#reporting !== null) return;
    this.#hasChanged = false;
    this.#reportedAt = this.#clock.monotonic();
    const report = { workerId: this.#workerId, host: hostname(), facts: this.#facts() };
    this.#reporting = this.#store
      .reportWorker(report)
      .catch(() => undefined)
      .then(() => {
        this.#reporting = null;
      });
  }

  #facts(): WorkerFacts {
    return {
      ...this.#subject,
      pid: process.pid,
      runIds: this.#runIds(),
      counts: { ...this.#counts },
      claimLatency: latencyOf(this.#latencies),
      blockedAt: this.#blockedAt,
    };
  }
}

function latencyOf(latencies: readonly number[]): WorkerFacts["claimLatency"] {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return sorted.length === 0 ? null : { p50Ms: at(0.5), p95Ms: at(0.95) };
}
