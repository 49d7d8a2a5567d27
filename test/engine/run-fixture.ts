import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { digestWith } from "../../src/core/secret/secret-mark.ts";
import { NO_LIMIT } from "../../src/core/usage/quota.ts";
import { estimateTokens } from "../../src/core/usage/token-estimate.ts";
import { UNPRICED } from "../../src/core/usage/usage.ts";
import { makeRules } from "../../src/engine/definition/run-rules.ts";
import { RunSecrets } from "../../src/engine/definition/run-secrets.ts";
import type { TurnLoopStep } from "../../src/engine/definition/step.ts";
import { systemClock } from "../../src/engine/ports/system-clock.ts";
import { NO_RUN_TELEMETRY } from "../../src/engine/ports/telemetry-port.ts";
import { DIRECT } from "../../src/engine/run/effects-port.ts";
import { EstimateWatch } from "../../src/engine/run/estimate-watch.ts";
import { FailureStreaks } from "../../src/engine/run/failure-streaks.ts";
import { LatestGranularState } from "../../src/engine/run/latest-granular-state.ts";
import { LeaseKeeper, readClock } from "../../src/engine/run/lease-keeper.ts";
import { MilestoneRequest } from "../../src/engine/run/milestone-request.ts";
import { RunArtifacts } from "../../src/engine/run/run-artifacts.ts";
import { RunBudget } from "../../src/engine/run/run-budget.ts";
import type { RunHandle } from "../../src/engine/run/run-handle.ts";
import { RunToolSources } from "../../src/engine/run/run-tool-sources.ts";
import { SessionKeeper } from "../../src/engine/run/session-keeper.ts";
import { Uncertainties } from "../../src/engine/run/uncertain-calls.ts";
import { openScope } from "../../src/engine/steps/agent-executor.ts";
import { StepSession } from "../../src/engine/steps/step-session.ts";
import type { TurnScope } from "../../src/engine/turn/turn-scope.ts";
import {
  agent,
  type Clock,
  type Json,
  openStore,
  type RunEvent,
  type StepNode,
  type Store,
  type Tool,
  type ToolCallContext,
  tool,
} from "../../src/index.ts";
import { CheckpointTrigger } from "../../src/session/checkpoint-trigger.ts";
import { Session } from "../../src/session/session.ts";
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

/** A handle on a file. Several handles on one file stand for several processes. */
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
export function scriptedAgent(
  script: Script,
  options: Partial<Omit<Parameters<typeof agent>[0], "model">> & { modelId?: string } = {},
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
  options: { runId?: string; input?: Json; tokens?: number; run?: Partial<RunHandle> } = {},
): Promise<{ run: RunHandle; openScope: (other?: StepNode, input?: Json) => Promise<TurnScope> }> {
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
  const lease = new LeaseKeeper(store, fence, systemClock, 30_000, readClock(systemClock), () => undefined);
  onTestFinished(() => lease.stop());
  const session = new Session({ id: runId, createdAt: 0, slices: [] });
  const keeper = new SessionKeeper(store, session, new CheckpointTrigger(), "stop", () => undefined);
  const secrets = new RunSecrets(
    new Set(),
    digestWith(() => store.redactionKey()),
  );
  const { signal } = new AbortController();
  const run: RunHandle = {
    sources: new RunToolSources({ signal, network: makeRules().network, warn: () => undefined }, secrets),
    telemetry: NO_RUN_TELEMETRY,
    outside: DIRECT,
    estimates: new EstimateWatch(),
    runId,
    firstRunId: runId,
    fence,
    store,
    lease,
    clock: systemClock,
    random: () => 0,
    pricing: UNPRICED,
    estimateTokens,
    modelTimeoutMs: 10_000,
    maxModelAttempts: 1,
    maxParallelToolCalls: 8,
    maxRetriesPerToolCall: 2,
    rules: makeRules(),
    secrets,
    failures: new FailureStreaks(null),
    uncertainties: new Uncertainties(store, runId),
    keeper,
    latest: new LatestGranularState(store, runId),
    deadline: null,
    spec: null,
    budget: new RunBudget(runId, null, { steps: 0, toolCalls: 0 }),
    conditions: {},
    phases: [],
    artifacts: new RunArtifacts(store, fence, { path: NO_FOLDER, chosen: NO_FOLDER }, () => undefined),
    acceptDivergence: null,
    redoTurn: false,
    releasing: new AbortController().signal,
    closing: new AbortController().signal,
    claimedAt: readClock(systemClock),
    milestone: new MilestoneRequest(null),
    onCheckpoint: () => Promise.resolve(),
    emit: () => undefined,
    probe: () => undefined,
    limit,
    owed: [],
    signal: new AbortController().signal,
    onAbort: () => () => undefined,
    ...options.run,
  };
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
      const { children, maxTurns } = turnLoopOf(other);
      const enter = () => Promise.reject(new Error("A single turn enters no steps."));
      const stepSession = new StepSession(run.keeper, run.secrets);
      const frame = {
        run,
        path,
        input: givenInput,
        context: { value: {} },
        instance,
        session: stepSession,
        enter,
      };
      return openScope(children[0], maxTurns, frame);
    },
  };
}

function turnLoopOf(step: StepNode): TurnLoopStep {
  const loop = step.children?.[0];
  if (loop?.kind !== "turn-loop") throw new Error(`Step ${step.name} was not made by Step.granular.`);
  return loop as TurnLoopStep;
}
