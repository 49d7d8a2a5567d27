// Runs driven by Restate: a virtual object for each run, whose handler calls `runner.advance`.
//
// Restate knows when a run has to be looked at; the store knows everything else. What Restate holds is a hint: it may be
// lost, late or there twice without harm, since a claim decides who works on a run, and its epoch fences all others.

import type {
  handlers as Handlers,
  InvocationId,
  object as MakeObject,
  ObjectContext,
  ObjectOptions,
  ObjectSharedContext,
  rpc as Rpc,
  TerminalError,
  VirtualObjectDefinition,
} from "@restatedev/restate-sdk";
import { ConfigurationError, PawlError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import { missingRunError } from "../../core/run/missing-run.ts";
import type {
  Advanced,
  AdvanceOptions,
  EnqueuedRun,
  EnqueueOptions,
  MessageReceipt,
  MessageToRun,
  SendOptions,
} from "../../engine/runner/queue-options.ts";
import type { Store } from "../../store/store.ts";
import { OBJECT_NAME } from "./restate-ingress.ts";

export {
  type RestateIngress,
  type SweepOptions,
  sweepReady,
  type WakeOptions,
  wake,
} from "./restate-ingress.ts";

/** What is used of the Restate SDK: `import * as restate from "@restatedev/restate-sdk"`. */
export type RestateSdk = {
  readonly object: typeof MakeObject;
  readonly handlers: typeof Handlers;
  readonly rpc: typeof Rpc;
  readonly TerminalError: typeof TerminalError;
};

/** What is used of a `Runner`. */
export type DrivenRunner = {
  advance(runId: string, options?: AdvanceOptions): Promise<Advanced>;
  enqueue(input: never, options?: EnqueueOptions): Promise<EnqueuedRun>;
  send(to: string, message: MessageToRun, options?: SendOptions): Promise<MessageReceipt>;
};

/** One runner for each pipeline, by the pipeline's own name, and the store that knows to which of them a run belongs. */
export type DrivenRunners = {
  readonly store: Pick<Store, "getRun" | "getTombstone">;
  readonly runners: { readonly [pipeline: string]: DrivenRunner };
};

/** Options of `restateRun`. */
export type RestateRunOptions = {
  /** The name of the virtual object; `pawl-run` by default. */
  readonly name?: string;
  /** The most turns that one invocation completes; 1 by default. Each further one saves a claim and a release. */
  readonly turns?: number;
  /** Settings of Restate for the object, such as `abortTimeout`. By default it keeps no journals, and retries for ever. */
  readonly object?: ObjectOptions;
};

/** A run to start through Restate. Its id is the key of the object. */
export type RestateStart = Omit<EnqueueOptions, "runId" | "key" | "notBefore" | "deadline"> & {
  readonly input: Json;
  /** Its pipeline; not needed if there is one runner. */
  readonly pipeline?: string;
  /** It does not begin before this time, in milliseconds since 1970. */
  readonly notBefore?: number;
};

/** A message to send through Restate. */
export type RestateMessage = {
  readonly message: MessageToRun;
  /** The sender's own id of the message: the same id again is the same message. That of the invocation by default. */
  readonly id?: string;
  /** Who sends it. */
  readonly by?: string;
};

/** The handlers of the virtual object. */
export type RestateRunHandlers = {
  /** Works on the run now, and afterwards for as long as it can continue. Replaces what was planned for it. */
  advance(ctx: ObjectContext): Promise<Advanced>;
  /** Continues the run as planned. Only for the object itself. */
  proceed(ctx: ObjectContext): Promise<void>;
  /** Stores the run, and works on it. */
  start(ctx: ObjectSharedContext, run: RestateStart): Promise<EnqueuedRun>;
  /** Sends a message to the run, and works on it. */
  send(ctx: ObjectSharedContext, message: RestateMessage): Promise<MessageReceipt>;
};

const RUN_NAMES = { name: true, turns: true, object: true } satisfies OptionNames<RestateRunOptions>;

/** The state of an object: the invocation of `proceed` that is planned for its run. */
const PLANNED = "planned";

/** Where a time has come by the clock of this process, and not yet by that of the store. */
const SHORTEST_DELAY_MS = 100;

const OBJECT_OPTIONS: ObjectOptions = {
  // They hold nothing that the store does not have.
  journalRetention: 0,
  // So that the key of `sweepReady` counts only while its invocation is in progress.
  idempotencyRetention: 0,
  // By default Restate pauses an invocation after 70 attempts: an outage of an hour would leave the run to a person.
  retryPolicy: {
    initialInterval: 200,
    exponentiationFactor: 2,
    maxInterval: 30_000,
    maxAttempts: 2 ** 31 - 1,
  },
};

/**
 * A virtual object of Restate that drives runs; its key is the id of a run. Bind it to your endpoint. The SDK is an argument,
 * so that the object is made by the same copy that serves it.
 *
 * @example
 * import * as restate from "@restatedev/restate-sdk";
 * import { Runner } from "pawl";
 * import { restateRun } from "pawl/restate";
 *
 * const runner = new Runner(pipeline, { store });
 * await restate.serve({ services: [restateRun(restate, runner)], port: 9080 });
 */
export function restateRun(
  restate: RestateSdk,
  runners: DrivenRunner | DrivenRunners,
  options: RestateRunOptions = {},
): VirtualObjectDefinition<string, RestateRunHandlers> {
  assertOptions("The third argument of restateRun", options, RUN_NAMES, { options: "object" });
  const { name = OBJECT_NAME, turns = 1, object = {} } = options;
  const self: VirtualObjectDefinition<string, RestateRunHandlers> = { name };
  const asTerminal = (error: PawlError) => new restate.TerminalError(error.message, { errorCode: 400 });

  const work = async (ctx: ObjectContext): Promise<Advanced> => {
    const { key } = ctx;
    // Before anything can fail for good: nothing is left of a run that is over.
    ctx.clear(PLANNED);
    // Aborts when Restate gives this attempt up. The run is then handed back, since the next attempt wants it.
    const { attemptCompletedSignal: signal } = ctx.request();
    // In `ctx.run`: another attempt would find the run elsewhere, and what follows has to be what was journaled.
    const { advanced, delayMs } = await ctx.run("advance", async () => {
      const runner = await orRefuse(() => runnerOf(runners, key), isOver, asTerminal);
      const found = await orRefuse(() => runner.advance(key, { turns, signal }), isOver, asTerminal);
      return { advanced: found, delayMs: delayOf(found) };
    });
    if (delayMs !== null) {
      // A message to itself, and no loop or `ctx.sleep`: they would keep `advance` from the key.
      const sent = ctx.objectSendClient(self, key).proceed(restate.rpc.sendOpts({ delay: delayMs }));
      ctx.set(PLANNED, await sent.invocationId);
    }
    return advanced;
  };

  const { exclusive, shared } = restate.handlers.object;
  const handlers: RestateRunHandlers = {
    advance: async (ctx) => {
      const planned = await ctx.get<InvocationId>(PLANNED);
      if (planned !== null) ctx.invocation(planned).cancel();
      return work(ctx);
    },
    proceed: exclusive({ ingressPrivate: true }, async (ctx: ObjectContext) => {
      // Otherwise `advance` came first, and has planned again: so each run has one chain of invocations.
      if ((await ctx.get<InvocationId>(PLANNED)) === ctx.request().id) await work(ctx);
    }),
    // These two are shared, so that they do not wait for the end of a turn.
    start: shared(async (ctx: ObjectSharedContext, run: RestateStart) => {
      const store = () => orRefuse(() => enqueue(runners, ctx.key, run), isRefused, asTerminal);
      const enqueued = await ctx.run("enqueue", store);
      ctx.objectSendClient(self, ctx.key).advance();
      return enqueued;
    }),
    send: shared(async (ctx: ObjectSharedContext, { message, id, by }: RestateMessage) => {
      const options = { id: id ?? ctx.request().id, ...(by === undefined ? {} : { by }) };
      const send = async () => (await runnerOf(runners, ctx.key)).send(ctx.key, message, options);
      const receipt = await ctx.run("send", () => orRefuse(send, isRefused, asTerminal));
      ctx.objectSendClient(self, ctx.key).advance();
      return receipt;
    }),
  };
  return restate.object({ name, handlers, options: { ...OBJECT_OPTIONS, ...object } });
}

/** In how many milliseconds the run continues; null if something else has to happen first. */
function delayOf(advanced: Advanced): number | null {
  switch (advanced.next) {
    case "now":
      return 0;
    case "at":
      return Math.max(SHORTEST_DELAY_MS, Math.ceil(advanced.at - Date.now()));
    case "wait":
    case "ended":
      return null;
  }
}

async function runnerOf(runners: DrivenRunner | DrivenRunners, runId: string): Promise<DrivenRunner> {
  if (!("runners" in runners)) return runners;
  const run = await runners.store.getRun(runId);
  if (run === null) throw missingRunError(runId, await runners.store.getTombstone(runId));
  return namedRunner(runners, run.pipeline);
}

function namedRunner({ runners }: DrivenRunners, pipeline: string | undefined): DrivenRunner {
  const runner = pipeline === undefined ? undefined : runners[pipeline];
  if (runner !== undefined) return runner;
  const names = Object.keys(runners).join(", ");
  throw new ConfigurationError(
    `No runner is given for ${pipeline === undefined ? "a run without a pipeline" : `pipeline ${pipeline}`}: those of restateRun are ${names}.`,
  );
}

async function enqueue(
  runners: DrivenRunner | DrivenRunners,
  runId: string,
  { input, pipeline, notBefore, ...place }: RestateStart,
): Promise<EnqueuedRun> {
  const runner = "runners" in runners ? namedRunner(runners, pipeline) : runners;
  const when = notBefore === undefined ? {} : { notBefore: new Date(notBefore) };
  // The runner checks the input itself, as far as its pipeline says what it takes.
  return runner.enqueue(input as never, { ...place, ...when, runId });
}

/** True if no attempt will ever find something to do. A wrong pipeline or a broken store can be put right. */
function isOver({ code }: PawlError): boolean {
  return code === "run_not_found" || code === "run_deleted" || code === "run_moved";
}

/** True if the same request would be refused again. */
function isRefused({ code, recoverable }: PawlError): boolean {
  return !recoverable && code !== "store_unusable";
}

/** An error that Restate need not retry becomes a terminal one. */
async function orRefuse<T>(
  work: () => Promise<T>,
  isFinal: (error: PawlError) => boolean,
  asTerminal: (error: PawlError) => Error,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw PawlError.isInstance(error) && isFinal(error) ? asTerminal(error) : error;
  }
}
