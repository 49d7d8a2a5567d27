import { ConfigurationError } from "../../core/errors.ts";
import { assertOptions, kindOf, type OptionNames } from "../../core/naming/option-names.ts";
import type { ScheduleSpec } from "../../core/schedule/schedule-spec.ts";
import type { ClaimLimits, Store } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import { assertRetention, type Retention } from "../definition/config.ts";
import type { StepNode } from "../definition/step.ts";
import { assertDivergencePolicies, type DivergencePolicy } from "../definition/waiting/divergence-policy.ts";
import type { WorkerNotice } from "../ports/worker-notices.ts";
import { RUNNER_NAMES } from "../runner/runner-option-names.ts";
import { assertNoStore, assertStore, type RunnerOptions } from "../runner/runner-options.ts";

export type { WorkerNotice } from "../ports/worker-notices.ts";

/** The most runs at a time, over all workers that have the same limits. */
export type WorkerLimits = {
  /** Of all runs in the store. */
  readonly total?: number;
  /** Of runs with the same queue and `concurrencyKey`, where the queue sets no limit of its own. */
  readonly perKey?: number;
  /** By queue. */
  readonly queues?: { readonly [queue: string]: QueueLimits };
};

/** The limits of one queue. */
export type QueueLimits = { readonly total?: number; readonly perKey?: number };

/** Options of a `Worker`. Those of a `Runner` apply to all of its runs. */
export type WorkerOptions = Omit<
  RunnerOptions,
  "store" | "identity" | "startedBy" | "otherPipelines" | "onDivergence"
> & {
  readonly store: Store;
  /** What it can execute. A run is found by its pipeline's own name. */
  readonly pipelines: { readonly [name: string]: Agent | StepNode };
  /** The most runs at a time in this worker; 8 by default. */
  readonly concurrency?: number;
  /** The queues that it takes runs from; `["default"]` by default. */
  readonly queues?: readonly string[];
  readonly limits?: WorkerLimits;
  /**
   * Pipelines that are started at planned times: all schedules of the store, by name, each with the key or name of one of
   * the pipelines. A stored one that is missing here is removed, if `scheduleRevision` is higher than its own. By default,
   * the stored ones stay as they are. Any worker fires them, one without schedules too.
   */
  readonly schedules?: { readonly [name: string]: ScheduleSpec };
  /**
   * A whole number that grows with each version of `schedules`: only a higher one changes what is stored, so that old
   * workers do not undo what new ones have changed. 0 by default: new schedules are added, and nothing else changes.
   */
  readonly scheduleRevision?: number;
  /** The version of its code, stored with the runs that it takes. */
  readonly version?: string;
  /**
   * What becomes of a run whose prompt, model or tools have changed since its step began, after a deploy; `wait` by default.
   * One policy for all, or one for each pipeline by its key in `pipelines`.
   */
  readonly onDivergence?: DivergencePolicy | { readonly [pipeline: string]: DivergencePolicy };
  /**
   * How long a run that a worker of another `version` has worked on is left to workers of that version, in milliseconds; 0 by
   * default. For rolling deploys: old workers finish what they have begun while they are there.
   */
  readonly versionGraceMs?: number;
  /** After this many workers died in a run, one after the other and without a commit, it waits for a person; 5 by default. */
  readonly maxStalls?: number;
  /** Which runs it deletes once they have ended, some at a time; none by default. */
  readonly retention?: Retention;
  /** Called with what concerns the worker itself. Its errors are ignored. */
  readonly onNotice?: (notice: WorkerNotice) => void;
  /** How often it looks for runs that nobody told it about, in milliseconds; 1,000 by default. */
  readonly sweepMs?: number;
};

const {
  store: _,
  identity: __,
  startedBy: ___,
  otherPipelines: ____,
  onDivergence: _____,
  ...OF_RUNNERS
} = RUNNER_NAMES;

export const RUNNER_OPTIONS_OF_WORKERS = OF_RUNNERS;

