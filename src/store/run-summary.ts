import type { Budgets } from "../core/job/budgets.ts";
import type { StepPath } from "../core/step-path.ts";
import type { Limit } from "../core/usage/quota.ts";
import type { Amount } from "../core/usage/usage.ts";
import type { PersonWaitKind } from "../core/wait.ts";
import type { RunMetadata } from "./queue-records.ts";
import type { RunStatus } from "./run-move.ts";

/** Where a list of runs continues: behind this run. Any record or summary of a run is one. */
export type RunCursor = { readonly createdAt: number; readonly runId: string };

/** The status for people: a running run whose lease has expired, by the store's clock, is interrupted. */
export type ShownStatus = RunStatus | "interrupted";

/** The runs that a reader may see; null or left out for all. */
export type RunScope = {
  /** The run is of one of these. */
  readonly pipelines?: readonly string[] | null;
  /** The metadata of the run has every one of these. */
  readonly labels?: { readonly [name: string]: string } | null;
};

/** Which runs `listRuns` and `listRunSummaries` return, newest first. All that is given must hold. */
export type RunFilter = {
  /** One of these. */
  readonly status?: ShownStatus | readonly ShownStatus[];
  readonly pipeline?: string;
  /** One of these. */
  readonly pipelines?: readonly string[];
  readonly queue?: string;
  /** Every one of these must be in the metadata of the run. */
  readonly metadata?: { readonly [name: string]: string };
  /** Created then or later, and before then; in milliseconds since 1970. */
  readonly createdSince?: number;
  readonly createdBefore?: number;
  /** The beginning of the run's id. */
  readonly idPrefix?: string;
  /**
   * A part of its objective, its id, or the code or message of its error, in upper or lower case. Looked for in the newest
   * 10,000 runs that the rest of the filter allows.
   */
  readonly text?: string;
  /** Only those that a person has to look at: they ask people, are interrupted, or have a call in doubt. */
  readonly needsPerson?: true;
  /**
   * Only those with a call of this tool that failed, `*` for a call of any tool: its receipt has the status `failed`. An
   * attempt that was repeated counts for nothing, and neither does a call that was refused or is in doubt.
   */
  readonly toolError?: string;
  /** Only those behind this one. Runs that are created meanwhile are before it, so that pages are stable. */
  readonly after?: RunCursor;
  /** At most this many; 1,000 by default, and no more than that. */
  readonly limit?: number;
};

/** A run in a list: what is small of it. */
export type RunSummary = RunCursor & {
  readonly pipeline: string;
  readonly status: RunStatus;
  readonly queue: string;
  readonly updatedAt: number;
  /** The number of its last event: of two summaries of a run, the one with the higher number is the newer one. */
  readonly eventSeq: number;
  readonly currentStep: StepPath | null;
  readonly metadata: RunMetadata | null;
  /** The objective of its contract: of a longer one the first 300 characters and an ellipsis; null if it has none. */
  readonly objective: string | null;
  /** When a queued run became ready, or will; null of a fork that was not started. */
  readonly readyAt: number | null;
  /** When the clock has something to do about it; null if never. */
  readonly wakeAt: number | null;
  readonly stalls: number;
  readonly owner: string | null;
  /** How often it was claimed. */
  readonly epoch: number;
  readonly leaseUntil: number;
  readonly limit: Limit;
  readonly budgets: Budgets | null;
  readonly charged: Amount;
  readonly reserved: Amount;
  /** How many tool calls are in its ledger. */
  readonly toolCalls: number;
  /** How many of them failed: their receipts have the status `failed`. */
  readonly failedCalls: number;
  /** How many of them are in doubt, and not decided by a person. */
  readonly callsInDoubt: number;
  /** How many of its open waits ask people, and the first of them. */
  readonly openWaits: number;
  readonly firstWait: FirstWait | null;
  /** The code of the error of a run that failed, and the first 300 characters of its message. */
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  /** The name of the person who started it. */
  readonly startedBy: string | null;
  /** The id of the run that it is a fork of. */
  readonly forkedFrom: string | null;
};

/** The first question of a run to people, with the first 200 characters of it. */
export type FirstWait = {
  readonly waitId: string;
  readonly kind: PersonWaitKind;
  readonly question: string;
};

/** How many runs there are, by their status. */
export type RunCounts = {
  readonly counts: { readonly [S in ShownStatus]: number };
  readonly total: number;
  /** Those that a person has to look at. */
  readonly needsPerson: number;
  /** True if a number stands for more: of the runs of a filter no more than 10,000 of a status are counted. */
  readonly isCapped: boolean;
};

/** Where the feed of changes continues. Opaque, and a plain text: it may be sent to others and stored. */
export type RunChangeCursor = string;

/** Which changes to read. */
export type RunChangeQuery = {
  /** The cursor of the last answer; null for the first call, which only says where the feed begins. */
  readonly after: RunChangeCursor | null;
  /** The most runs that are worth an answer, up to 1,000: if more have changed, `isReset` is true. */
  readonly limit: number;
};

/** What has changed since a cursor. */
export type RunChanges = {
  /** The runs that have changed, each once and as it is now, in the order of their last changes. */
  readonly runs: readonly RunSummary[];
  /** Where to continue. */
  readonly cursor: RunChangeCursor;
  /** True if not all changes since the cursor are known: read again what you show, after this call. */
  readonly isReset: boolean;
};

/** Failed runs of one pipeline that failed at the same step with the same code. */
export type ErrorGroup = {
  readonly pipeline: string;
  readonly code: string | null;
  /** The step that they failed at; null if it was none. */
  readonly step: StepPath | null;
  readonly runs: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The run that failed last, and the first 300 characters of its error's message. */
  readonly newestRunId: string;
  readonly newestMessage: string | null;
  /** How many of them failed when: the parts of the time in which some did, oldest first. */
  readonly buckets: readonly ErrorBucket[];
};

/** How many runs failed from `at` on, for the length of a bucket. */
export type ErrorBucket = { readonly at: number; readonly runs: number };

/** Which failed runs to group by their errors. */
export type ErrorQuery = RunScope & {
  /** Failed then or later, in milliseconds since 1970. */
  readonly since: number;
  /** How long a bucket is. The first one begins at `since`. */
  readonly bucketMs: number;
  readonly limit: number;
};

/** A tool with calls that failed, and how many runs have one of them. */
export type ToolErrors = { readonly tool: string; readonly runs: number };
