import { v7 as uuidv7 } from "uuid";
import { assertPayload } from "../../core/canonical-json.ts";
import { reviveError } from "../../core/errors.ts";
import { withoutVariables } from "../../core/job/blueprint-environment.ts";
import { assertRunSpec } from "../../core/job/run-spec.ts";
import type { Json } from "../../core/json.ts";
import { assertChosenRunId } from "../../core/run-key.ts";
import { assertRunId } from "../../core/step-path.ts";
import { assertPricing } from "../../core/usage/usage.ts";
import { withStore } from "../../store/open-store.ts";
import type { RunStatus, Store } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import { rootOf } from "../definition/pipeline-root.ts";
import { makeRules } from "../definition/run-rules.ts";
import { assertBudgetRaised } from "../definition/run-spec-checks.ts";
import type { StepNode } from "../definition/step.ts";
import type { RunEvent, RunEventListener } from "../ports/run-events.ts";
import type { RunResult } from "../ports/run-result.ts";
import { systemClock } from "../ports/system-clock.ts";
import { NO_RUN_TELEMETRY } from "../ports/telemetry-port.ts";
import { beginTelemetry } from "../run/guarded-telemetry.ts";
import { readClock } from "../run/lease-keeper.ts";
import type { MilestoneFrom } from "../run/milestone-request.ts";
import { BUILT_IN_EXECUTORS } from "../steps/built-in-executors.ts";
import { StepRegistry } from "../steps/step-registry.ts";
import { EventStream } from "./event-stream.ts";
import { forecastRun, type ResumeForecast } from "./forecast/forecast.ts";
import { type Fork, type ForkOptions, forkRun } from "./fork-run.ts";
import { LeasedRun, resultOf, withRunId } from "./leased-run.ts";
import { makeRun } from "./make-run.ts";
import { assertReasonGiven, assertSamePipeline, runNotFound } from "./run-checks.ts";
import { namedRunId } from "./run-selection.ts";
import {
  assertLimits,
  assertNoSecrets,
  milestoneFrom,
  type ResumeOptions,
  type RunnerOptions,
  type RunnerSetup,
  type RunOptions,
  sessionOptions,
  starterOf,
} from "./runner-options.ts";
import {
  AUTO_RESUME,
  assertSetupRuns,
  claimOptions,
  claimRun,
  resumedRun,
  type StartOutcome,
  startNamedRun,
  startUnnamedRun,
} from "./start-run.ts";

/**
 * Runs an agent, a step or a pipeline durably.
 *
 * @example
 * const { output } = await new Runner(researcher).run("Quantum computing breakthroughs");
 */
export class Runner<O = unknown> {
  readonly #setup: RunnerSetup<O>;

  constructor(target: Agent<O> | StepNode<O>, options: RunnerOptions = {}) {
    this.#setup = makeSetup(target, options);
  }

  /**
   * Begins a run, or resumes the one with the given `runId` or `key`. Without either, it resumes the unfinished run of the
   * same pipeline and input that a dead or closed process left. It throws and begins nothing if another process holds that
   * run, if it waits for a person, if there are several, or if the last one failed after effects outside; `fresh: true`
   * begins a new run anyway. A named run that has succeeded returns its result again; one that has failed throws its error.
   */
  run(input: Json, options: RunOptions = {}): Promise<RunResult<O>> {
    return this.#run(input, options, () => undefined);
  }

  /** Like `run`, and yields events as they happen. Leaving the loop early cancels the run. */
  stream(input: Json, options: RunOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    return new EventStream(
      (listener, signal) => this.#run(input, { ...options, signal }, listener),
      options.signal,
    ).events();
  }

