import type { RunSpec } from "../../core/job/run-spec.ts";
import type { Limit } from "../../core/usage/quota.ts";
import type { TokenEstimator } from "../../core/usage/token-estimate.ts";
import type { Pricing } from "../../core/usage/usage.ts";
import type { Fence, ModelCallSettlement, Store } from "../../store/store.ts";
import type { RunRules } from "../definition/run-rules.ts";
import type { RunSecrets } from "../definition/run-secrets.ts";
import type { StopConditions } from "../definition/stop-conditions.ts";
import type { CrashPoint, CrashProbe } from "../ports/crash-points.ts";
import type { Clock, Random } from "../ports/model-port.ts";
import type { RunEventListener } from "../ports/run-events.ts";
import type { RunTelemetry } from "../ports/telemetry-port.ts";
import type { Outside } from "./effects-port.ts";
import type { EstimateWatch } from "./estimate-watch.ts";
import type { FailureStreaks } from "./failure-streaks.ts";
import type { LatestGranularState } from "./latest-granular-state.ts";
import type { ClockReading, Lease } from "./lease-keeper.ts";
import type { MilestoneRequest, SavedCheckpoint } from "./milestone-request.ts";
import type { RunArtifacts } from "./run-artifacts.ts";
import type { RunBudget } from "./run-budget.ts";
import type { RunToolSources } from "./run-tool-sources.ts";
import type { SessionKeeper } from "./session-keeper.ts";
import type { Uncertainties } from "./uncertain-calls.ts";

/** What the parts of the engine share while one worker has one run. */
export type RunHandle = {
  readonly runId: string;
  /** The run that this one was forked from in the end; itself where it was not. */
  readonly firstRunId: string;
  readonly fence: Fence;
  readonly store: Store;
  readonly lease: Lease;
  /** When this worker took the run, by both clocks: read before the claim was written. */
  readonly claimedAt: ClockReading;
  readonly clock: Clock;
  readonly random: Random;
  readonly pricing: Pricing;
  readonly limit: Limit;
  readonly estimateTokens: TokenEstimator;
  readonly modelTimeoutMs: number;
  readonly maxModelAttempts: number;
  readonly maxParallelToolCalls: number;
  /** How often a call is tried again after its first try. */
  readonly maxRetriesPerToolCall: number;
  readonly rules: RunRules;
  readonly secrets: RunSecrets;
  readonly failures: FailureStreaks;
  readonly uncertainties: Uncertainties;
  readonly estimates: EstimateWatch;
  readonly keeper: SessionKeeper;
  /** What the last agent came to, for the steps after it. */
  readonly latest: LatestGranularState;
  /** What it was started to do; null where it has no contract. */
  readonly spec: RunSpec | null;
  /** What it may still do. */
  readonly budget: RunBudget;
  /** What it has to come to. */
  readonly conditions: StopConditions;
  /** All phases of its pipeline, in order. */
  readonly phases: readonly string[];
  readonly artifacts: RunArtifacts;
  /** The tool sources that it has open. */
  readonly sources: RunToolSources;
  readonly telemetry: RunTelemetry;
  readonly outside: Outside;
  /** Aborts when the caller wants to let the run go: what is under way is finished, and nothing else begins. */
  readonly releasing: AbortSignal;
  /** Aborts, with `releasing`, when the store is being closed: not even the calls of an open turn begin any more. */
  readonly closing: AbortSignal;
  /** When the run's time is over; null: never. */
  readonly deadline: number | null;
  /** Where the granular step that is gone on with begins, unless it is where it was left. */
  readonly milestone: MilestoneRequest;
  /** Why steps may go on although they are not what they were; null: they may not. */
  readonly acceptDivergence: string | null;
  /** Whether the response of the turn that is open is to be dropped. */
  readonly redoTurn: boolean;
  /** Told of every checkpoint once it is durable, and waited for. */
  readonly onCheckpoint: (checkpoint: SavedCheckpoint) => Promise<void>;
  readonly emit: RunEventListener;
  readonly probe: CrashProbe;
  /** Charges that the store did not take when they fell due. Releasing the run without them would make them free. */
  readonly owed: ModelCallSettlement[];
  /** Aborts when the caller cancels or the lease is lost. */
  readonly signal: AbortSignal;
  /**
   * Calls back with the reason when `signal` aborts, or at once where it has; the returned function ends that. A list of
   * our own, since there is one listener a model call, and a signal's are slow to add and remove.
   */
  readonly onAbort: (listener: (reason: Error) => void) => () => void;
};

/** How long a model or a step's code that was told to stop may take to do so. */
export const ABORT_GRACE_MS = 1_000;

/** Waits. A run that is cancelled, lost, or whose store is being closed does not. */
export async function rest({ clock, signal, closing }: RunHandle, ms: number): Promise<void> {
  try {
    await clock.sleep(ms, AbortSignal.any([signal, closing]));
  } finally {
    signal.throwIfAborted();
    closing.throwIfAborted();
  }
}

export function reach(run: RunHandle, point: CrashPoint, stepPath: string, turnIndex: number): void {
  run.probe(point, { runId: run.runId, stepPath, turnIndex });
}
