import { readBudgets } from "../../core/job/default-budgets.ts";
import type { Json } from "../../core/json.ts";
import { assertOptions, givenOptions } from "../../core/naming/option-names.ts";
import { assertPricing } from "../../core/usage/usage.ts";
import { DEFAULT_STORE, openStore } from "../../store/open-store.ts";
import type { MessageStatus, StopOutcome } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import { rootOf } from "../definition/pipeline-root.ts";
import { makeRules } from "../definition/run-rules.ts";
import type { StepNode, WiredStep } from "../definition/step.ts";
import type { LiveEvent } from "../ports/live-events.ts";
import type { RunEvent, RunEventListener } from "../ports/run-events.ts";
import type { RunResult } from "../ports/run-result.ts";
import { systemClock } from "../ports/system-clock.ts";
import { outageWarnings } from "../run/outage-warnings.ts";
import { assertKnownKinds } from "../steps/step-kinds.ts";
import { assertWatchOptions, leavable } from "../watch/leavable.ts";
import type { WatchEvent, WatchOptions } from "../watch/watch-event.ts";
import { bothListeners } from "./both-listeners.ts";
import { EventStream } from "./event-stream.ts";
import type { ResumeForecast } from "./forecast/forecast.ts";
import type { Fork, ForkOptions } from "./fork-run.ts";
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
import type { RunRequests } from "./run-requests.ts";
import { assertRunOptions, RUN_NAMES, RUNNER_NAMES, RUNNER_OTHER_NAMES } from "./runner-option-names.ts";
import {
  assertLimits,
  assertNoStore,
  assertStore,
  type ResumeOptions,
  type RunInput,
  type RunnerOptions,
  type RunnerSetup,
  type RunOptions,
  type StreamOptions,
  sessionOptions,
} from "./runner-options.ts";

let readSetup: <O, I>(runner: Runner<O, I>) => RunnerSetup;

/** What a runner was made of, for adapters that show its runs in the words of another library. */
export function runnerSetup<O, I>(runner: Runner<O, I>): RunnerSetup {
  return readSetup(runner);
}

/**
 * Runs an agent, a step or a pipeline durably.
 *
 * @example
 * const { output } = await new Runner(researcher).run("Quantum computing breakthroughs");
 */
export class Runner<O = unknown, I = Json> {
  readonly #setup: RunnerSetup;

  static {
    readSetup = (runner) => runner.#setup;
  }

  constructor(target: Agent<O> | WiredStep<O, I>, options: RunnerOptions = {}) {
    this.#setup = makeSetup(target, options);
  }