const WORKER_NAMES = {
  ...OF_RUNNERS,
  store: true,
  pipelines: true,
  concurrency: true,
  queues: true,
  limits: true,
  schedules: true,
  scheduleRevision: true,
  version: true,
  maxStalls: true,
  onDivergence: true,
  versionGraceMs: true,
  retention: true,
  onNotice: true,
  sweepMs: true,
} satisfies OptionNames<WorkerOptions>;

const OTHER_NAMES = {
  agents: "pipelines",
  agent: "pipelines",
  queue: "queues",
  maxConcurrency: "concurrency",
  db: "store",
  pollMs: "sweepMs",
  cron: "schedules",
  crons: "schedules",
  revision: "scheduleRevision",
};

export function assertWorkerOptions(options: WorkerOptions): void {
  assertNoStore("The argument of Worker", options);
  assertOptions("The argument of Worker", options, WORKER_NAMES, OTHER_NAMES);
  const { store, pipelines, queues, limits = {} } = options;
  if ((store as unknown) === undefined)
    throw new ConfigurationError("The worker has no store: give it an open one, await openStore(…).");
  assertStore(store);
  const given: unknown = pipelines;
  if (typeof given !== "object" || given === null || Object.keys(given).length === 0)
    throw new ConfigurationError(
      "The worker has no pipelines: give it at least one, new Worker({ store, pipelines: { report } }).",
    );
  if (queues !== undefined && (!Array.isArray(queues) || queues.length === 0 || !queues.every(isName)))
    throw new ConfigurationError(
      `The worker's queues are ${JSON.stringify(queues)}: give a list of names, ["default"].`,
    );
  for (const [name, value] of Object.entries({
    concurrency: options.concurrency,
    maxStalls: options.maxStalls,
    sweepMs: options.sweepMs,
    "limits.total": limits.total,
    "limits.perKey": limits.perKey,
  }))
    assertCount(name, value);
  if (typeof options.onDivergence === "object") {
    assertOptions("onDivergence", options.onDivergence, pipelines);
  }
  assertDivergencePolicies(options.onDivergence);
  if (options.retention !== undefined) assertRetention(options.retention);
  assertRevision(options.scheduleRevision);
  assertOptions(
    "The worker's limits",
    limits,
    { total: true, perKey: true, queues: true },
    { queue: "queues" },
  );
  for (const [queue, each] of Object.entries(limits.queues ?? {})) {
    assertOptions(`The limits of queue ${queue}`, each, { total: true, perKey: true });
    assertCount(`limits.queues.${queue}.total`, each.total);
    assertCount(`limits.queues.${queue}.perKey`, each.perKey);
  }
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

function assertCount(name: string, value: unknown): void {
  if (value === undefined || (Number.isSafeInteger(value) && Number(value) >= 1)) return;
  throw new ConfigurationError(
    `The worker's ${name} is ${typeof value === "number" ? value : kindOf(value)}: give a whole number of at least 1.`,
  );
}

/** The policy for a pipeline, by its key. */
export function divergencePolicyOf({ onDivergence }: WorkerOptions, key: string): DivergencePolicy {
  if (typeof onDivergence !== "object") return onDivergence ?? "wait";
  return (Object.hasOwn(onDivergence, key) ? onDivergence[key] : undefined) ?? "wait";
}

function assertRevision(value: unknown): void {
  if (value === undefined || (Number.isSafeInteger(value) && Number(value) >= 0)) return;
  throw new ConfigurationError(
    `The worker's scheduleRevision is ${typeof value === "number" ? value : kindOf(value)}: give a whole number that grows with each version of its schedules.`,
  );
}

/** The limits under which a run of this queue is claimed. */
export function claimLimits(limits: WorkerLimits, queue: string): ClaimLimits {
  const own = limits.queues?.[queue] ?? {};
  const key = own.perKey ?? limits.perKey;
  return {
    ...(limits.total === undefined ? {} : { total: limits.total }),
    ...(own.total === undefined ? {} : { queue: own.total }),
    ...(key === undefined ? {} : { key }),
  };
}