  /** Resumes a run that was interrupted, has failed, waits for a person or was cancelled. */
  resume(runId: string, options: ResumeOptions = {}): Promise<RunResult<O>> {
    return withStore(this.#setup.options.store, async (store) => {
      assertRunId(runId);
      const from: RunStatus[] = ["queued", "running", "waiting", "failed", "cancelled"];
      const run = await store.getRun(runId);
      if (run !== null) assertSamePipeline(run, this.#setup.root.name);
      // Checked before the claim: a run that cannot be resumed is left as it is.
      if (run !== null && run.spec !== null) assertSetupRuns(this.#setup, run.spec);
      if (run !== null) assertBudgetRaised(run, options.budgets);
      const milestone = milestoneFrom(options.from);
      assertReasonGiven(options.acceptDivergence);
      const attempt = {
        resumedFrom: milestone === null ? "turn" : "milestone",
        reason: options.reason ?? null,
      } as const;
      const { budgets } = options;
      const request = { from, attempt, ...(budgets === undefined ? {} : { budgets }) };
      const begun = await claimRun(this.#setup, store, runId, request, options);
      return this.#execute(store, begun, options, () => undefined, milestone);
    });
  }

  /**
   * Makes a new run that continues from a turn of this one, with copies of the receipts up to that turn under its own keys.
   * The agent may be another one. The fork is queued: `resume` starts it. `laterEffects` are those that it may cause again.
   */
  fork(runId: string, options: ForkOptions): Promise<Fork> {
    return withStore(this.#setup.options.store, async (store) => {
      assertRunId(runId);
      if (options.runId !== undefined) {
        assertRunId(options.runId);
        assertChosenRunId(options.runId);
      }
      const run = await store.getRun(runId);
      if (run !== null) assertSamePipeline(run, this.#setup.root.name);
      const { rules, session, options: own } = this.#setup;
      const starter = starterOf(rules, options.startedBy ?? own.startedBy);
      const fork = { ...options, ...starter, runId: options.runId ?? uuidv7() };
      return forkRun(store, session, runId, fork);
    });
  }

  #run(input: Json, options: RunOptions, listener: RunEventListener): Promise<RunResult<O>> {
    return withStore(this.#setup.options.store, async (store) => {
      assertPayload(input, "The input of the run");
      const { rules, root, options: own } = this.#setup;
      assertNoSecrets(input, rules);
      const runId = namedRunId(options, root.name, own.identity);
      const spec = options.spec === undefined ? null : assertRunSpec(options.spec);
      if (spec !== null) assertSetupRuns(this.#setup, spec);
      if (spec !== null) assertNoSecrets(withoutVariables(spec), rules, "RunSpec");
      const start = { input, spec };
      const begun =
        runId === null
          ? await startUnnamedRun(this.#setup, store, start, options)
          : await startNamedRun(this.#setup, store, runId, start, options);
      return this.#execute(store, begun, options, listener);
    });
  }

  async #execute(
    store: Store,
    begun: StartOutcome,
    options: ResumeOptions,
    caller: RunEventListener,
    from: MilestoneFrom | null = null,
  ): Promise<RunResult<O>> {
    const listener = both(this.#setup.options.onEvent, caller);
    if (begun.kind === "ended") {
      const { run } = begun;
      if (run.status === "failed" && run.error !== null) throw withRunId(run.runId, reviveError(run.error));
      const result = await resultOf<O>(store, run, { resumed: true });
      listener({ type: "run.finished", runId: run.runId, result });
      return result;
    }
    const { claim, claimedAt, found } = begun;
    const { resumed } = found;
    const telemetry = await beginTelemetry(this.#setup.options.telemetry, store, claim.run, { resumed });
    const work = { claim, claimedAt, resumed, options, listener, from, telemetry };
    const result = await new LeasedRun(this.#setup, store, work).execute<O>(found);
    const isReleased = options.release?.aborted === true;
    return result.status === "queued" && !isReleased
      ? this.#resumeAfterAnswer(store, result, options, caller)
      : result;
  }

  /** The question was answered while the run was being released: it is resumed at once. */
  async #resumeAfterAnswer(
    store: Store,
    released: RunResult<O>,
    { redoTurn: _, ...options }: ResumeOptions,
    caller: RunEventListener,
  ): Promise<RunResult<O>> {
    const claimedAt = readClock(this.#setup.clock);
    const claim = claimOptions(this.#setup, { from: ["queued"], attempt: AUTO_RESUME }, {});
    const { runId } = released;
    const outcome = await store.claimRun(runId, claim);
    if (outcome.kind !== "claimed") {
      both(this.#setup.options.onEvent, caller)({ type: "run.finished", runId, result: released });
      return released;
    }
    const result = await this.#execute(store, resumedRun(outcome, claimedAt), options, caller);
    return { ...result, resumed: released.resumed };
  }

  /** Reports what `resume` would do, without doing any of it. */
  forecast(runId: string, options: ResumeOptions = {}): Promise<ResumeForecast> {
    return withStore(this.#setup.options.store, async (store) => {
      assertRunId(runId);
      const run = await store.getRun(runId);
      if (run === null) throw runNotFound(runId);
      assertSamePipeline(run, this.#setup.root.name);
      if (run.spec !== null) assertSetupRuns(this.#setup, run.spec);
      assertReasonGiven(options.acceptDivergence);
      const isHeld = await store.isHeld(runId);
      const claim = { epoch: run.epoch, run };
      const quiet = () => undefined;
      const work = {
        claim,
        claimedAt: readClock(this.#setup.clock),
        resumed: true,
        options,
        listener: quiet,
        from: milestoneFrom(options.from),
        telemetry: NO_RUN_TELEMETRY,
      };
      const { signal } = new AbortController();
      const stop = {
        lease: { assertHeld: quiet },
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
}

/** Checks a runner's options, and makes the setup that all of its runs share. */
export function makeSetup<O>(target: Agent<O> | StepNode<O>, options: RunnerOptions): RunnerSetup<O> {
  const root = rootOf(target);
  const registry = new StepRegistry({ ...BUILT_IN_EXECUTORS, ...options.executors });
  registry.assertKnows(root);
  if (options.pricing !== undefined) assertPricing(options.pricing);
  assertLimits(options);
  return {
    options,
    root,
    registry,
    rules: makeRules(options.policy, options.constraints),
    session: sessionOptions(root, options),
    clock: options.clock ?? systemClock,
    leaseMs: options.leaseMs ?? 30_000,
  };
}

/** Calls the runner's own listener first. The second one gets the event even if the first throws. */
function both(first: RunEventListener | undefined, second: RunEventListener): RunEventListener {
  if (first === undefined) return second;
  return (event) => {
    try {
      first(event);
    } catch {
      // The listener's own error.
    }
    second(event);
  };
}
