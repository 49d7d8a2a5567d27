// What is known of workers and queues, for people to see. Nothing is decided by it.

import type { WaitKind } from "../core/wait.ts";
import type { QueueDepth } from "./queue-records.ts";
import type { RunScope } from "./run-summary.ts";

/** What a worker has done with its runs since it began. */
export type WorkerCounts = {
  readonly claimed: number;
  readonly succeeded: number;
  readonly failed: number;
  /** It left them waiting for a person, a time or a message. */
  readonly waiting: number;
  /** It gave them back for others. */
  readonly handedBack: number;
  /** Those that it claimed from a worker that had died or stopped. */
  readonly takeovers: number;
};

/** What a worker reports about itself. */
export type WorkerFacts = {
  readonly pid: number;
  /** The version of its code; null if it was given none. */
  readonly version: string | null;
  readonly pipelines: readonly string[];
  readonly queues: readonly string[];
  readonly concurrency: number;
  /** The runs that it works on. */
  readonly runIds: readonly string[];
  readonly counts: WorkerCounts;
  /** How long its last runs were ready before it claimed them; null if it has claimed none. */
  readonly claimLatency: { readonly p50Ms: number; readonly p95Ms: number } | null;
  /** When its event loop was last found to be blocked, in milliseconds since 1970; null if never. */
  readonly blockedAt: number | null;
};

/** A report of a worker. */
export type WorkerReport = {
  readonly workerId: string;
  readonly host: string;
  readonly facts: WorkerFacts;
};

/** A worker that has reported, and has not ended in good order. */
export type LiveWorker = WorkerReport & {
  /** When it reported first. */
  readonly startedAt: number;
  /** How long ago it reported last. */
  readonly seenMs: number;
};

/** The runs of a queue for which the clock has something to do. */
export type SleepingCount = {
  readonly queue: string;
  readonly sleeping: number;
  /** How long it is until the first of them is due; negative if it should have been woken. */
  readonly nextInMs: number;
};

/** A run that a worker holds, or has left without releasing it. */
export type HeldRun = {
  readonly runId: string;
  readonly pipeline: string;
  readonly queue: string;
  /** Null for one that was given up in good order, and waits for the next worker. */
  readonly owner: string | null;
  /** Since it was claimed. */
  readonly heldMs: number;
  /** Since its worker was last heard of. */
  readonly silentMs: number;
  readonly leaseMs: number;
};

/** A wait that a person can answer. */
export type WaitHead = {
  readonly waitId: string;
  readonly runId: string;
  readonly kind: WaitKind;
  readonly openMs: number;
};

/** How much of the activity to read, and of which runs. */
export type ActivityQuery = RunScope & { readonly limit: number };

/** The activity of a store: counts, and the first few of what they count. */
export type QueueActivity = {
  readonly ready: readonly QueueDepth[];
  readonly sleeping: readonly SleepingCount[];
  /** By queue. */
  readonly running: readonly { readonly queue: string; readonly running: number }[];
  /** The runs that workers hold, the one that was not heard of for the longest time first. */
  readonly held: readonly HeldRun[];
  /** The open waits by kind. */
  readonly waits: readonly { readonly kind: WaitKind; readonly open: number; readonly oldestMs: number }[];
  /** Those that ask people, oldest first. */
  readonly firstWaits: readonly WaitHead[];
};
