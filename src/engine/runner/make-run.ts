import { digestWith, type SecretDigest } from "../../core/secret/secret-mark.ts";
import { estimateTokens, withBuiltInFallback } from "../../core/usage/token-estimate.ts";
import { UNPRICED } from "../../core/usage/usage.ts";
import { Session } from "../../session/session.ts";
import type { Claim, RunRecord, Store } from "../../store/store.ts";
import { phasesOf } from "../definition/pipeline/phases.ts";
import { makeRules, type RunRules } from "../definition/run-rules.ts";
import { RunSecrets } from "../definition/run-secrets.ts";
import { combineConstraints, conditionsOf } from "../definition/run-spec-checks.ts";
import { NO_PROBE } from "../ports/crash-points.ts";
import type { RunEvent, RunEventListener } from "../ports/run-events.ts";
import type { RunTelemetry } from "../ports/telemetry-port.ts";
import type {
  ActiveRun,
  CallParts,
  ModelParts,
  RunContract,
  RunObservers,
  RunPolicy,
  RunStop,
} from "../run/active-run.ts";
import { DIRECT_EFFECTS } from "../run/effects-port.ts";
import { endedAttempts, FailureStreaks } from "../run/failure-streaks.ts";
import { guardTelemetry } from "../run/guarded-telemetry.ts";
import { LatestGranularState } from "../run/latest-granular-state.ts";
import type { ClockReading } from "../run/lease-keeper.ts";
import { LiveAnswers } from "../run/live-answers.ts";
import { type MilestoneFrom, MilestoneRequest, type SavedCheckpoint } from "../run/milestone-request.ts";
import { RunArtifacts } from "../run/run-artifacts.ts";
import { RunBudget } from "../run/run-budget.ts";
import { folderOf } from "../run/run-folder.ts";
import { RunToolSources } from "../run/run-tool-sources.ts";
import { SessionKeeper } from "../run/session-keeper.ts";
import { TokenEstimateWarnings } from "../run/token-estimate-warnings.ts";
import { UncertainCalls } from "../run/uncertain-calls.ts";
import type { HeardOptions, ResumeOptions, RunnerSetup } from "./runner-options.ts";

/** A run that this worker has claimed, and how the caller wants it executed. */
export type ClaimedWork = {
  readonly claim: Claim;
  /** Both clocks, read before the claim was written. */
  readonly claimedAt: ClockReading;
  /** False for a run that has just begun. */
  readonly resumed: boolean;
  /** The caller continues a run that had stopped. */
  readonly isRequested: boolean;
  readonly options: ResumeOptions & HeardOptions;
  readonly listener: RunEventListener;
  /** The milestone to start from; null: steps continue after their last turn. */
  readonly from: MilestoneFrom | null;
  readonly telemetry: RunTelemetry;
};

/** Makes the parts of a run from the runner's options. Values that the run's own contract sets take precedence. */
export async function makeRun(
  setup: RunnerSetup,
  store: Store,
  work: ClaimedWork,
  stop: RunStop,
): Promise<ActiveRun> {
  const { options, clock, session: sessionOptions } = setup;
  const { run, epoch } = work.claim;
  const { runId } = run;
  const fence = { runId, epoch };
  const policy = policyOf(setup, store, run);
  const { rules, secrets } = policy;
  const observe = observersOf(setup, runId, work, secrets);
  const warn = (message: string) => observe.emit({ type: "warning", runId, message });
  const { slices, tags, trigger, mismatch } = sessionOptions;
  const session = new Session({ id: runId, createdAt: run.createdAt, slices, tags });
  const effects = options.outside ?? DIRECT_EFFECTS;
  const folder = folderOf(runId, run.spec, options.workspaceRoot ?? ".", run.forkedFrom);
  return {
    runId,
    facts: deepFrozen({ metadata: run.metadata ?? {}, context: run.callContext }),
    fence,
    store,
    contract: await contractOf(setup, store, work),
    time: {
      clock,
      random: options.random ?? Math.random,
      deadline: run.deadline,
      claimedAt: work.claimedAt,
    },
    stop,
    policy,
    model: modelParts(setup, liveAnswers(setup, store, work, { secrets, warn })),
    calls: await callParts(setup, store, work),
    resume: {
      isRequested: work.isRequested,
      milestone: new MilestoneRequest(work.from),
      acceptDivergence: work.options.acceptDivergence ?? null,
      changesHash: work.options.changesHash ?? null,
      redoTurn: work.options.redoTurn ?? false,
      onDivergence: options.onDivergence ?? "fail",
    },
    observe,
    keeper: new SessionKeeper(store, session, trigger, mismatch, warn),
    latest: new LatestGranularState(store, runId),
    artifacts: new RunArtifacts(store, fence, folder, warn, (path, content) =>
      effects.writeFile(path, content),
    ),
    sources: new RunToolSources({ signal: stop.signal, network: rules.network, warn }, secrets),
    effects,
  };
}

