import { dependable, estimateTokens } from "../core/token-estimate.ts";
import { UNPRICED } from "../core/usage.ts";
import type { Claim, Store } from "../store/store.ts";
import { NO_PROBE } from "./crash-points.ts";
import { type Failure, failuresIn } from "./failure-streaks.ts";
import type { ClockReading } from "./lease-keeper.ts";
import type { RunSessionOptions, RunTenureOptions } from "./make-run-handle.ts";
import type { MilestoneFrom, SavedCheckpoint } from "./milestone-request.ts";
import { DIRECT } from "./outside.ts";
import { phasesOf } from "./phases.ts";
import type { Clock } from "./ports.ts";
import { bothConstraints, conditionsOf } from "./run-contract.ts";
import type { RunEventListener } from "./run-events.ts";
import { folderOf } from "./run-folder.ts";
import { makeRules, type RunRules } from "./run-rules.ts";
import type { ResumeOptions, RunnerOptions } from "./runner-options.ts";
import type { PipelineStep } from "./step.ts";
import type { RunTelemetry } from "./telemetry-port.ts";

/** What a runner has made of its options once, for all of its runs. */
type RunnerParts = {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly rules: RunRules;
  readonly session: RunSessionOptions;
  readonly root: PipelineStep;
};

/** What is to be done with a run that was claimed. */
export type TenureWork = {
  readonly claimedAt: ClockReading;
  readonly resumed: boolean;
  readonly going: ResumeOptions;
  readonly listener: RunEventListener;
  readonly from: MilestoneFrom | null;
  readonly telemetry: RunTelemetry;
};

/** How a run is worked on: by the runner's options, and where the run's own contract says something, by that. */
export async function tenureOptions(
  options: RunnerOptions,
  { clock, leaseMs, rules, session, root }: RunnerParts,
  store: Store,
  { run: { runId, spec, budgets, forkedFrom } }: Claim,
  { claimedAt, resumed, going, listener, from, telemetry }: TenureWork,
): Promise<RunTenureOptions> {
  const { policy, constraints, stopConditions, workspaceRoot = "." } = options;
  const maxSameErrorRepeats = budgets?.maxSameErrorRepeats ?? options.maxSameErrorRepeats ?? null;
  return {
    leaseMs,
    claimedAt,
    clock,
    random: options.random ?? Math.random,
    pricing: options.pricing ?? UNPRICED,
    estimateTokens:
      options.estimateTokens === undefined ? estimateTokens : dependable(options.estimateTokens),
    modelTimeoutMs: options.modelTimeoutMs ?? 600_000,
    maxModelAttempts: options.maxModelAttempts ?? 3,
    maxParallelToolCalls: options.maxParallelToolCalls ?? 8,
    maxRetriesPerToolCall: budgets?.maxRetriesPerToolCall ?? options.maxRetriesPerToolCall ?? 2,
    maxSameErrorRepeats,
    streaks: resumed && maxSameErrorRepeats !== null ? await readFailures(store, runId) : [],
    rules: spec === null ? rules : makeRules(policy, bothConstraints(constraints, spec)),
    conditions: conditionsOf(spec, root, stopConditions),
    otherPipelines: options.otherPipelines ?? [],
    phases: phasesOf(root),
    folder: folderOf(runId, spec, workspaceRoot, forkedFrom),
    workDone: resumed ? await store.countWork(runId) : { steps: 0, toolCalls: 0 },
    probe: options.probe ?? NO_PROBE,
    outside: options.outside ?? DIRECT,
    emit: listener,
    telemetry,
    session,
    onCheckpoint: (checkpoint) => tellCheckpoint(options, runId, checkpoint, listener),
    from,
    acceptDivergence: going.acceptDivergence ?? null,
    redoTurn: going.redoTurn ?? false,
    cancel: going.signal,
    release: going.release,
  };
}

async function readFailures(store: Store, runId: string): Promise<readonly Failure[]> {
  return failuresIn(await store.listToolCalls(runId), await store.listToolCallTries(runId));
}

/** Whoever keeps it elsewhere may fail: the store has it. */
async function tellCheckpoint(
  { onCheckpoint }: RunnerOptions,
  runId: string,
  checkpoint: SavedCheckpoint,
  listener: RunEventListener,
): Promise<void> {
  try {
    await onCheckpoint?.(checkpoint);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    listener({ type: "warning", runId, message: `onCheckpoint failed: ${why}` });
  }
}
