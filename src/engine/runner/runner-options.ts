import { ConfigurationError } from "../../core/errors.ts";
import type { RunSpecInput } from "../../core/job/run-spec-input.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { decisionOf, type Person } from "../../core/person.ts";
import type { BudgetName } from "../../core/usage/budget.ts";
import type { Limit } from "../../core/usage/quota.ts";
import type { TokenEstimator } from "../../core/usage/token-estimate.ts";
import type { Pricing } from "../../core/usage/usage.ts";
import { CheckpointTrigger } from "../../session/checkpoint-trigger.ts";
import { Session, type Tags } from "../../session/session.ts";
import type { Slice } from "../../session/slice.ts";
import { SliceSet } from "../../session/slice-set.ts";
import type { Store } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import type { Constraints, Policy, RunRules } from "../definition/run-rules.ts";
import { RunSecrets } from "../definition/run-secrets.ts";
import { isAgentStep, type PipelineStep, type StepNode } from "../definition/step.ts";
import type { StopConditions } from "../definition/stop-conditions.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { CrashProbe } from "../ports/crash-points.ts";
import type { RunEventListener } from "../ports/run-events.ts";
import type { Telemetry } from "../ports/telemetry-port.ts";
import type { Deadline } from "../run/deadline.ts";
import type { EffectsPort } from "../run/effects-port.ts";
import type { MilestoneFrom, SavedCheckpoint } from "../run/milestone-request.ts";
import type { SliceMismatch } from "../run/session-keeper.ts";
import type { StepExecutor } from "../steps/step-executor.ts";
import type { StepRegistry } from "../steps/step-registry.ts";

export type RunnerOptions = {
  /** `./.pawl/pawl.db` unless given; then it is opened for each run and closed after it. */
  readonly store?: Store;
  /** Executors for step kinds of your own, or in place of a built-in one. */
  readonly executors?: { readonly [kind: string]: StepExecutor<never> };
  readonly pricing?: Pricing;
  readonly estimateTokens?: TokenEstimator;
  /** How long a worker that falls silent keeps the run; it renews three times as often. */
  readonly leaseMs?: number;
  readonly modelTimeoutMs?: number;
  /** How often a turn's model call is tried, the first time included. */
  readonly maxModelAttempts?: number;
  readonly maxParallelToolCalls?: number;
  /** How often a tool call that may be repeated, or says that nothing happened, is tried again; twice unless said. */
  readonly maxRetriesPerToolCall?: number;
  /** After a tool failed as often as this in the same way, one time after the other, a person is asked. Never unless said. */
  readonly maxSameErrorRepeats?: number;
  /** How tools are classified, which of them need approval, what is secret. */
  readonly policy?: Policy;
  /** What the run must not do. */
  readonly constraints?: Constraints;
  /** Pipelines that the same policy and constraints are for: a name in those may be that of a tool of theirs. */
  readonly otherPipelines?: readonly (Agent | StepNode)[];
  /** Who starts its runs, where that is not said for each of them. */
  readonly startedBy?: Person;
  /** What the `stopConditions` of a RunSpec may name, beside those of the pipeline. */
  readonly stopConditions?: StopConditions;
  /** What the workspace of a run is relative to; the directory of the process unless said. */
  readonly workspaceRoot?: string;
  /** What the run's session holds, beside what its agents and their prompts bring. */
  readonly slices?: readonly Slice[];
  /** Which events are milestones; a step of the plan that is done, unless said. */
  readonly checkpointTrigger?: CheckpointTrigger;
  /** What is done where a stored session does not fit its slices any more: stop, unless said. */
  readonly onSliceMismatch?: SliceMismatch;
  /** Kept with the session and its snapshots. */
  readonly tags?: Tags;
  /** Given the session of each run before its first step: for observers and subscriptions, which end with it. */
  readonly onSession?: (session: Session) => void;
  /** Told of everything that `stream` tells, of every run; what it throws harms nobody. */
  readonly onEvent?: RunEventListener;
  /** Where its traces and figures go: `otel()` of `pawl/otel`. */
  readonly telemetry?: Telemetry;
  /** Told of every checkpoint once it is durable, and waited for; what it throws is told as a warning. */
  readonly onCheckpoint?: (checkpoint: SavedCheckpoint) => Promise<void> | void;
  readonly entrypoint?: string;
  /**
   * Refuses a call of `run` or `stream` without a `runId` or a `key`. For servers: equal words of two customers must never
   * share a run.
   */
  readonly identity?: "required";
  readonly clock?: Clock;
  readonly random?: Random;
  readonly probe?: CrashProbe;
  /** The doors to models, tools and files; those of the machine unless a test stands in them. */
  readonly outside?: EffectsPort;
};

export type Budget = { readonly tokens?: number; readonly microDollars?: number };

export type ContinueOptions = {
  /** Cancels: what is under way ends or is left to recovery, and the run can be resumed. */
  readonly signal?: AbortSignal;
  /** Lets go: what is under way is finished, nothing else begins, and the run is left for whoever goes on with it. */
  readonly release?: AbortSignal;
  /** Waits while a living process has the run, instead of throwing `RunBusyError`. */
  readonly wait?: boolean;
  /** The most that the run may use, what it has used before included. */
  readonly budget?: Budget;
  /** When its time is over: nothing begins after it. It is kept with the run; giving it again replaces it. */
  readonly deadline?: Deadline;
};

