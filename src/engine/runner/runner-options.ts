import { ConfigurationError } from "../../core/errors.ts";
import type { Budgets } from "../../core/job/budgets.ts";
import type { RunSpecInput } from "../../core/job/run-spec-input.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { kindOf } from "../../core/naming/option-names.ts";
import { decisionOf, type Person } from "../../core/person.ts";
import type { BudgetName } from "../../core/usage/budget.ts";
import type { Budget } from "../../core/usage/given-budget.ts";
import type { TokenEstimator } from "../../core/usage/token-estimate.ts";
import type { Pricing } from "../../core/usage/usage.ts";
import { CheckpointTrigger } from "../../session/checkpoint-trigger.ts";
import { Session, type Tags } from "../../session/session.ts";
import type { Slice } from "../../session/slice.ts";
import { SliceSet } from "../../session/slice-set.ts";
import type { Store } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import type { Constraints, Policy, RunRules } from "../definition/run-rules.ts";
import { isAgentStep, type PipelineStep, type StepNode } from "../definition/step.ts";
import type { StopConditions } from "../definition/stop-conditions.ts";
import { assertDivergencePolicy, type DivergencePolicy } from "../definition/waiting/divergence-policy.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { CrashProbe } from "../ports/crash-points.ts";
import type { LiveEventListener } from "../ports/live-events.ts";
import type { RunEventListener } from "../ports/run-events.ts";
import type { Telemetry } from "../ports/telemetry-port.ts";
import type { Deadline } from "../run/deadline.ts";
import type { EffectsPort } from "../run/effects-port.ts";
import type { MilestoneFrom, SavedCheckpoint } from "../run/milestone-request.ts";
import type { SliceMismatch } from "../run/session-keeper.ts";
import type { StepExecutor } from "../steps/step-executor.ts";
import type { PlaceOptions } from "./place-options.ts";

export { type Budget, limitOf } from "../../core/usage/given-budget.ts";