  /**
   * Begins a run, or resumes the one with the given `runId` or `key`. Without either, it resumes the unfinished run of the
   * same pipeline and input that a dead or closed process left. It throws and begins nothing if another process holds that
   * run, if it waits (for a person, a time or a message), if there are several, or if the last one failed after effects
   * outside; `fresh: true` begins a new run anyway. A named run that has succeeded returns its result again. One that
   * failed because its model was not called (a missing API key) or rejected the request (401, 404, 400) continues: that
   * cost nothing. One that failed in any other way throws its error again, and `resume` continues it.
   */
  async run(input: RunInput<I>, options: RunOptions = {}): Promise<RunResult<O>> {
    assertRunOptions("run", options);
    return (await this.#requests()).run(input, options, this.#unlessHeard());
  }

  /**
   * Like `run`, and yields events as they happen. The run starts when the first event is read. Leaving the loop early does
   * not end it: it continues in this process, and its store stays open until then. Its result and its error are then in the
   * store (`store.getRun`) and in telemetry; `onEvent` gets the rest of its events, and a `warning` if it fails. Use
   * `signal` to cancel it, or `cancelOnReturn: true`.
   */
  stream(
    input: RunInput<I>,
    options: StreamOptions & { readonly live: true },
  ): AsyncGenerator<RunEvent | LiveEvent, void, undefined>;
  stream(
    input: RunInput<I>,
    options?: StreamOptions & { readonly live?: false },
  ): AsyncGenerator<RunEvent, void, undefined>;
  stream(input: RunInput<I>, options: StreamOptions): AsyncGenerator<RunEvent | LiveEvent, void, undefined>;
  stream(
    input: RunInput<I>,
    options: StreamOptions = {},
  ): AsyncGenerator<RunEvent | LiveEvent, void, undefined> {
    assertRunOptions("stream", options);
    const { cancelOnReturn = false, live = false } = options;
    const run = givenOptions<RunOptions>(options, RUN_NAMES);
    return new EventStream({
      start: async (listener, signal, onLive) => {
        const heard = { ...run, signal, ...(live ? { onLive } : {}) };
        return (await this.#requests()).run(input, heard, listener);
      },
      cancel: options.signal,
      cancelOnReturn,
      unread: this.#unlessHeard(),
      onUnreadError: (runId, error) => this.#warnUnread(runId, error),
    }).events();
  }

  /**
   * Watches a run of the runner's store, whichever process works on it: what is durable, in order, and between that the
   * pieces of the answer that is being written. Ends after the run has ended. Leaving it changes nothing: `store.requestCancel` stops a
   * run.
   *
   * @example
   * for await (const event of new Runner(clerk, { store }).watch("q-1"))
   *   if (event.type === "part" && event.kind === "text") process.stdout.write(event.delta);
   */
  watch(runId: string, options: WatchOptions = {}): AsyncGenerator<WatchEvent, void, undefined> {
    assertWatchOptions("second argument of watch", options);
    return leavable(options.signal, (over) => this.#watch(runId, options, over));
  }

  async *#watch(
    runId: string,
    options: WatchOptions,
    over: AbortSignal,
  ): AsyncGenerator<WatchEvent, void, undefined> {
    const { watchEvents } = await import("../watch/watch-run.ts");
    const { clock, options: own } = this.#setup;
    const store = own.store ?? (await openStore(DEFAULT_STORE, { readOnly: true }));
    try {
      yield* watchEvents({ store, runId }, options, clock, over);
    } finally {
      if (own.store === undefined) await store.close();
    }
  }

  /** Resumes a run that was interrupted, has failed, waits for a person or was cancelled. */
  async resume(runId: string, options: ResumeOptions = {}): Promise<RunResult<O>> {
    return (await this.#requests()).resume(runId, options, this.#unlessHeard());
  }

  /**
   * Stores a run for a worker (`Worker`, `pawl worker`), and returns at once. Durable when it resolves; the same `runId` or
   * `key` again is the same run, and other input for it is refused.
   *
   * @example
   * const runner = new Runner(clerk, { store });
   * const { runId } = await runner.enqueue("Where is order 7?", { key: "message-7", concurrencyKey: "customer-3" });
   */
  async enqueue(input: RunInput<I>, options: EnqueueOptions = {}): Promise<EnqueuedRun> {
    return (await this.#requests()).enqueue(input, options);
  }

  /**
   * Sends a message to a run, by its id or its address: a text for a conversation, or an event for a step or tool that waits
   * for it, now or later. Durable when it resolves, and taken once; the same `id` again is the same message. A message never
   * approves anything.
   *
   * @example
   * const paid = { event: "payment.confirmed", data: { amount: 40 } };
   * await new Runner(clerk, { store }).send({ address: "invoice:7" }, paid, { id: "delivery-1", by: "bank" });
   */
  async send(to: Addressee, message: MessageToRun, options: SendOptions = {}): Promise<MessageReceipt> {
    return (await this.#requests()).send(to, message, options);
  }

  /**
   * Ends the present exchange of a conversation, and never the run: a model that is being asked is cut off, tools in progress
   * are completed, and what waits for an approval is denied. Then the run waits for the next message. Resolves once the
   * request is durable, to `nothing` if no exchange is open.
   */
  async stop(runId: string, options: StopOptions = {}): Promise<StopOutcome> {
    return (await this.#requests()).stop(runId, options);
  }

  /** Withdraws a message. Resolves to what became of it: `taken` if a call or a turn was faster. */
  async unsend(runId: string, messageId: string): Promise<MessageStatus> {
    return (await this.#requests()).unsend(runId, messageId);
  }

  /**
   * Claims the run, completes some turns, releases it, and reports what has to happen next. For serverless functions and
   * other engines that drive runs; call it again as often as you like, from anywhere.
   */
  async advance(runId: string, options: AdvanceOptions = {}): Promise<Advanced> {
    return (await this.#requests()).advance(runId, options);
  }

  /**
   * Makes a new run that continues from a turn of this one, with copies of the receipts up to that turn under its own keys.
   * The agent may be another one. The fork is queued: `resume` starts it. `laterEffects` are those that it may cause again.
   */
  async fork(runId: string, options: ForkOptions): Promise<Fork> {
    return (await this.#requests()).fork(runId, options);
  }

  /** Without an `onEvent`, a process warning reports that a run waits for its provider. */
  #unlessHeard(): RunEventListener {
    const { onEvent, maxOutageMs } = this.#setup.options;
    return onEvent === undefined
      ? outageWarnings((message) => process.emitWarning(message), maxOutageMs)
      : () => undefined;
  }

  /** Reports the error of a run whose reader has left: without an `onEvent`, as a process warning. */
  #warnUnread(runId: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const message = `Run ${runId} failed after the reader of its stream had left: ${why}`;
    const { onEvent = () => process.emitWarning(message) } = this.#setup.options;
    bothListeners(onEvent, () => undefined)({ type: "warning", runId, message });
  }

  /** Reports what `resume` would do, without doing any of it. */
  async forecast(runId: string, options: ResumeOptions = {}): Promise<ResumeForecast> {
    return (await this.#requests()).forecast(runId, options);
  }

  async #requests(): Promise<RunRequests<O>> {
    const { RunRequests } = await loadRequests();
    return new RunRequests(this.#setup);
  }
}

/** Most of the engine. A program that only defines runners does not wait until it is loaded. */
export const loadRequests = () => import("./run-requests.ts");

/** Checks a runner's options, and makes the setup that all of its runs share. */
export function makeSetup(target: Agent | StepNode, options: RunnerOptions): RunnerSetup {
  assertNoStore("The second argument of Runner", options);
  assertOptions("The second argument of Runner", options, RUNNER_NAMES, RUNNER_OTHER_NAMES);
  assertStore(options.store);
  const root = rootOf(target);
  assertKnownKinds(root, options.executors ?? {});
  if (options.pricing !== undefined) assertPricing(options.pricing);
  assertLimits(options);
  return {
    options,
    root,
    rules: makeRules(options.policy, options.constraints),
    budgets: options.budgets === undefined ? null : readBudgets(options.budgets),
    session: sessionOptions(root, options),
    clock: options.clock ?? systemClock,
    leaseMs: options.leaseMs ?? 30_000,
  };
}
