// What a `Runner` does with a store: the part of it that is loaded with its first run, since it brings most of the engine.

import { assertBudgetRaised } from "../../core/run/resume-request.ts";
import { assertChosenRunId } from "../../core/run-key.ts";
import { assertRunId } from "../../core/step-path.ts";
import { withStore } from "../../store/open-store.ts";
import type {
  ClaimOptions,
  ClaimOutcome,
  MessageStatus,
  RunRecord,
  RunStatus,
  StopOutcome,
  Store,
} from "../../store/store.ts";
import { loadModels } from "../definition/step.ts";
import type { RunEventListener } from "../ports/run-events.ts";
import type { RunResult } from "../ports/run-result.ts";
import { NO_RUN_TELEMETRY } from "../ports/telemetry-port.ts";
import { beginTelemetry } from "../run/guarded-telemetry.ts";
import { readClock } from "../run/lease-keeper.ts";
import type { MilestoneFrom } from "../run/milestone-request.ts";
import { ModelCuts } from "../run/model-cuts.ts";
import { advance } from "./advance-run.ts";
import { bothListeners } from "./both-listeners.ts";
import { failedEarlierInProgram } from "./failed-run.ts";
import { forecastRun, type ResumeForecast } from "./forecast/forecast.ts";
import { type Fork, type ForkOptions, forkRun } from "./fork-run.ts";
import { LeasedRun, resultOf } from "./leased-run.ts";
import { type ClaimedWork, makeRun } from "./make-run.ts";
import { assertSetupRuns, newContract } from "./new-contract.ts";
import { newRunId } from "./new-run-id.ts";
import type {
  Addressee,
  Advanced,
  AdvanceOptions,
  EnqueuedRun,
  EnqueueOptions,
  MessageReceipt,
  MessageToRun,
  SendOptions,
  StopOptions,
} from "./queue-options.ts";
import { enqueue, send, stop, unsend } from "./queued-runs.ts";
import { aboutRun, assertConsent, assertSamePipeline, inputAsJson, requireRun } from "./run-checks.ts";
import { namedRunId } from "./run-selection.ts";
import { assertForkOptions, assertResumeOptions } from "./runner-option-names.ts";
import {
  type HeardOptions,
  milestoneFrom,
  type ResumeOptions,
  type RunnerSetup,
  type RunOptions,
  starterOf,
} from "./runner-options.ts";
import { assertNoSecrets } from "./secret-input.ts";
import {
  AUTO_RESUME,
  claimOptions,
  claimRun,
  resumedRun,
  type StartOutcome,
  startNamedRun,
  startUnnamedRun,
  UNFINISHED,
} from "./start-run.ts";

export { assertNoSecrets } from "./secret-input.ts";

/**
 * True if a worker died in the middle of the run, also if the next one released it again: the run has not stopped by itself,
 * so the caller does not continue one that had.
 */
async function wasInterrupted(store: Store, { runId, status }: RunRecord): Promise<boolean> {
  if (status !== "queued") return status === "running";
  const ends = (await store.listAttempts(runId)).map(({ endStatus }) => endStatus);
  const last = ends.findLast((end) => end !== "queued" && end !== "interrupted");
  // A new fork has no attempts, and a run that waited for an answer has one that ended so.
  return ends.length > 0 && (last === undefined || last === null);
}

/** How the claimed run is resumed: as a person has asked for, if the run has such a request. */
function requestedWork(
  { resumeRequest }: RunRecord,
  own: Pick<ClaimedWork, "isRequested" | "options" | "from">,
): typeof own {
  if (resumeRequest === null) return own;
  const { from, redoTurn, acceptDivergence, changesHash } = resumeRequest;
  const options = {
    ...own.options,
    redoTurn,
    ...(acceptDivergence === null ? {} : { acceptDivergence }),
    ...(changesHash === null ? {} : { changesHash }),
  };
  return { isRequested: true, options, from: milestoneFrom(from) };
}

/** How a worker claims a run. */
export type WorkerClaim = Pick<ClaimOptions, "from" | "limits" | "maxStalls" | "workerVersion">;

/** A run that a worker has claimed, and its end; or why it has not. */
export type WorkerOutcome<O> =
  | { readonly kind: "claimed"; readonly run: RunRecord; readonly ended: Promise<RunResult<O>> }
  | Exclude<ClaimOutcome, { kind: "claimed" }>;

/** The requests of callers to a runner, with a store each: the given one, or the default one, opened for it. */
export class RunRequests<O> {
  readonly #setup: RunnerSetup;