/** Options of a `Runner`, for all of its runs. */
export type RunnerOptions = {
  /** By default `./.pawl/pawl.db`, which is opened for each run and closed after it. */
  readonly store?: Store;
  /** Executors for your own kinds of steps, or as replacements of built-in ones. */
  readonly executors?: { readonly [kind: string]: StepExecutor<never> };
  /** The prices of models, for budgets and usage in micro-dollars. By default models have no price. */
  readonly pricing?: Pricing;
  /** Estimates the tokens of a text. By default a built-in estimate. */
  readonly estimateTokens?: TokenEstimator;
  /** How long a worker that stops renewing keeps a run, by default 30,000 ms. It renews three times in that time. */
  readonly leaseMs?: number;
  /** The time limit of one request to a model, by default 600,000 ms. */
  readonly modelTimeoutMs?: number;
  /**
   * How long an answer that is streamed may pause while the model writes, by default 60,000 ms. It then counts as broken off,
   * like a timeout. Before its first word, while it reasons and while the provider runs a tool, only `modelTimeoutMs` counts.
   */
  readonly modelIdleTimeoutMs?: number;
  /** The number of requests to the model for one turn that may fail. By default 3. Refused requests do not count. */
  readonly maxModelAttempts?: number;
  /**
   * How long a run waits for a provider that takes no requests: it answers 429, 503 or 529, or cannot be reached. By default
   * until the deadline of the run, and without a deadline for as long as it takes. Nothing is charged for refused requests,
   * and each wait is reported as `model.failed` with `outageSince`. 0 fails the run at once; it can be resumed.
   */
  readonly maxOutageMs?: number;
  /** The number of tool calls of a turn that may run at the same time, by default 8. */
  readonly maxParallelToolCalls?: number;
  /** Retries of a tool call that may be repeated, or that failed without an effect. By default 2. */
  readonly maxRetriesPerToolCall?: number;
  /** After this many equal failures of a tool in a row, a person is asked. By default never. */
  readonly maxSameErrorRepeats?: number;
  /** Rules for tools, approvals, secrets and the network. */
  readonly policy?: Policy;
  /** Limits on the actions of a run, such as forbidden tools. */
  readonly constraints?: Constraints;
  /**
   * The budgets of runs that set none themselves, whether they are run at once, enqueued, or started by a message or by a
   * schedule of the worker. A run keeps those that it was started with. They are a RunSpec of the run, which so has a
   * folder of its own, as a job has. By default no limits.
   */
  readonly budgets?: Partial<Budgets>;
  /** Other pipelines with the same policy and constraints. A rule may name one of their tools. */
  readonly otherPipelines?: readonly (Agent | StepNode)[];
  /** The person who starts the runs, if a call of `run` names none. */
  readonly startedBy?: Person;
  /** Functions for the `stopConditions` that a RunSpec names, in addition to those of the pipeline. */
  readonly stopConditions?: StopConditions;
  /** The folder that workspaces of runs are relative to, by default the working directory. */
  readonly workspaceRoot?: string;
  /** Slices of the run's session, in addition to those of its agents and prompts. */
  readonly slices?: readonly Slice[];
  /** Decides which session events are milestones; by default a completed step of the plan. */
  readonly checkpointTrigger?: CheckpointTrigger;
  /** What to do if a stored session no longer fits its slices: by default `stop`. */
  readonly onSliceMismatch?: SliceMismatch;
  /** Stored with the session and its snapshots. */
  readonly tags?: Tags;
  /** Called with the session of each run before its first step, to add observers and subscriptions. They end with the run. */
  readonly onSession?: (session: Session) => void;
  /** Called with the events of every run, as `stream` yields them. Its errors are ignored. */
  readonly onEvent?: RunEventListener;
  /**
   * Which answers are streamed, to be shown while the model writes them: all of them, or (false) none. By default those of
   * runs that somebody watches when the answer begins: by `watch` in any process, by `stream({ live: true })` or `onLive`. A
   * model that cannot stream is asked for whole answers either way.
   */
  readonly live?: boolean;
  /** Called with the pieces of answers of every run while they are written, and when an attempt is withdrawn. */
  readonly onLive?: LiveEventListener;
  /** Receives traces and metrics: `otel()` of `pawl/otel`. */
  readonly telemetry?: Telemetry;
  /** Called with every checkpoint once it is durable; the run waits for it. An error is reported as a warning. */
  readonly onCheckpoint?: (checkpoint: SavedCheckpoint) => Promise<void> | void;
  /**
   * What becomes of a run whose prompt, model or tools have changed since its step began, after a deploy: it fails (`fail`,
   * the default of a runner), waits for a person (`wait`, the default of a worker), continues from its last milestone
   * (`milestone`) or where it is (`accept`), with the new agent. Or a function of what has changed.
   */
  readonly onDivergence?: DivergencePolicy;
  /** Stored with the run as its origin, by default `library`. */
  readonly entrypoint?: string;
  /**
   * Refuses a call of `run` or `stream` without a `runId` or a `key`. For servers: two customers who send the same text must
   * never share a run.
   */
  readonly identity?: "required";
  /** The time, and how the engine sleeps. By default that of the system; tests replace it. */
  readonly clock?: Clock;
  /** Random numbers, for the pauses between retries. By default those of the system; tests replace it. */
  readonly random?: Random;
  /** Called at every crash point; for crash tests. */
  readonly probe?: CrashProbe;
  /** Calls models and tools, and writes files. By default directly; tests replace it. */
  readonly outside?: EffectsPort;
};

/** Options for beginning and for resuming a run. */
export type ContinueOptions = {
  /** Cancels the run. Calls in progress end or are left to recovery, and the run can be resumed. */
  readonly signal?: AbortSignal;
  /** Releases the run. Calls in progress are finished, nothing new begins, and the run is queued for the next worker. */
  readonly release?: AbortSignal;
  /** Waits while a living process holds the run. By default `RunBusyError` is thrown. */
  readonly wait?: boolean;
  /** The most that the run may use, earlier attempts included. By default the limit it has, or none. */
  readonly budget?: Budget;
  /** Nothing new begins after this time. It is stored with the run; another one replaces it. */
  readonly deadline?: Deadline;
};

