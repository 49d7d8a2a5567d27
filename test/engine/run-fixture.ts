import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { NO_LIMIT } from "../../src/core/usage/quota.ts";
import type { TurnLoopStep } from "../../src/engine/definition/step.ts";
import { systemClock } from "../../src/engine/ports/system-clock.ts";
import { NO_RUN_TELEMETRY } from "../../src/engine/ports/telemetry-port.ts";
import type { ActiveRun } from "../../src/engine/run/active-run.ts";
import { LeaseKeeper, readClock } from "../../src/engine/run/lease-keeper.ts";
import { ModelCuts } from "../../src/engine/run/model-cuts.ts";
import { makeRun } from "../../src/engine/runner/make-run.ts";
import { makeSetup } from "../../src/engine/runner/runner.ts";
import { openScope } from "../../src/engine/steps/agent-executor.ts";
import { StepSession } from "../../src/engine/steps/step-session.ts";
import type { TurnScope } from "../../src/engine/turn/turn-scope.ts";
import {
  type AgentOptions,
  agent,
  type Clock,
  type Json,
  openStore,
  type RunEvent,
  type RunnerOptions,
  type StepNode,
  type Store,
  type Tool,
  type ToolCallContext,
  tool,
} from "../../src/index.ts";
import { type Script, type ScriptedTurn, scriptedModel } from "../../src/testing/index.ts";

const NO_FOLDER = join(tmpdir(), "pawl-no-artifacts");

type StoreOptions = NonNullable<Parameters<typeof openStore>[1]>;

/** A store in memory, closed when the test ends. */
export async function memoryStore(options: StoreOptions = {}): Promise<Store> {
  return closedLater(await openStore(":memory:", options));
}

/** The path of a database in a temporary folder. */
export function databaseFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-engine-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "pawl.db");
}

/** A handle on a file. Several handles on one file act as several processes. */
export async function fileStore(file: string, options: StoreOptions = {}): Promise<Store> {
  return closedLater(await openStore(`file:${file}`, options));
}

function closedLater(store: Store): Store {
  // A tool that never ends must not keep the test waiting.
  onTestFinished(() => store.close({ graceMs: 0 }));
  return store;
}

export type Prompt = ScriptedTurn["options"]["prompt"];

/** The tool results in a prompt. */
export function toolResults(prompt: Prompt | undefined): unknown[] {
  return (prompt ?? []).flatMap((message) =>
    message.role === "tool"
      ? message.content.map((part) => (part.type === "tool-result" ? part.output : part))
      : [],
  );
}

/** A scripted model that records its prompts. */
export function recordingModel(script: Script, options: { modelId?: string; provider?: string } = {}) {
  const prompts: Prompt[] = [];
  const model = scriptedModel(async (turn) => {
    prompts.push(structuredClone(turn.options.prompt));
    const response = typeof script === "function" ? await script(turn) : script[turn.turn - 1];
    if (response === undefined) throw new Error(`The script has no answer for turn ${turn.turn}.`);
    return response;
  }, options);
  return { model, prompts };
}

/** A model answer with one call of `note`. */
export const noting = (text: string) => ({ toolCalls: [{ name: "note", input: { text } }] });

/** A tool that records its effects outside of the store. */
export function noteTool(
  execute: (text: string, call: ToolCallContext) => unknown = (text) => ({ noted: text }),
  options: { recovery?: "repeat" | "keyed" | "opaque"; effect?: "external" | "read_only" } = {},
) {
  const done: string[] = [];
  const calls: ToolCallContext[] = [];
  const note: Tool = tool({
    name: "note",
    description: "Writes a line down.",
    inputSchema: z.object({ text: z.string() }),
    ...options,
    execute: async ({ text }, call) => {
      done.push(text);
      calls.push(call);
      return await execute(text, call);
    },
  });
  return { note, done, calls };
}