  constructor(setup: RunnerSetup) {
    this.#setup = setup;
  }

  run(given: unknown, options: RunOptions & HeardOptions, listener: RunEventListener): Promise<RunResult<O>> {
    return withStore(this.#setup.options.store, async (store) => {
      const input = inputAsJson(given);
      const { rules, root, options: own } = this.#setup;
      assertNoSecrets(input, rules);
      const runId = namedRunId(options, root.name, own.identity);
      const spec = newContract(this.#setup, options.spec, input);
      await loadModels(root);
      const start = { input, spec, hasOwnSpec: options.spec !== undefined };
      const begun =
        runId === null
          ? await startUnnamedRun(this.#setup, store, start, options)
          : await startNamedRun(this.#setup, store, runId, start, options);
      return this.#execute(store, begun, options, listener);
    });
  }

  resume(runId: string, options: ResumeOptions, listener: RunEventListener): Promise<RunResult<O>> {
    return this.#about(runId, async (store) => {
      assertResumeOptions("resume", options);
      const from: RunStatus[] = ["queued", "running", "waiting", "failed", "cancelled"];
      const run = await store.getRun(runId);
      if (run !== null) assertSamePipeline(run, this.#setup.root.name);
      // Checked before the claim: a run that cannot be resumed is left as it is.
      if (run !== null && run.spec !== null) assertSetupRuns(this.#setup, run.spec);
      if (run !== null) assertBudgetRaised(run.error, options.budgets);
      const milestone = milestoneFrom(options.from);
      assertConsent(options);
      await loadModels(this.#setup.root);
      const attempt = {
        resumedFrom: milestone === null ? "turn" : "milestone",
        reason: options.reason ?? null,
      } as const;
      const { budgets } = options;
      const isRequested = run !== null && !(await wasInterrupted(store, run));
      const request = {
        from,
        attempt,
        isRequested,
        replacesRequest: true,
        ...(budgets === undefined ? {} : { budgets }),
      };
      const begun = await claimRun(this.#setup, store, runId, request, options);
      return this.#execute(store, begun, options, listener, milestone);
    });
  }

  /** For a worker: claims the run, if it may have it, and begins to work on it. */
  async workOn(
    store: Store,
    runId: string,
    claim: WorkerClaim,
    options: Pick<ResumeOptions, "signal" | "release">,
    listener: RunEventListener = () => undefined,
  ): Promise<WorkerOutcome<O>> {
    const run = await store.getRun(runId);
    // Checked before the claim: a run that cannot be executed here is left as it is.
    if (run !== null) assertSamePipeline(run, this.#setup.root.name);
    if (run !== null && run.spec !== null) assertSetupRuns(this.#setup, run.spec);
    await loadModels(this.#setup.root);
    const claimedAt = readClock(this.#setup.clock);
    const request = { from: claim.from, attempt: AUTO_RESUME };
    const outcome = await store.claimRun(runId, {
      ...claimOptions(this.#setup, request, {}),
      ...claim,
      onlyIfReady: true,
    });
    if (outcome.kind !== "claimed") return outcome;
    const ended = this.#executeOnce(store, resumedRun(outcome, claimedAt), options, listener);
    // The caller may await it later.
    ended.catch(() => undefined);
    return { kind: "claimed", run: outcome.claim.run, ended };
  }

  enqueue(input: unknown, options: EnqueueOptions): Promise<EnqueuedRun> {
    return this.#withStore((store) => enqueue(this.#setup, store, input, options));
  }

  send(to: Addressee, message: MessageToRun, options: SendOptions): Promise<MessageReceipt> {
    return this.#withStore((store) => send(this.#setup, store, to, message, options));
  }

  unsend(runId: string, messageId: string): Promise<MessageStatus> {
    return this.#withStore((store) => unsend(store, runId, messageId));
  }

  stop(runId: string, options: StopOptions): Promise<StopOutcome> {
    return this.#withStore((store) => stop(store, runId, options));
  }

  advance(runId: string, options: AdvanceOptions): Promise<Advanced> {
    return this.#about(runId, (store) =>
      advance(store, runId, options, {
        workOn: (claim, work, listener) => this.workOn(store, runId, claim, work, listener),
        now: () => this.#setup.clock.now(),
      }),
    );
  }

  #withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    return withStore(this.#setup.options.store, work);
  }

  fork(runId: string, options: ForkOptions): Promise<Fork> {
    return this.#about(runId, async (store) => {
      assertForkOptions(options);
      if (options.runId !== undefined) {
        assertRunId(options.runId);
        assertChosenRunId(options.runId);
      }
      const run = await store.getRun(runId);
      if (run !== null) assertSamePipeline(run, this.#setup.root.name);
      const { rules, session, options: own } = this.#setup;
      const starter = starterOf(rules, options.startedBy ?? own.startedBy);
      const fork = { ...options, ...starter, runId: options.runId ?? newRunId() };
      return forkRun(store, session, runId, fork);
    });
  }

  forecast(runId: string, options: ResumeOptions): Promise<ResumeForecast> {
    return this.#about(runId, async (store) => {
      assertResumeOptions("forecast", options);
      const run = await requireRun(store, runId);
      assertSamePipeline(run, this.#setup.root.name);
      if (run.spec !== null) assertSetupRuns(this.#setup, run.spec);
      assertConsent(options);
      const isHeld = await store.isHeld(runId);
      const claim = { epoch: run.epoch, run };
      const quiet = () => undefined;
      const work = {
        claim,
        claimedAt: readClock(this.#setup.clock),
        resumed: true,
        isRequested: true,
        options,
        listener: quiet,
        from: milestoneFrom(options.from),
        telemetry: NO_RUN_TELEMETRY,
      };
      const { signal } = new AbortController();
      const stop = {
        lease: { assertHeld: quiet },
        cuts: new ModelCuts(),
        releasing: signal,
        closing: signal,
        signal,
        onAbort: () => quiet,
      };
      return forecastRun(this.#setup, await makeRun(this.#setup, store, work, stop), {
        run,
        isHeld,
        options,
      });
    });
  }

  /** Works with the store on the run that the caller names. */
  #about<T>(runId: string, work: (store: Store) => Promise<T>): Promise<T> {
    return this.#withStore(async (store) => {
      assertRunId(runId);
      return aboutRun(runId, () => work(store));
    });
  }

  async #execute(
    store: Store,
    begun: StartOutcome,
    options: ResumeOptions & HeardOptions,
    caller: RunEventListener,
    from: MilestoneFrom | null = null,
  ): Promise<RunResult<O>> {
    const result = await this.#executeOnce(store, begun, options, caller, from);
    const isReleased = options.release?.aborted === true;
    return begun.kind === "work" && result.status === "queued" && !isReleased
      ? this.#resumeAfterAnswer(store, result, options, caller)
      : result;
  }

  async #executeOnce(
    store: Store,
    begun: StartOutcome,
    options: ResumeOptions & HeardOptions,
    caller: RunEventListener,
    from: MilestoneFrom | null = null,
  ): Promise<RunResult<O>> {
    const listener = bothListeners(this.#setup.options.onEvent, caller);
    if (begun.kind === "ended") {
      const { run } = begun;
      const failure = failedEarlierInProgram(run);
      if (failure !== null) throw failure;
      const result = await resultOf<O>(store, run, { resumed: true });
      listener({ type: "run.finished", runId: run.runId, result });
      return result;
    }
    const { claim, claimedAt, found } = begun;
    const { resumed } = found;
    const telemetry = await beginTelemetry(this.#setup.options.telemetry, store, claim.run, { resumed });
    const asked = requestedWork(claim.run, { isRequested: found.isRequested, options, from });
    const work = { claim, claimedAt, resumed, ...asked, listener, telemetry };
    return new LeasedRun(this.#setup, store, work).execute<O>(found);
  }

  /** The question was answered while the run was being released: it is resumed at once. */
  async #resumeAfterAnswer(
    store: Store,
    released: RunResult<O>,
    { redoTurn: _, ...options }: ResumeOptions & HeardOptions,
    caller: RunEventListener,
  ): Promise<RunResult<O>> {
    const { runId } = released;
    if (options.wait === true) {
      // Another worker may have been faster: then its end is awaited.
      const begun = await claimRun(this.#setup, store, runId, UNFINISHED, {
        wait: true,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      const result = await this.#execute(store, begun, options, caller);
      return { ...result, resumed: released.resumed };
    }
    const claimedAt = readClock(this.#setup.clock);
    const claim = claimOptions(this.#setup, { from: ["queued"], attempt: AUTO_RESUME }, {});
    const outcome = await store.claimRun(runId, claim);
    if (outcome.kind !== "claimed") {
      bothListeners(this.#setup.options.onEvent, caller)({ type: "run.finished", runId, result: released });
      return released;
    }
    const result = await this.#execute(store, resumedRun(outcome, claimedAt), options, caller);
    return { ...result, resumed: released.resumed };
  }
}
