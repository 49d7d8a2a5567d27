// Shared by the tests of tool calls: a scriptable tool, model answers that call it, a clock that jumps, and crashes.

import { z } from "zod";
import {
  type Json,
  type ReceiptSource,
  Runner,
  type RunnerOptions,
  type Store,
  type Tool,
  type ToolCallContext,
  type ToolDefinition,
  tool,
  type WaitRecord,
} from "../../../src/index.ts";
import {
  type CrashPoint,
  type CrashProbe,
  fakeClock,
  type ScriptedResponse,
} from "../../../src/testing/index.ts";
import { memoryStore, must, scriptedAgent } from "../run-fixture.ts";

/** A model answer with these calls of `act`. */
export const acting = (...whats: string[]): ScriptedResponse => ({
  toolCalls: whats.map((what) => ({ name: "act", input: { what } })),
});

/** A model answer with calls of any tools. */
export const asking = (...calls: readonly (readonly [name: string, input: Json])[]): ScriptedResponse => ({
  toolCalls: calls.map(([name, input]) => ({ name, input })),
});

type ActInput = { readonly what: string };
type ActOptions = Partial<Omit<ToolDefinition<ActInput, unknown>, "execute" | "inputSchema">>;

/** A tool with one behaviour per attempt that records its calls. External and opaque by default. */
export function actTool(
  execute: (n: number, call: ToolCallContext, what: string) => unknown = (n) => `done ${n}`,
  options: ActOptions = {},
) {
  const calls: ToolCallContext[] = [];
  const whats: string[] = [];
  const act: Tool = tool({
    name: "act",
    description: "Acts.",
    inputSchema: z.object({ what: z.string() }),
    effect: "external",
    ...options,
    execute: ({ what }: ActInput, call: ToolCallContext) => {
      calls.push(call);
      whats.push(what);
      return execute(calls.length, call, what);
    },
  });
  return { act, calls, whats };
}

/**
 * A runner of an agent that gives these answers and ends. A second one with the same answers acts as a new process.
 */
export function runnerOf(
  store: Store,
  tools: { readonly [name: string]: Tool },
  turns: readonly ScriptedResponse[],
  options: RunnerOptions = {},
) {
  const { agent, prompts } = scriptedAgent([...turns, { text: "End." }], { tools });
  return { runner: new Runner(agent, { store, random: () => 0, ...options }), prompts };
}

/** A clock that stands still and jumps ahead on `sleep`. `slept` lists the pauses. */
export function jumpingClock() {
  const clock = fakeClock();
  const slept: number[] = [];
  return {
    ...clock,
    slept,
    sleep: async (ms: number, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      slept.push(ms);
      await clock.advance(ms);
    },
  };
}

/** A store that uses that clock. */
export function timedStore(
  clock: { now(): number },
  options: Parameters<typeof memoryStore>[0] = {},
): Promise<Store> {
  return memoryStore({ now: () => clock.now(), ...options });
}

/** Waits until all pending work on the event loop is done. */
export async function drainEventLoop(): Promise<void> {
  for (let i = 0; i < 30; i++) await new Promise(setImmediate);
}

/**
 * Fails the run when it reaches a point for the n-th time. Calls in progress are left as a dead worker leaves them.
 */
export function crashAt(at: CrashPoint, nth = 1): CrashProbe {
  let reached = 0;
  return (point) => {
    if (point === at && ++reached === nth) throw new Error("The process crashed.");
  };
}

/** The calls of run r-1: status, number of attempts, and source of the receipt. */
export async function ledger(
  store: Store,
): Promise<(readonly [status: string, attempt: number, source: ReceiptSource | null])[]> {
  const calls = await store.listToolCalls("r-1");
  return calls.map(({ status, attempt, receipt }) => [status, attempt, receipt?.source ?? null] as const);
}

/** The one open wait of run r-1. */
export async function openWait(store: Store): Promise<WaitRecord> {
  const open = (await store.listWaits("r-1")).filter(({ status }) => status === "open");
  if (open.length > 1) throw new Error(`There are ${open.length} open waits.`);
  return must(open[0]);
}
