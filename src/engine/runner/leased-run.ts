import {
  LeaseLostError,
  PausedError,
  PawlError,
  PersonNeededError,
  PipelineAbortError,
  StoreUnavailableError,
} from "../../core/errors.ts";
import { finalOutputOf } from "../../core/job/run-outputs.ts";
import { isJsonObject, type JsonObject, throughJson } from "../../core/json.ts";
import { textOf } from "../../core/message.ts";
import { ROOT_PATH } from "../../core/step-path.ts";
import type { StoredError } from "../../core/stored-error.ts";
import type {
  Fence,
  ModelCallRecord,
  ModelCallSettlement,
  RunEnd,
  RunRecord,
  Store,
} from "../../store/store.ts";
import { personNeeded } from "../call/call-questions.ts";
import { conversationsOf } from "../definition/conversation-step.ts";
import { agentSteps } from "../definition/known-tools.ts";
import type { RunSecrets } from "../definition/run-secrets.ts";
import type { RunOutcome, RunResult } from "../ports/run-result.ts";
import { type ActiveRun, type RunStop, type RunWith, reach } from "../run/active-run.ts";
import { lastGranularState } from "../run/latest-granular-state.ts";
import { type Lease, LeaseKeeper } from "../run/lease-keeper.ts";
import { ModelCuts } from "../run/model-cuts.ts";
import { onLook } from "../run/run-lookers.ts";
import { isTelemetryExpected, writeTelemetry } from "../run/telemetry-files.ts";
import { BUILT_IN_EXECUTORS } from "../steps/built-in-executors.ts";
import { stepFailed } from "../steps/execute-step.ts";
import { StepRegistry } from "../steps/step-registry.ts";
import { type ClaimedWork, makeRun } from "./make-run.ts";
import { requireRun, withRunId } from "./run-checks.ts";
import { budgetQuestion, runPipeline } from "./run-pipeline.ts";
import type { RunnerSetup } from "./runner-options.ts";
import { wakeIfDue } from "./wake-if-due.ts";

/** The state in which a worker found the run that it claimed. */
export type ClaimFindings = {
  /** False for a run that has just begun. */
  readonly resumed: boolean;
  /** The caller continues a run that had stopped. */
  readonly isRequested: boolean;
  /** Model calls of the worker before that were never answered: they are charged in full. */
  readonly lost: readonly ModelCallRecord[];
  /** Tool calls that were running when the worker before stopped. */
  readonly foundInDoubt: readonly string[];
};

/** A run while this worker holds its lease: from the claim to the release, with the lease renewed in between. */
export class LeasedRun {
  readonly #setup: RunnerSetup;
  readonly #store: Store;
  readonly #work: ClaimedWork;
  readonly #fence: Fence;
  readonly #stop = new AbortController();
  readonly #releasing = new AbortController();
  readonly #listeners = new Set<(reason: Error) => void>();
  readonly #cuts = new ModelCuts();

  constructor(setup: RunnerSetup, store: Store, work: ClaimedWork) {
    this.#setup = setup;
    this.#store = store;
    this.#work = work;
    this.#fence = { runId: work.claim.run.runId, epoch: work.claim.epoch };
  }

