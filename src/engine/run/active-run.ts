import type { RunSpec } from "../../core/job/run-spec.ts";
import type { Limit } from "../../core/usage/quota.ts";
import type { TokenEstimator } from "../../core/usage/token-estimate.ts";
import type { Pricing } from "../../core/usage/usage.ts";
import type { Fence, ModelCallSettlement, Store } from "../../store/store.ts";
import type { RunRules } from "../definition/run-rules.ts";
import type { RunSecrets } from "../definition/run-secrets.ts";
import type { StopConditions } from "../definition/stop-conditions.ts";
import type { RunFacts } from "../definition/tool.ts";
import type { DivergencePolicy } from "../definition/waiting/divergence-policy.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { CrashPoint, CrashProbe } from "../ports/crash-points.ts";
import type { RunEventListener } from "../ports/run-events.ts";
import type { RunTelemetry } from "../ports/telemetry-port.ts";
import type { EffectsPort } from "./effects-port.ts";
import type { FailureStreaks } from "./failure-streaks.ts";
import type { LatestGranularState } from "./latest-granular-state.ts";
import type { ClockReading, Lease } from "./lease-keeper.ts";
import type { LiveAnswers } from "./live-answers.ts";
import type { MilestoneRequest, SavedCheckpoint } from "./milestone-request.ts";
import type { ModelCuts } from "./model-cuts.ts";
import type { RunArtifacts } from "./run-artifacts.ts";
import type { RunBudget } from "./run-budget.ts";
import type { RunToolSources } from "./run-tool-sources.ts";
import type { SessionKeeper } from "./session-keeper.ts";
import type { TokenEstimateWarnings } from "./token-estimate-warnings.ts";
import type { UncertainCalls } from "./uncertain-calls.ts";

/**
 * One run while one worker holds its lease, in named parts. `runner/make-run.ts` makes it, and nothing else does.
 * A function takes the parts that it uses: `RunWith<"store" | "time">`.
 */
export type ActiveRun = {
  readonly runId: string;
  /** What its caller has said about it, for tools. */
  readonly facts: RunFacts;
  /** Sent with every write: the store refuses it once another worker has claimed the run. */
  readonly fence: Fence;
  readonly store: Store;
  readonly contract: RunContract;
  readonly time: RunTime;
  readonly stop: RunStop;
  readonly policy: RunPolicy;
  readonly model: ModelParts;
  readonly calls: CallParts;
  readonly resume: ResumeChoices;
  readonly observe: RunObservers;
  readonly keeper: SessionKeeper;
  /** The state of the agent that finished last, for the steps after it. */
  readonly latest: LatestGranularState;
  readonly artifacts: RunArtifacts;
  /** The tool sources that the run has open. */
  readonly sources: RunToolSources;
  readonly effects: EffectsPort;
};

/** The named parts of a run. */
export type RunWith<Part extends keyof ActiveRun> = Pick<ActiveRun, Part>;

/** The limits of the run, and the conditions under which it is done. */
export type RunContract = {
  /** Null for a run without a RunSpec. */
  readonly spec: RunSpec | null;
  readonly budget: RunBudget;
  readonly conditions: StopConditions;
  /** All phases of its pipeline, in order. */
  readonly phases: readonly string[];
  /** The most that its model calls may cost. */
  readonly limit: Limit;
};

export type RunTime = {
  readonly clock: Clock;
  readonly random: Random;
  /** Wall-clock time after which nothing is begun; null for no deadline. */
  readonly deadline: number | null;
  /** Both clocks, read before the claim was written. */
  readonly claimedAt: ClockReading;
};

/** Everything that stops the work on a run. */
export type RunStop = {
  readonly lease: Lease;
  /** Aborts when the caller cancels the run, or when the lease is lost. */
  readonly signal: AbortSignal;
  /**
   * Calls back with the reason when `signal` aborts, or at once if it has; returns a function that unsubscribes.
   * Our own list: there is one listener a model call, and those of an AbortSignal are slow to add and remove.
   */
  readonly onAbort: (listener: (reason: Error) => void) => () => void;
  /** Cuts a model call of a conversation short, and nothing else. */
  readonly cuts: ModelCuts;
  /** Aborts when the caller releases the run: calls in progress finish, and nothing new begins. */
  readonly releasing: AbortSignal;
  /** Aborts, together with `releasing`, when the store is closed: not even the calls of an open turn begin any more. */
  readonly closing: AbortSignal;
};

export type RunPolicy = {
  readonly rules: RunRules;
  readonly secrets: RunSecrets;
};

export type ModelParts = {
  readonly timeoutMs: number;
  /** Of an answer that is streamed, between its parts. */
  readonly idleTimeoutMs: number;
  readonly maxAttempts: number;
  /** The longest outage of a provider that is waited out; null for any. */
  readonly maxOutageMs: number | null;
  readonly pricing: Pricing;
  readonly estimateTokens: TokenEstimator;
  readonly estimateWarnings: TokenEstimateWarnings;
  /** Shows answers while they are written; null if the runner has `live: false`. */
  readonly live: LiveAnswers | null;
  /** Charges that the store could not take yet. They are written before the run is released: else they would be free. */
  readonly unsettledCharges: ModelCallSettlement[];
};

export type CallParts = {
  /** The first run of a chain of forks, or the run itself: hashes of secrets in call identities depend on it. */
  readonly firstRunId: string;
  readonly failures: FailureStreaks;
  readonly uncertain: UncertainCalls;
  readonly maxParallel: number;
  /** How many attempts a call may have after its first one. */
  readonly maxRetries: number;
};

/** The caller's choices for this resume. */
type ResumeChoices = {
  /** The caller continues a run that had stopped. False for a run that begins, or whose worker died. */
  readonly isRequested: boolean;
  /** The milestone that the resumed granular step starts from, instead of its last turn. */
  readonly milestone: MilestoneRequest;
  /** Why steps may continue although their fingerprint changed; null if they may not. */
  readonly acceptDivergence: string | null;
  /** The only changes that they may continue with; null for any. */
  readonly changesHash: string | null;
  /** True if the response of the open turn is dropped and requested again. */
  readonly redoTurn: boolean;
  /** What becomes of a step that has changed since it began. */
  readonly onDivergence: DivergencePolicy;
};

export type RunObservers = {
  readonly emit: RunEventListener;
  readonly telemetry: RunTelemetry;
  readonly probe: CrashProbe;
  /** Called for every checkpoint once it is durable; the run waits for it. */
  readonly onCheckpoint: (checkpoint: SavedCheckpoint) => Promise<void>;
};

/** How long a model, or the code of a step, may take to stop after its signal aborted. */
export const ABORT_GRACE_MS = 1_000;

/** Sleeps; rejects as soon as the run is cancelled or lost, or its store is being closed. */
export async function rest({ time, stop }: RunWith<"time" | "stop">, ms: number): Promise<void> {
  const { signal, closing } = stop;
  try {
    await time.clock.sleep(ms, AbortSignal.any([signal, closing]));
  } finally {
    signal.throwIfAborted();
    closing.throwIfAborted();
  }
}

/** Marks a point at which the crash explorer may end the process. */
export function reach(
  { runId, observe }: RunWith<"runId" | "observe">,
  point: CrashPoint,
  stepPath: string,
  turnIndex: number,
): void {
  observe.probe(point, { runId, stepPath, turnIndex });
}
