import { digestWith, type SecretDigest } from "../../core/secret/secret-mark.ts";
import type { CheckpointTrigger } from "../../session/checkpoint-trigger.ts";
import { Session, type Tags } from "../../session/session.ts";
import type { SliceSet } from "../../session/slice-set.ts";
import type { Claim, Store } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import type { RunRules } from "../definition/run-rules.ts";
import { RunSecrets } from "../definition/run-secrets.ts";
import type { StepNode } from "../definition/step.ts";
import type { RunEvent, RunEventListener } from "../ports/run-events.ts";
import type { RunTelemetry } from "../ports/telemetry-port.ts";
import { harmless } from "../run/begin-telemetry.ts";
import { EstimateWatch } from "../run/estimate-watch.ts";
import { type Failure, FailureStreaks } from "../run/failure-streaks.ts";
import { LatestGranularState } from "../run/latest-granular-state.ts";
import { type MilestoneFrom, MilestoneRequest } from "../run/milestone-request.ts";
import { RunArtifacts } from "../run/run-artifacts.ts";
import { RunBudget, type WorkDone } from "../run/run-budget.ts";
import type { RunHandle } from "../run/run-handle.ts";
import { RunToolSources } from "../run/run-tool-sources.ts";
import { SessionKeeper, type SliceMismatch } from "../run/session-keeper.ts";
import { Uncertainties } from "../run/uncertain-calls.ts";
import type { RunFolder } from "../run/workspace.ts";

type TenureFields =
  | "runId"
  | "firstRunId"
  | "fence"
  | "store"
  | "lease"
  | "limit"
  | "owed"
  | "signal"
  | "onAbort"
  | "secrets"
  | "failures"
  | "uncertainties"
  | "estimates"
  | "keeper"
  | "latest"
  | "deadline"
  | "spec"
  | "budget"
  | "artifacts"
  | "sources"
  | "releasing"
  | "closing"
  | "milestone";

/** What a run is worked on with, beside what is known of the run itself. */
export type RunTenureOptions = Omit<RunHandle, TenureFields> & {
  readonly leaseMs: number;
  readonly maxSameErrorRepeats: number | null;
  readonly session: RunSessionOptions;
  /** Null: steps go on where they were left. */
  readonly from: MilestoneFrom | null;
  readonly cancel: AbortSignal | undefined;
  readonly release: AbortSignal | undefined;
  /** What else the runner's rules are for. */
  readonly otherPipelines: readonly (Agent | StepNode)[];
  /** The folder of the run. */
  readonly folder: RunFolder;
  /** What the run has done before this worker took it. */
  readonly workDone: WorkDone;
  readonly streaks: readonly Failure[];
};

/** What the run's session is made with. */
export type RunSessionOptions = {
  readonly slices: SliceSet;
  readonly trigger: CheckpointTrigger;
  readonly mismatch: SliceMismatch;
  readonly tags: Tags;
  readonly onSession: (session: Session) => void;
};

/** What holds the run, and what stops the work on it. */
export type Hold = Pick<RunHandle, "lease" | "releasing" | "closing" | "signal" | "onAbort">;

export function makeRunHandle(
  store: Store,
  { run, epoch }: Claim,
  options: RunTenureOptions,
  hold: Hold,
): RunHandle {
  const { runId } = run;
  const fence = { runId, epoch };
  const { slices, tags, trigger, mismatch } = options.session;
  const secrets = new RunSecrets(options.rules.secretKeys, digestOf(store, options.rules));
  secrets.learnSecrets(options.rules.secrets);
  const telemetry = harmless(options.telemetry, secrets);
  const emit = toldWithoutSecrets((event) => tellBoth(telemetry, options.emit, event), secrets);
  const warn = (message: string) => emit({ type: "warning", runId, message });
  const session = new Session({ id: runId, createdAt: run.createdAt, slices, tags });
  return {
    ...options,
    ...hold,
    emit,
    telemetry,
    keeper: new SessionKeeper(store, session, trigger, mismatch, warn),
    latest: new LatestGranularState(store, runId),
    deadline: run.deadline,
    milestone: new MilestoneRequest(options.from),
    runId,
    firstRunId: run.forkedFrom?.firstRunId ?? runId,
    fence,
    store,
    limit: run.limit,
    owed: [],
    secrets,
    spec: run.spec,
    budget: new RunBudget(runId, run.budgets, options.workDone),
    artifacts: new RunArtifacts(store, fence, options.folder, warn, (path, content) =>
      options.outside.writeFile(path, content),
    ),
    sources: new RunToolSources({ signal: hold.signal, network: options.rules.network, warn }, secrets),
    failures: FailureStreaks.after(options.streaks, options.maxSameErrorRepeats),
    uncertainties: new Uncertainties(store, runId),
    estimates: new EstimateWatch(),
  };
}

/** By the operator's key, or that of the store. */
function digestOf(store: Store, { redactionKey }: RunRules): SecretDigest {
  return digestWith(() => redactionKey ?? store.redactionKey());
}

/** What telemetry makes of it must not keep whoever listens from hearing. */
function tellBoth(telemetry: RunTelemetry, emit: RunEventListener, event: RunEvent): void {
  try {
    telemetry.onEvent(event);
  } finally {
    emit(event);
  }
}

/**
 * Whoever listens is told and not asked: what a listener throws must not come between an effect and its receipt. What a
 * run knows to be secret, nobody is told.
 */
function toldWithoutSecrets(listener: RunEventListener, secrets: RunSecrets): RunEventListener {
  return (event) => {
    try {
      listener(event.type === "run.finished" ? event : secrets.hide(event));
    } catch {
      // It is the listener's own.
    }
  };
}