  async execute<O>(found: ClaimFindings): Promise<RunResult<O>> {
    const { clock, leaseMs, root } = this.#setup;
    const { claimedAt, options } = this.#work;
    const { signal: cancel, release } = options;
    const onCancel = () => this.#abort(new Cancelled());
    const onRelease = () => this.#releasing.abort(new Released());
    const lease = new LeaseKeeper(this.#store, this.#fence, { clock, leaseMs, claimedAt }, (error) =>
      this.#abort(error),
    );
    cancel?.addEventListener("abort", onCancel, { once: true });
    if (cancel?.aborted === true) onCancel();
    release?.addEventListener("abort", onRelease, { once: true });
    if (release?.aborted === true) onRelease();
    const look = () => void this.#lookForRequests();
    const stopPolling = clock.every(LOOK_MS, look);
    const stopListening = onLook(this.#store, this.#fence.runId, look);
    const attendance = this.#store.attend(this.#fence);
    const { closing } = attendance;
    const onClosing = () => this.#releasing.abort(closing.reason);
    closing.addEventListener("abort", onClosing, { once: true });
    if (closing.aborted) onClosing();
    try {
      const run = await makeRun(this.#setup, this.#store, this.#work, this.#makeStop(lease, closing));
      // For all steps, also for finished ones, which this process does not execute.
      for (const { agent } of agentSteps(root))
        for (const { secrets } of Object.values(agent.tools)) run.policy.secrets.learnSecrets(secrets);
      try {
        return await this.#traced(run, () => this.#executePipeline<O>(run, found));
      } finally {
        run.keeper.session.close();
        await run.sources.close();
      }
    } finally {
      lease.stop();
      stopPolling();
      stopListening();
      cancel?.removeEventListener("abort", onCancel);
      release?.removeEventListener("abort", onRelease);
      closing.removeEventListener("abort", onClosing);
      attendance.leave();
    }
  }

  /** Runs `work` in the run's span. A trace id that cannot be stored does not fail the run. */
  async #traced<T>(run: RunWith<"observe">, work: () => Promise<T>): Promise<T> {
    const {
      observe: { telemetry },
    } = run;
    const { traceParent } = telemetry;
    if (traceParent !== null) await this.#store.keepTrace(this.#fence, traceParent).catch(() => undefined);
    try {
      const result = await telemetry.during(work);
      telemetry.end(null);
      return result;
    } catch (error) {
      telemetry.end(error);
      throw error;
    }
  }

  #makeStop(lease: Lease, closing: AbortSignal): RunStop {
    return {
      lease,
      closing,
      cuts: this.#cuts,
      releasing: this.#releasing.signal,
      signal: this.#stop.signal,
      onAbort: (listener) => {
        if (this.#stop.signal.aborted) listener(this.#stop.signal.reason as Error);
        this.#listeners.add(listener);
        return () => void this.#listeners.delete(listener);
      },
    };
  }

  /** Requests may come from other processes, through the store. Only a conversation has others than to cancel. */
  async #lookForRequests(): Promise<void> {
    const { runId } = this.#fence;
    try {
      if (conversationsOf(this.#setup.root).length === 0) {
        if (await this.#store.isCancelRequested(runId)) this.#abort(new Cancelled());
        return;
      }
      const { cancel, stop, interrupt } = await this.#store.readRequests(runId);
      if (cancel) this.#abort(new Cancelled());
      if (stop) this.#cuts.request("stop");
      else if (interrupt) this.#cuts.request("interrupt");
    } catch {
      // A store that is busy may answer the next poll.
    }
  }

  /** Only the first reason counts. */
  #abort(reason: Error): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(reason);
    for (const listener of this.#listeners) listener(reason);
  }

  async #executePipeline<O>(
    run: ActiveRun,
    { resumed, lost, foundInDoubt }: ClaimFindings,
  ): Promise<RunResult<O>> {
    const { runId } = run;
    const { root, options, session } = this.#setup;
    run.observe.emit({ type: "run.started", runId, resumed });
    for (const toolCallId of foundInDoubt) run.observe.emit({ type: "tool.in_doubt", runId, toolCallId });
    for (const { stepPath: step, turnIndex: turn, attempt, reserved: charged } of lost) {
      run.observe.emit({ type: "usage.baseline", runId, step, turn, attempt, charged });
    }
    try {
      if (!resumed) reach(run, "run:created", ROOT_PATH, 0);
      const { output, context } = await runPipeline(run, {
        registry: new StepRegistry({ ...BUILT_IN_EXECUTORS, ...options.executors }),
        root,
        resumed,
        currentStep: this.#work.claim.run.currentStep,
        otherPipelines: options.otherPipelines ?? [],
        onSession: session.onSession,
      });
      if (isTelemetryExpected(run)) await writeTelemetry(run);
      reach(run, "run:before-finish", ROOT_PATH, 0);
      const { spec } = run.contract;
      const finalArtifact = spec === null ? null : finalOutputOf(spec.artifacts);
      await this.#store.releaseRun(this.#fence, { status: "succeeded", output, context, finalArtifact });
      reach(run, "run:finished", ROOT_PATH, 0);
      await writeTelemetry(run);
    } catch (error) {
      await this.#fail(run, error);
    }
    return this.#result(run, { resumed });
  }

  async #result<O>(
    run: RunWith<"runId" | "observe">,
    { resumed }: Pick<ClaimFindings, "resumed">,
  ): Promise<RunResult<O>> {
    const { runId } = run;
    // It may be deleted by now: it has ended, and no longer belongs to this worker.
    const record = await requireRun(this.#store, runId);
    const result = await resultOf<O>(this.#store, record, { resumed });
    // Queued without a release: the runner claims the run again at once, and emits its end then.
    if (result.status !== "queued" || this.#releasing.signal.aborted)
      run.observe.emit({ type: "run.finished", runId, result });
    return result;
  }

  /** Releases the run with the status that follows from the error, and throws the error unless that status is a result. */
  async #fail(run: ActiveRun, error: unknown): Promise<void> {
    await run.keeper.lateCheckpoint();
    const reason: unknown = this.#stop.signal.aborted ? this.#stop.signal.reason : error;
    const lost = [reason, error].find((each) => LeaseLostError.isInstance(each));
    if (run.stop.closing.aborted && (lost !== undefined || reason === run.stop.closing.reason)) {
      // If this cannot be written now, closing the store writes it or has written it.
      await this.#store.interruptRun(this.#fence).catch(() => undefined);
      throw withRunId(run.runId, run.stop.closing.reason);
    }
    if (lost !== undefined) {
      run.observe.emit({ type: "lease.lost", runId: run.runId, epoch: this.#fence.epoch });
      // Frees the run for the next worker at once. If another worker holds it already, the store refuses this.
      await this.#store.interruptRun(this.#fence).catch(() => undefined);
      throw withRunId(run.runId, lost);
    }
    const question = await budgetQuestion(run, reason);
    const end = endOf(
      question === null ? reason : personNeeded(run, [question]),
      this.#setup.root.name,
      run.policy.secrets,
    );
    try {
      for (const settlement of run.model.unsettledCharges) await this.#settle(settlement);
      if (end.run.status === "waiting") reach(run, "run:before-wait", ROOT_PATH, 0);
      await this.#store.releaseRun(this.#fence, end.run);
      if (end.run.status === "waiting") reach(run, "run:waiting", ROOT_PATH, 0);
      // A wait of no time, or until a time that has passed: the run continues at once.
      if (end.run.status === "waiting") await wakeIfDue(this.#store, run.runId);
    } catch (refused) {
      // The first error is the one to throw. The run can still be claimed through this store, and closing the store frees it.
      if (end.thrown === null) throw refused;
      run.observe.emit({
        type: "warning",
        runId: run.runId,
        message: `The run could not be released: ${String(refused)}`,
      });
    }
    await writeTelemetry(run);
    if (end.thrown !== null) throw withRunId(run.runId, end.thrown);
  }

  /** While the store cannot write the charge, the run is not released: the next worker's claim charges it. */
  async #settle(settlement: ModelCallSettlement): Promise<void> {
    try {
      await this.#store.settleModelCall(this.#fence, settlement);
    } catch (error) {
      // Any other refusal means that the call is settled already, or is settled with the release: what a database has
      // lost is charged there.
      if (StoreUnavailableError.isInstance(error) && error.details.reason !== "lost_commits") throw error;
    }
  }
}

/** How often a worker looks for requests to its run. */
const LOOK_MS = 1_000;

/** The caller releases the run: calls in progress are finished. */
class Released extends Error {
  constructor() {
    super("The run was released.");
    this.name = "AbortError";
  }
}

/** The caller cancels the run: a result, not a failure. */
class Cancelled extends Error {
  constructor() {
    super("The run was cancelled.");
    this.name = "AbortError";
  }
}

function endOf(
  error: unknown,
  step: string,
  secrets: RunSecrets,
): { readonly run: RunEnd; readonly thrown: Error | null } {
  if (error instanceof Cancelled) return { run: { status: "cancelled", error: null }, thrown: null };
  if (error instanceof Released) return { run: { status: "queued" }, thrown: null };
  if (PersonNeededError.isInstance(error))
    return { run: { status: "waiting", error: null, waits: error.details.waits }, thrown: null };
  const thrown = PawlError.isInstance(error) ? error : stepFailed(error, step);
  secrets.redactError(thrown);
  const storedError = stored(thrown, secrets);
  if (PausedError.isInstance(error))
    return { run: { status: "waiting", error: storedError, waits: [] }, thrown };
  const status = PipelineAbortError.isInstance(error) ? "cancelled" : "failed";
  return { run: { status, error: storedError }, thrown };
}

/** The error as JSON, whatever user code put into it: an error that cannot be stored would leave the run without an end. */
function stored({ code, message, details }: PawlError, secrets: RunSecrets): StoredError {
  return secrets.hide({ code, message: message.toWellFormed(), details: storedDetails(details) });
}

function storedDetails(details: unknown): JsonObject {
  try {
    const json = throughJson(details);
    return isJsonObject(json) ? json : {};
  } catch {
    return {};
  }
}

export async function resultOf<O>(
  store: Store,
  run: RunRecord,
  { resumed }: Pick<ClaimFindings, "resumed">,
): Promise<RunResult<O>> {
  const talk = run.status === "waiting" ? await conversationOf(store, run) : null;
  // The history of a conversation grows for weeks: a caller that needs it reads it.
  const state = talk === null ? await lastGranularState(store, run.runId) : null;
  const context = isJsonObject(run.context) ? run.context : {};
  const waits = await store.listWaits(run.runId, { open: true });
  if (run.status === "waiting" && waits.length === 0) {
    // Its last wait was settled after the run was read: a late receipt may do that at any time.
    const now = await store.getRun(run.runId);
    if (now !== null && now.status !== "waiting") return resultOf(store, now, { resumed });
  }
  return {
    runId: run.runId,
    ...outcomeOf<O>(run),
    context: { ...context, ...(state === null ? {} : { granularState: state }) },
    usage: await store.readUsage(run.runId),
    waits,
    ...(talk === null ? {} : { conversation: talk }),
    resumed,
  };
}

/** The conversation that the run waits in; null if it waits elsewhere. */
async function conversationOf(
  store: Store,
  { runId, currentStep }: RunRecord,
): Promise<NonNullable<RunResult<unknown>["conversation"]> | null> {
  const step = currentStep === null ? null : await store.findStep(runId, currentStep);
  if (step?.kind !== "conversation") return null;
  const { exchange } = await store.readMailbox(runId, step.stepKey);
  if (exchange === null) return null;
  const last = (await store.readConversation(runId, step.stepKey, 0)).tail.at(-1);
  const isAnswer = last !== undefined && last.turnIndex >= exchange.firstTurn;
  return { exchange, answer: isAnswer ? textOf(last.response.content) : null };
}

function outcomeOf<O>({ status, output }: RunRecord): RunOutcome<O> {
  if (status === "succeeded") return { status, output: output as O };
  // A run that this worker has released, and another one has taken since, is not this worker's to report on.
  return { status: status === "waiting" || status === "cancelled" ? status : "queued", output: null };
}