/** An agent with a script; everything else has defaults. */
export function scriptedAgent<O = string>(
  script: Script,
  options: Partial<Omit<AgentOptions<O>, "model">> & { modelId?: string } = {},
) {
  const { modelId, ...rest } = options;
  const { model, prompts } = recordingModel(script, modelId === undefined ? {} : { modelId });
  return { agent: agent({ name: "worker", instructions: "You work.", model, ...rest }), prompts };
}

/** The system's clock, except that sleeping takes no time and is recorded. */
export function sleeplessClock(): Clock & { readonly slept: number[] } {
  const slept: number[] = [];
  return {
    ...systemClock,
    slept,
    sleep: async (ms, signal) => {
      slept.push(ms);
      signal?.throwIfAborted();
    },
  };
}

/** The error that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("Expected a failure, but the promise resolved.");
}

/** The error that a promise rejects with, which must be of this class. */
export async function failureAs<E extends Error>(
  ErrorClass: abstract new (...args: never[]) => E,
  promise: Promise<unknown>,
): Promise<E> {
  const error = await failureOf(promise);
  if (error instanceof ErrorClass) return error;
  throw new Error(`Expected ${ErrorClass.name}, but it is ${String(error)}.`, { cause: error });
}

export async function collect(stream: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** The value, which must be present. */
export function must<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("Expected a value, and there is none.");
  return value;
}

/** A run without a runner, for tests that execute single turns. */
export async function beginRun(
  store: Store,
  step: StepNode,
  options: { runId?: string; input?: Json; tokens?: number; runner?: RunnerOptions } = {},
): Promise<{ run: ActiveRun; openScope: (other?: StepNode, input?: Json) => Promise<TurnScope> }> {
  const { runId = "r-1", input = "Go" } = options;
  const limit = options.tokens === undefined ? NO_LIMIT : { tokens: options.tokens, microDollars: null };
  const created = await store.createRun({
    runId,
    pipeline: step.name,
    entrypoint: "test",
    input,
    inputHash: new Uint8Array(32),
    shape: [],
    limit,
    leaseMs: 30_000,
  });
  if (created.kind !== "created") throw new Error(`Run ${runId} already exists.`);
  const fence = { runId, epoch: created.claim.epoch };
  const claimedAt = readClock(systemClock);
  const lease = new LeaseKeeper(
    store,
    fence,
    { clock: systemClock, leaseMs: 30_000, claimedAt },
    () => undefined,
  );
  onTestFinished(() => lease.stop());
  const { signal } = new AbortController();
  const setup = makeSetup(step, {
    store,
    random: () => 0,
    modelTimeoutMs: 10_000,
    maxModelAttempts: 1,
    workspaceRoot: NO_FOLDER,
    ...options.runner,
  });
  const work = {
    claim: created.claim,
    claimedAt,
    resumed: false,
    isRequested: false,
    options: {},
    listener: () => undefined,
    from: null,
    telemetry: NO_RUN_TELEMETRY,
  };
  const cuts = new ModelCuts();
  const stop = { lease, signal, cuts, onAbort: () => () => undefined, releasing: signal, closing: signal };
  const run = await makeRun(setup, store, work, stop);
  const loop = turnLoopOf(step);
  const path = loop.name;
  const instance = await store.beginStep(fence, {
    path,
    name: loop.name,
    kind: loop.kind,
    phase: "",
    input,
  });
  return {
    run,
    openScope: (other = step, givenInput = input) => {
      const enter = () => Promise.reject(new Error("A single turn enters no steps."));
      const stepSession = new StepSession(run.keeper, run.policy.secrets);
      const execution = {
        run,
        path,
        input: givenInput,
        context: { value: {} },
        instance,
        session: stepSession,
        enter,
      };
      return openScope(turnLoopOf(other), execution);
    },
  };
}

function turnLoopOf(step: StepNode): TurnLoopStep {
  const loop = step.children?.[0];
  if (loop?.kind !== "turn-loop") throw new Error(`Step ${step.name} was not made by Step.granular.`);
  return loop as TurnLoopStep;
}
