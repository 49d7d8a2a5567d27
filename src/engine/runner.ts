import { v7 as uuidv7 } from "uuid";
import { withoutVariables } from "../core/blueprint-environment.ts";
import { assertPayload, canonicalHash } from "../core/canonical-json.ts";
import { reviveError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { assertChosenRunId } from "../core/run-key.ts";
import { assertRunSpec, type RunSpec } from "../core/run-spec.ts";
import { assertRunId } from "../core/step-path.ts";
import { assertPricing, UNPRICED } from "../core/usage.ts";
import { withStore } from "../store/open-store.ts";
import type {
  AttemptReason,
  Claim,
  ClaimOptions,
  ClaimOutcome,
  RunRecord,
  RunStatus,
  Store,
} from "../store/store.ts";
import type { Agent } from "./agent.ts";
import { beginTelemetry } from "./begin-telemetry.ts";
import { whenExecutor } from "./blueprint-when.ts";
import { codeStepExecutor } from "./code-step-executor.ts";
import { NO_PROBE } from "./crash-points.ts";
import { EventStream } from "./event-stream.ts";
import { forecastRun, type ResumeForecast } from "./forecast.ts";
import { type Fork, type ForkOptions, forkRun } from "./fork-run.ts";
import { granularExecutor, turnLoopExecutor } from "./granular-executor.ts";
import { type ClockReading, readClock } from "./lease-keeper.ts";
import { loopExecutor } from "./loop-executor.ts";
import { makeRunHandle, type RunSessionOptions, type RunTenureOptions } from "./make-run-handle.ts";
import type { MilestoneFrom } from "./milestone-request.ts";
import { pipelineExecutor } from "./pipeline-executor.ts";
import { rootOf } from "./pipeline-root.ts";
import { shapeOf } from "./pipeline-shape.ts";
import type { Clock } from "./ports.ts";
import { assertBudgetRaised, assertRunnable, assertSameSpec, bothConstraints } from "./run-contract.ts";
import type { RunEvent, RunEventListener } from "./run-events.ts";
import { folderOf } from "./run-folder.ts";
import { assertFolderIsFree } from "./run-mark.ts";
import type { RunResult } from "./run-result.ts";
import { makeRules, type RunRules } from "./run-rules.ts";
import { type Found, ofRun, RunTenure, resultOf } from "./run-tenure.ts";
import {
  assertLimits,
  assertNoSecrets,
  type GoingOnOptions,
  limitOf,
  milestoneFrom,
  type ResumeOptions,
  type RunnerOptions,
  type RunOptions,
  sessionOptions,
  starterOf,
} from "./runner-options.ts";
import { assertSamePipeline, assertSameRun, assertWhy, busy, runNotFound } from "./same-run.ts";
import type { PipelineStep, StepNode } from "./step.ts";
import { StepRegistry } from "./step-registry.ts";
import { systemClock } from "./system-clock.ts";
import { NO_RUN_TELEMETRY } from "./telemetry-port.ts";
import { type TenureWork, tenureOptions } from "./tenure-options.ts";
import { namedRun, notBegun, startOf } from "./which-run.ts";

const BUILT_IN = {
  pipeline: pipelineExecutor,
  loop: loopExecutor,
  "turn-loop": turnLoopExecutor,
  granular: granularExecutor,
  run: codeStepExecutor,
  when: whenExecutor,
};

const BUSY_POLL_MS = 100;

type Begun =
  | {
      readonly kind: "work";
      readonly claim: Claim;
      readonly claimedAt: ClockReading;
      readonly found: Found;
    }
  | { readonly kind: "ended"; readonly run: RunRecord };

/**
 * Runs an agent, a step or a pipeline, durably.
 *
 * @example
 * const { output } = await new Runner(researcher).run("Quantum computing breakthroughs");
 */
export class Runner<O = unknown> {
  readonly #root: PipelineStep<O>;
  readonly #registry: StepRegistry;
  readonly #options: RunnerOptions;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #rules: RunRules;
  readonly #session: RunSessionOptions;

  constructor(target: Agent<O> | StepNode<O>, options: RunnerOptions = {}) {
    this.#root = rootOf(target);
    this.#registry = new StepRegistry({ ...BUILT_IN, ...options.executors });
    this.#registry.assertKnows(this.#root);
    if (options.pricing !== undefined) assertPricing(options.pricing);
    assertLimits(options);
    this.#rules = makeRules(options.policy, options.constraints);
    this.#session = sessionOptions(this.#root, options);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#leaseMs = options.leaseMs ?? 30_000;
  }

  /**
   * Starts a run, or continues one: that of the `runId` or `key` given. Without either, the one unfinished run of the same
   * pipeline and input that a dead or closed process left; where another process has that, where it waits for a person, is
   * one of several, or the last one failed after it had effects outside, it throws and begins nothing (`fresh: true` begins
   * a new one). A run that is named and has succeeded gives its result again, one that has failed throws its error again.
   */
  run(input: Json, options: RunOptions = {}): Promise<RunResult<O>> {
    return this.#run(input, options, () => undefined);
  }

  /** Like `run`, and tells what happens as it happens; leaving the loop early cancels the run. */
  stream(input: Json, options: RunOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    return new EventStream(
      (listener, signal) => this.#run(input, { ...options, signal }, listener),
      options.signal,
    ).events();
  }

  /** Goes on with a run that was interrupted, has failed, waits or was cancelled. */
  resume(runId: string, options: ResumeOptions = {}): Promise<RunResult<O>> {
    return withStore(this.#options.store, async (store) => {
      assertRunId(runId);
      const from: RunStatus[] = ["queued", "running", "waiting", "failed", "cancelled"];
      const run = await store.getRun(runId);
      if (run !== null) assertSamePipeline(run, this.#root.name);
      // Before it is claimed: what cannot be gone on with is left as it is.
      if (run !== null && run.spec !== null) this.#assertRunnable(run.spec);
      if (run !== null) assertBudgetRaised(run, options.budgets);
      const milestone = milestoneFrom(options.from);
      assertWhy(options.acceptDivergence);
      const attempt = {
        resumedFrom: milestone === null ? "turn" : "milestone",
        reason: options.reason ?? null,
      } as const;
      const begun = await this.#claim(store, runId, from, options, attempt, options.budgets);
      return this.#execute(store, begun, options, () => undefined, milestone);
    });
  }

  /**
   * Makes a new run that goes on from a turn of this one, with the receipts up to it under keys of its own; the agent may be
   * another one. It is queued, and says what the first run did outside afterwards: `resume` starts it.
   */
  fork(runId: string, options: ForkOptions): Promise<Fork> {
    return withStore(this.#options.store, async (store) => {
      assertRunId(runId);
      if (options.runId !== undefined) {
        assertRunId(options.runId);
        assertChosenRunId(options.runId);
      }
      const run = await store.getRun(runId);
      if (run !== null) assertSamePipeline(run, this.#root.name);
      const starter = starterOf(this.#rules, options.startedBy ?? this.#options.startedBy);
      const fork = { ...options, ...starter, runId: options.runId ?? uuidv7() };
      return forkRun(store, this.#session, runId, fork);
    });
  }

  #run(input: Json, options: RunOptions, listener: RunEventListener): Promise<RunResult<O>> {
    return withStore(this.#options.store, async (store) => {
      assertPayload(input, "The input of the run");
      assertNoSecrets(input, this.#rules);
      const runId = namedRun(options, this.#root.name, this.#options.identity);
      const spec = options.spec === undefined ? null : assertRunSpec(options.spec);
      if (spec !== null) this.#assertRunnable(spec);
      if (spec !== null) assertNoSecrets(withoutVariables(spec), this.#rules, "RunSpec");
      const begun =
        runId === null
          ? await this.#begin(store, input, spec, options)
          : await this.#beginNamed(store, input, runId, spec, options);
      return this.#execute(store, begun, options, listener);
    });
  }

  #assertRunnable(spec: RunSpec): void {
    const { pricing = UNPRICED, stopConditions, policy, constraints } = this.#options;
    assertRunnable(spec, this.#root, pricing, stopConditions);
    makeRules(policy, bothConstraints(constraints, spec));
  }

  /** A call that names no run: continues the one that a dead or closed process left, or begins one. */
  async #begin(store: Store, input: Json, spec: RunSpec | null, options: RunOptions): Promise<Begun> {
    const begin = () => this.#beginNamed(store, input, uuidv7(), spec, options);
    if (options.fresh === true) return begin();
    for (;;) {
      const start = await startOf(store, this.#root.name, canonicalHash(input), spec);
      switch (start.kind) {
        case "begin":
          return begin();
        case "resume": {
          const claimedAt = readClock(this.#clock);
          const outcome = await store.claimRun(
            start.runId,
            this.#claimOptions(["queued", "running"], options, GOING_ON),
          );
          if (outcome.kind === "claimed") return goingOn(outcome, claimedAt);
          // Another process was faster, or has ended it: that has to be looked at again.
          break;
        }
        case "refuse":
          if (start.why !== "held" || options.wait !== true) throw await notBegun(store, start);
          await this.#clock.sleep(BUSY_POLL_MS, options.signal);
      }
    }
  }

  async #beginNamed(
    store: Store,
    input: Json,
    runId: string,
    spec: RunSpec | null,
    options: RunOptions,
  ): Promise<Begun> {
    const inputHash = canonicalHash(input);
    const starter = starterOf(this.#rules, options.startedBy ?? this.#options.startedBy);
    if (spec !== null)
      await assertFolderIsFree(folderOf(runId, spec, this.#options.workspaceRoot ?? ".").path, runId);
    const claimedAt = readClock(this.#clock);
    const created = await store.createRun({
      runId,
      pipeline: this.#root.name,
      entrypoint: this.#options.entrypoint ?? "library",
      input,
      inputHash,
      shape: shapeOf(this.#root),
      limit: limitOf(options.budget),
      deadline: options.deadline?.at ?? null,
      spec,
      leaseMs: this.#leaseMs,
      marksEffects: true,
      ...starter,
    });
    if (created.kind === "created")
      return { kind: "work", claim: created.claim, claimedAt, found: JUST_BEGUN };
    const run = await store.getRun(runId);
    if (run !== null) assertSameRun(run, this.#root.name, inputHash);
    if (run !== null && spec !== null) assertSameSpec(run, spec);
    if (run !== null && run.spec !== null) this.#assertRunnable(run.spec);
    return this.#claim(store, runId, ["queued", "running"], options, GOING_ON);
  }

  async #claim(
    store: Store,
    runId: string,
    from: readonly RunStatus[],
    options: GoingOnOptions,
    attempt: AttemptReason,
    budgets: ResumeOptions["budgets"] = {},
  ): Promise<Begun> {
    const claim = { ...this.#claimOptions(from, options, attempt), budgets };
    for (;;) {
      const claimedAt = readClock(this.#clock);
      const outcome: ClaimOutcome = await store.claimRun(runId, claim);
      switch (outcome.kind) {
        case "claimed":
          return goingOn(outcome, claimedAt);
        case "refused":
          return { kind: "ended", run: outcome.run };
        case "not_found":
          throw runNotFound(runId);
        case "busy":
          if (options.wait !== true) throw busy(runId, outcome);
          await this.#clock.sleep(BUSY_POLL_MS, options.signal);
      }
    }
  }

  #claimOptions(
    from: readonly RunStatus[],
    { budget, deadline }: GoingOnOptions,
    attempt: AttemptReason,
  ): ClaimOptions {
    return {
      leaseMs: this.#leaseMs,
      from,
      attempt,
      marksEffects: true,
      ...(budget === undefined ? {} : { limit: limitOf(budget) }),
      ...(deadline === undefined ? {} : { deadline: deadline.at }),
    };
  }

  async #execute(
    store: Store,
    begun: Begun,
    options: ResumeOptions,
    caller: RunEventListener,
    from: MilestoneFrom | null = null,
  ): Promise<RunResult<O>> {
    const listener = both(this.#options.onEvent, caller);
    if (begun.kind === "ended") {
      const { run } = begun;
      if (run.status === "failed" && run.error !== null) throw ofRun(run.runId, reviveError(run.error));
      const result = await resultOf<O>(store, run, true);
      listener({ type: "run.finished", runId: run.runId, result });
      return result;
    }
    const { claim, claimedAt, found } = begun;
    const { resumed } = found;
    const telemetry = await beginTelemetry(this.#options.telemetry, store, claim.run, resumed);
    const work = { claimedAt, resumed, going: options, listener, from, telemetry };
    const tenure = await this.#tenure(store, claim, work);
    const result = await new RunTenure(store, this.#registry, this.#root, claim, tenure).execute<O>(found);
    const isLetGo = options.release?.aborted === true;
    return result.status === "queued" && !isLetGo ? this.#goOn(store, result, options, caller) : result;
  }

  /** What it was about to ask was answered while it was on its way out: nobody need be told to resume it. */
  async #goOn(
    store: Store,
    left: RunResult<O>,
    { redoTurn: _, ...going }: ResumeOptions,
    caller: RunEventListener,
  ): Promise<RunResult<O>> {
    const claimedAt = readClock(this.#clock);
    const outcome = await store.claimRun(left.runId, this.#claimOptions(["queued"], {}, GOING_ON));
    if (outcome.kind !== "claimed") {
      both(this.#options.onEvent, caller)({ type: "run.finished", runId: left.runId, result: left });
      return left;
    }
    const result = await this.#execute(store, goingOn(outcome, claimedAt), going, caller);
    return { ...result, resumed: left.resumed };
  }

  #tenure(store: Store, claim: Claim, work: TenureWork): Promise<RunTenureOptions> {
    const made = {
      clock: this.#clock,
      leaseMs: this.#leaseMs,
      rules: this.#rules,
      session: this.#session,
      root: this.#root,
    };
    return tenureOptions(this.#options, made, store, claim, work);
  }

  /** What `resume` would do, without doing any of it. */
  forecast(runId: string, options: ResumeOptions = {}): Promise<ResumeForecast> {
    return withStore(this.#options.store, async (store) => {
      assertRunId(runId);
      const run = await store.getRun(runId);
      if (run === null) throw runNotFound(runId);
      assertSamePipeline(run, this.#root.name);
      if (run.spec !== null) this.#assertRunnable(run.spec);
      assertWhy(options.acceptDivergence);
      const isHeld = await store.isHeld(runId);
      const claim = { epoch: run.epoch, run };
      const quiet = () => undefined;
      const tenure = await this.#tenure(store, claim, {
        claimedAt: readClock(this.#clock),
        resumed: true,
        going: options,
        listener: quiet,
        from: milestoneFrom(options.from),
        telemetry: NO_RUN_TELEMETRY,
      });
      const { signal } = new AbortController();
      const lease = { assertHeld: quiet };
      const hold = { lease, releasing: signal, closing: signal, signal, onAbort: () => quiet };
      const handle = makeRunHandle(store, claim, { ...tenure, probe: NO_PROBE }, hold);
      return forecastRun(handle, this.#registry, this.#root, run, isHeld, options);
    });
  }
}

function goingOn(
  { claim, chargedAsLost, foundInDoubt }: Extract<ClaimOutcome, { kind: "claimed" }>,
  claimedAt: ClockReading,
): Begun {
  return { kind: "work", claim, claimedAt, found: { resumed: true, lost: chargedAsLost, foundInDoubt } };
}

/** The runner's own listener first; what it throws keeps nobody else from hearing. */
function both(first: RunEventListener | undefined, second: RunEventListener): RunEventListener {
  if (first === undefined) return second;
  return (event) => {
    try {
      first(event);
    } catch {
      // It is the listener's own.
    }
    second(event);
  };
}

const JUST_BEGUN: Found = { resumed: false, lost: [], foundInDoubt: [] };

const GOING_ON: AttemptReason = { resumedFrom: "turn", reason: null };