/** Options of `Runner.resume` and `Runner.forecast`. */
export type ResumeOptions = ContinueOptions & {
  /** New limits for these budgets. They are recorded; the RunSpec itself does not change. */
  readonly budgets?: { readonly [B in BudgetName]?: number };
  /**
   * Where the current step resumes. `turn`, the default: after its last turn. `milestone`: from the last checkpoint of the
   * session, in a new lineage with the prompt, model and tools as they are now. `beginning`: the same from the start of the
   * step. Or a checkpoint that `onCheckpoint` received. Calls with a receipt are not made again.
   */
  readonly from?: "turn" | "milestone" | "beginning" | SavedCheckpoint;
  /** Resumes although the prompt, model or tools have changed. The text says why, and is recorded. */
  readonly acceptDivergence?: string;
  /**
   * The only changes that `acceptDivergence` accepts: the `changesHash` of a forecast, or of the error that the run failed
   * with. By default any changes.
   */
  readonly changesHash?: string;
  /** Drops the response of the open turn and asks the model again. Refused once one of its calls was sent. */
  readonly redoTurn?: boolean;
  /** The reason for resuming, recorded with the attempt. */
  readonly reason?: string;
};

/** Options of `Runner.run`. */
export type RunOptions = ContinueOptions &
  PlaceOptions & {
    /** The contract of the run, as `parseRunSpec` takes it: budgets, constraints, stop conditions. It never changes. */
    readonly spec?: RunSpecInput;
    /** The id of the run. By default that of the unfinished run of the same input, or a new UUID. */
    readonly runId?: string;
    /**
     * The caller's own idempotency key instead of a run id: the id of the order, message or webhook that the run is for. The
     * same key of a pipeline is the same run, in every process and after every crash. Other input for the key is refused.
     */
    readonly key?: string;
    /** Begins a new run, whatever the state of other runs with the same input. */
    readonly fresh?: boolean;
    /** The person who starts the run; by default the runner's. Required if `policy.approve` excludes that person. */
    readonly startedBy?: Person;
  };

/** Options of `Runner.stream`. */
export type StreamOptions = RunOptions & {
  /** Cancels the run if its reader leaves the stream early, and waits until it is released. By default it continues. */
  readonly cancelOnReturn?: boolean;
  /** Yields the pieces of answers while they are written, and withdrawn attempts, in order with the events. */
  readonly live?: boolean;
};

/** What a stream wants to hear of its own run. */
export type HeardOptions = { readonly onLive?: LiveEventListener };

/** Node's longest timeout: a longer one fires at once. */
const LARGEST_LIMIT = 2 ** 31 - 1;

const LEAST = {
  leaseMs: 1,
  modelTimeoutMs: 1,
  modelIdleTimeoutMs: 1,
  maxModelAttempts: 1,
  maxOutageMs: 0,
  maxParallelToolCalls: 1,
  maxRetriesPerToolCall: 0,
  maxSameErrorRepeats: 1,
} as const;

/** A store's address, or a promise of a store, would fail only once a run begins. */
export function assertStore(given: unknown): void {
  if (given === undefined || (typeof given === "object" && given !== null && "createRun" in given)) return;
  const how = typeof given === "string" ? `await openStore(${JSON.stringify(given)})` : "await openStore(…)";
  throw new ConfigurationError(`The runner's store is ${kindOf(given)}: give it an open one, ${how}.`);
}

/** A store in the place of options: it has a `live` of its own, and so would pass for options with a wrong name. */
export function assertNoStore(what: string, given: unknown): void {
  if (typeof given !== "object" || given === null || !("createRun" in given)) return;
  throw new ConfigurationError(
    `${what} is ${kindOf(given)}: give an object with named options, such as { store }.`,
  );
}