export type ResumeOptions = ContinueOptions & {
  /** Lets the run use more, or less, of these; its RunSpec stays as it is, and this is recorded. */
  readonly budgets?: { readonly [B in BudgetName]?: number };
  /**
   * `turn`, unless said: the conversation goes on where it was left. `milestone`: the step at work begins a new history
   * from the last checkpoint of the session, with the prompt, model and tools as they are now; `beginning`: from its
   * beginning; or from a checkpoint that `onCheckpoint` gave. What the ledger has a receipt for is not done again.
   */
  readonly from?: "turn" | "milestone" | "beginning" | SavedCheckpoint;
  /** Goes on although the prompt, model or tools are not what they were, and keeps why. */
  readonly acceptDivergence?: string;
  /** Drops the response of the turn that is open, and asks the model again; none of its calls may have gone out. */
  readonly redoTurn?: boolean;
  /** Why, for the record. */
  readonly reason?: string;
};

export type RunOptions = ContinueOptions & {
  /** The contract of the run, as `parseRunSpec` takes it: budgets, constraints, what it has to come to. It never changes. */
  readonly spec?: RunSpecInput;
  /** Names the run; minted when absent. */
  readonly runId?: string;
  /**
   * The caller's own idempotency key, in place of a run id: the id of the order, message or webhook that the run is for. The
   * same key of a pipeline is the same run, in every process and after every crash; other input under it is refused.
   */
  readonly key?: string;
  /** Begins a new run, whatever became of others with the same input. */
  readonly fresh?: boolean;
  /** Who starts it: kept with the run, and needed where `policy.approve` asks for another person than that one. */
  readonly startedBy?: Person;
};

/** Node's timers take no more milliseconds than this; given more, they go off at once. */
const LARGEST_LIMIT = 2 ** 31 - 1;

const LEAST = {
  leaseMs: 1,
  modelTimeoutMs: 1,
  maxModelAttempts: 1,
  maxParallelToolCalls: 1,
  maxRetriesPerToolCall: 0,
  maxSameErrorRepeats: 1,
} as const;

export function assertLimits(options: RunnerOptions): void {
  for (const [name, least] of Object.entries(LEAST)) {
    const value = options[name as keyof typeof LEAST] ?? least;
    if (Number.isSafeInteger(value) && value >= least && value <= LARGEST_LIMIT) continue;
    throw new ConfigurationError(
      `The runner's ${name} is ${value}: give a whole number from ${least} to ${LARGEST_LIMIT}.`,
    );
  }
}

export function limitOf(budget: Budget | undefined): Limit {
  const unknown = Object.keys(budget ?? {}).find((unit) => unit !== "tokens" && unit !== "microDollars");
  if (unknown !== undefined)
    throw new ConfigurationError(
      `A budget has no ${JSON.stringify(unknown)}: give it in tokens, microDollars or both.`,
    );
  return { tokens: budget?.tokens ?? null, microDollars: budget?.microDollars ?? null };
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
    `A run cannot be resumed from ${JSON.stringify(from)}: use "turn", "milestone", "beginning", or a checkpoint that onCheckpoint gave.`,
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
    throw new ConfigurationError("slices is no list: give an array of what defineSlice has made.");
  const slices = new SliceSet([...agentSlices(root), ...(options.slices ?? [])], trigger.eventTypes);
  const tags = options.tags ?? {};
  // What a session refuses is refused here, before there is a run.
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

/** The input is stored, and has to be: whoever goes on with the run needs it. */
export function assertNoSecrets(
  input: Json,
  { secretKeys }: RunRules,
  what: "input" | "RunSpec" = "input",
): void {
  if (secretKeys.size === 0 || !new RunSecrets(secretKeys, () => "").holdsSecret(input)) return;
  throw new ConfigurationError(
    `The ${what} of the run holds a value under one of policy.secretKeys, and it is stored: leave it out, and give tools their secrets where they are made, or from code with secret(…).`,
  );
}

/** Nobody can be another than somebody unknown: that is found out before there is a run, and not by who is to approve. */
export function starterOf(
  { approve }: RunRules,
  startedBy: Person | undefined,
): { readonly startedBy?: Person } {
  if (startedBy !== undefined) void decisionOf(startedBy, 0);
  const isNamed = startedBy?.by !== undefined || startedBy?.authenticated !== undefined;
  const rule = approve.find(({ notStarter }) => notStarter === true);
  if (rule === undefined || isNamed) return startedBy === undefined ? {} : { startedBy };
  throw new ConfigurationError(
    `policy.approve asks for another person than who started the run (${rule.match}): say who starts it, with startedBy: { by: … }.`,
  );
}

/** What the session of every run is made with. */
export type RunSessionOptions = {
  readonly slices: SliceSet;
  readonly trigger: CheckpointTrigger;
  readonly mismatch: SliceMismatch;
  readonly tags: Tags;
  readonly onSession: (session: Session) => void;
};

/** What a runner makes of its options once, for all of its runs. */
export type RunnerSetup<O = unknown> = {
  readonly options: RunnerOptions;
  readonly root: PipelineStep<O>;
  readonly registry: StepRegistry;
  readonly rules: RunRules;
  readonly session: RunSessionOptions;
  readonly clock: Clock;
  readonly leaseMs: number;
};