/** One tool must not change what the next one gets. */
function deepFrozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) for (const part of Object.values(value)) deepFrozen(part);
  return Object.freeze(value);
}

async function contractOf(
  { options, root }: RunnerSetup,
  store: Store,
  { claim: { run }, resumed }: ClaimedWork,
): Promise<RunContract> {
  const done = resumed ? await store.countWork(run.runId) : { steps: 0, toolCalls: 0 };
  return {
    spec: run.spec,
    budget: new RunBudget(run.runId, run.budgets, done),
    conditions: conditionsOf(run.spec, root, options.stopConditions),
    phases: phasesOf(root),
    limit: run.limit,
  };
}

function policyOf({ options, rules: ownRules }: RunnerSetup, store: Store, { spec }: RunRecord): RunPolicy {
  const rules =
    spec === null ? ownRules : makeRules(options.policy, combineConstraints(options.constraints, spec));
  const secrets = new RunSecrets(rules.secretKeys, digestOf(store, rules));
  secrets.learnSecrets(rules.secrets);
  return { rules, secrets };
}

/** Keyed with the operator's key, or else with that of the store. */
function digestOf(store: Store, { redactionKey }: RunRules): SecretDigest {
  return digestWith(() => redactionKey ?? store.redactionKey());
}

/** Null if the runner does not want them. */
function liveAnswers(
  { options }: RunnerSetup,
  store: Store,
  { options: { onLive } }: ClaimedWork,
  { secrets, warn }: { readonly secrets: RunSecrets; readonly warn: (message: string) => void },
): LiveAnswers | null {
  if (options.live === false) return null;
  const listeners = [options.onLive, onLive].filter((each) => each !== undefined);
  return new LiveAnswers({
    store: store.live ?? null,
    listener: listeners.length === 0 ? null : (event) => listeners.forEach((listener) => listener(event)),
    isAlways: options.live === true,
    secrets,
    warn,
  });
}

function modelParts({ options }: RunnerSetup, live: LiveAnswers | null): ModelParts {
  return {
    live,
    timeoutMs: options.modelTimeoutMs ?? 600_000,
    idleTimeoutMs: options.modelIdleTimeoutMs ?? 60_000,
    maxAttempts: options.maxModelAttempts ?? 3,
    maxOutageMs: options.maxOutageMs ?? null,
    pricing: options.pricing ?? UNPRICED,
    estimateTokens:
      options.estimateTokens === undefined ? estimateTokens : withBuiltInFallback(options.estimateTokens),
    estimateWarnings: new TokenEstimateWarnings(),
    unsettledCharges: [],
  };
}

async function callParts(
  { options }: RunnerSetup,
  store: Store,
  { claim: { run }, resumed }: ClaimedWork,
): Promise<CallParts> {
  const { runId, budgets, forkedFrom } = run;
  const maxSameErrors = budgets?.maxSameErrorRepeats ?? options.maxSameErrorRepeats ?? null;
  const failures =
    resumed && maxSameErrors !== null
      ? endedAttempts(await store.listToolCalls(runId), await store.listToolCallAttempts(runId))
      : [];
  return {
    firstRunId: forkedFrom?.firstRunId ?? runId,
    failures: FailureStreaks.after(failures, maxSameErrors),
    uncertain: new UncertainCalls(store, runId),
    maxParallel: options.maxParallelToolCalls ?? 8,
    maxRetries: budgets?.maxRetriesPerToolCall ?? options.maxRetriesPerToolCall ?? 2,
  };
}

function observersOf(
  { options }: RunnerSetup,
  runId: string,
  { listener, telemetry: given }: ClaimedWork,
  secrets: RunSecrets,
): RunObservers {
  const telemetry = guardTelemetry(given, secrets);
  return {
    emit: guarded((event) => emitToBoth(telemetry, listener, event), secrets),
    telemetry,
    probe: options.probe ?? NO_PROBE,
    onCheckpoint: (checkpoint) => deliverCheckpoint(options.onCheckpoint, runId, checkpoint, listener),
  };
}

/** The listener gets the event even if telemetry throws. */
function emitToBoth(telemetry: RunTelemetry, listener: RunEventListener, event: RunEvent): void {
  try {
    telemetry.onEvent(event);
  } finally {
    listener(event);
  }
}

/**
 * A listener gets events without secrets, and cannot stop the run: an error of its own must not come between an effect
 * and its receipt.
 */
function guarded(listener: RunEventListener, secrets: RunSecrets): RunEventListener {
  return (event) => {
    try {
      listener(event.type === "run.finished" ? event : secrets.hide(event));
    } catch {
      // The listener's own error.
    }
  };
}

/** A checkpoint that `onCheckpoint` fails on is only a warning: the store has it. */
async function deliverCheckpoint(
  onCheckpoint: ((checkpoint: SavedCheckpoint) => Promise<void> | void) | undefined,
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