export function assertLimits(options: RunnerOptions): void {
  const live: unknown = options.live;
  if (live !== undefined && typeof live !== "boolean")
    throw new ConfigurationError(`The runner's live is ${kindOf(live)}: give true or false.`);
  assertDivergencePolicy(options.onDivergence);
  for (const [name, least] of Object.entries(LEAST)) {
    const value = options[name as keyof typeof LEAST] ?? least;
    if (Number.isSafeInteger(value) && value >= least && value <= LARGEST_LIMIT) continue;
    throw new ConfigurationError(
      `The runner's ${name} is ${value}: give a whole number from ${least} to ${LARGEST_LIMIT}.`,
    );
  }
}

export function milestoneFrom(from: ResumeOptions["from"]): MilestoneFrom | null {
  if (from === undefined || from === "turn") return null;
  if (from === "milestone") return { kind: "last" };
  if (from === "beginning") return { kind: "beginning" };
  const given: unknown = from;
  if (isJsonObject(given) && isJsonObject(given.cursor) && isJsonObject(given.snapshot)) {
    const { checkpoint } = given.cursor;
    if (typeof checkpoint === "number") return { kind: "given", snapshot: given.snapshot, checkpoint };
  }
  throw new ConfigurationError(
    `A run cannot be resumed from ${JSON.stringify(from)}: use "turn", "milestone", "beginning", or a checkpoint that onCheckpoint received.`,
  );
}

export function sessionOptions(root: StepNode, options: RunnerOptions): RunSessionOptions {
  const { checkpointTrigger: trigger = new CheckpointTrigger(), onSliceMismatch: mismatch = "stop" } =
    options;
  if (typeof mismatch !== "function" && mismatch !== "stop" && mismatch !== "fresh")
    throw new ConfigurationError(
      `onSliceMismatch is ${JSON.stringify(mismatch)}: use "stop", "fresh", or a function that migrates the slices.`,
    );
  const own: unknown = options.slices ?? [];
  if (!Array.isArray(own))
    throw new ConfigurationError("slices is not a list: give an array of slices made with defineSlice.");
  const slices = new SliceSet([...agentSlices(root), ...(options.slices ?? [])], trigger.eventTypes);
  const tags = options.tags ?? {};
  // Made to report mistakes in slices and tags now, before there is a run.
  new Session({ id: "-", createdAt: 0, slices, tags }).close();
  return {
    slices,
    trigger,
    mismatch,
    tags,
    onSession: options.onSession ?? (() => undefined),
  };
}

function agentSlices(step: StepNode): Slice[] {
  const own = isAgentStep(step) ? step.agent.slices : [];
  return [...own, ...(step.children ?? []).flatMap(agentSlices)];
}

/** A rule with `notStarter` needs a known starter. This is checked before there is a run, not when someone approves. */
export function starterOf(
  { approve }: RunRules,
  startedBy: Person | undefined,
): { readonly startedBy?: Person } {
  if (startedBy !== undefined) void decisionOf(startedBy, 0);
  const isNamed = startedBy?.by !== undefined || startedBy?.authenticated !== undefined;
  const rule = approve.find(({ notStarter }) => notStarter === true);
  if (rule === undefined || isNamed) return startedBy === undefined ? {} : { startedBy };
  throw new ConfigurationError(
    `policy.approve requires a person other than the one who started the run (${rule.match}): say who starts it with startedBy: { by: … }.`,
  );
}

/** The session options of a runner, with their defaults. */
export type RunSessionOptions = {
  readonly slices: SliceSet;
  readonly trigger: CheckpointTrigger;
  readonly mismatch: SliceMismatch;
  readonly tags: Tags;
  readonly onSession: (session: Session) => void;
};

/** The input of a run: that of its first step; any JSON if its type is not known. */
export type RunInput<I> = [I] extends [never] ? Json : I;

/** The checked options of a runner, shared by all of its runs. */
export type RunnerSetup = {
  readonly options: RunnerOptions;
  readonly root: PipelineStep;
  readonly rules: RunRules;
  /** Of new runs; null if there are none. */
  readonly budgets: Budgets | null;
  readonly session: RunSessionOptions;
  readonly clock: Clock;
  readonly leaseMs: number;
};
