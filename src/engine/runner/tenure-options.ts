import { estimateTokens, withBuiltInFallback } from "../../core/usage/token-estimate.ts";
import { UNPRICED } from "../../core/usage/usage.ts";
import type { Claim, Store } from "../../store/store.ts";
import { phasesOf } from "../definition/phases.ts";
import { makeRules } from "../definition/run-rules.ts";
import { bothConstraints, conditionsOf } from "../definition/run-spec-checks.ts";
import { NO_PROBE } from "../ports/crash-points.ts";
import type { RunEventListener } from "../ports/run-events.ts";
import type { RunTelemetry } from "../ports/telemetry-port.ts";
import { DIRECT } from "../run/effects-port.ts";
import { type Failure, failuresIn } from "../run/failure-streaks.ts";
import type { ClockReading } from "../run/lease-keeper.ts";
import type { MilestoneFrom, SavedCheckpoint } from "../run/milestone-request.ts";
import { folderOf } from "../run/run-folder.ts";
import type { RunTenureOptions } from "./make-run.ts";
import type { ResumeOptions, RunnerOptions, RunnerSetup } from "./runner-options.ts";

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
  { options, clock, leaseMs, rules, session, root }: RunnerSetup,
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
      options.estimateTokens === undefined ? estimateTokens : withBuiltInFallback(options.estimateTokens),
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
  return failuresIn(await store.listToolCalls(runId), await store.listToolCallAttempts(runId));
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
