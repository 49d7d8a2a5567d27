// Shared by the tests of sessions: a slice of words, a tool that says a word outside and records it in the session,
// and stores with a tap.

import { z } from "zod";
import {
  append,
  CheckpointTrigger,
  defineSlice,
  type Json,
  type Runner,
  type RunnerOptions,
  type SessionEvent,
  type Slice,
  type Store,
  type Tool,
  type ToolCallContext,
  type ToolDefinition,
  tool,
} from "../../src/index.ts";
import type { CrashProbe, ScriptedResponse } from "../../src/testing/index.ts";
import { asking, runnerOf } from "./call/call-fixture.ts";
import { failureOf } from "./run-fixture.ts";

export type Said = { readonly type: "Said"; readonly word: string };

export const said = (word: string): Said => ({ type: "Said", word });

/** The words that were said, in order. */
export const words: Slice<string> = defineSlice({
  name: "words",
  schema: z.string().max(22),
  reducers: { Said: append(({ word }: Said) => word) },
});

/** A word said loudly, `one!`, is a milestone. */
export const loudly = new CheckpointTrigger({
  eventTypes: ["Said"],
  when: ({ word }) => typeof word === "string" && word.endsWith("!"),
});

/** A model answer with these calls of `say`. */
export const saying = (...all: readonly string[]): ScriptedResponse =>
  asking(...all.map((word) => ["say", { word }] as const));

type SayInput = { readonly word: string };
type SayOptions = Partial<Omit<ToolDefinition<SayInput, unknown>, "execute" | "inputSchema">>;

/** A tool with an effect outside (`spoken`) that records its word in the session. External and opaque by default. */
export function sayTool(
  options: SayOptions = {},
  execute: (word: string, call: ToolCallContext, n: number) => unknown = (word, call) => {
    call.session.dispatch(said(word));
    return `said ${word}`;
  },
) {
  const spoken: string[] = [];
  const say: Tool = tool({
    name: "say",
    description: "Says a word.",
    inputSchema: z.object({ word: z.string() }),
    effect: "external",
    dedupe: "call",
    ...options,
    execute: ({ word }: SayInput, call: ToolCallContext) => {
      spoken.push(word);
      return execute(word, call, spoken.length);
    },
  });
  return { say, spoken };
}

/**
 * A runner of an agent with these tools and answers. Its session has the words slice, and loud words are
 * milestones.
 */
export function sayer(
  store: Store,
  tools: { readonly [name: string]: Tool },
  turns: readonly ScriptedResponse[],
  options: RunnerOptions = {},
) {
  return runnerOf(store, tools, turns, { slices: [words], checkpointTrigger: loudly, ...options });
}

/** The stored values of a slice. */
export async function storedSlice(store: Store, name = "words", runId = "r-1"): Promise<readonly Json[]> {
  return (await store.readSession(runId)).find((slice) => slice.name === name)?.values ?? [];
}

/** The session events in the receipts of a run, call by call. */
export async function sessionEventsOf(store: Store, runId = "r-1"): Promise<(readonly SessionEvent[])[]> {
  return (await store.listToolCalls(runId)).map(({ receipt }) => receipt?.sessionEvents ?? []);
}

/** The checkpoints of a run, in short form. */
export async function checkpointsOf(store: Store, runId = "r-1"): Promise<string[]> {
  return (await store.listCheckpoints(runId)).map(
    ({ checkpoint, type, stepPath, turnIndex, isSuperseded }) =>
      `${checkpoint} ${type} ${stepPath}#${turnIndex}${isSuperseded ? " superseded" : ""}`,
  );
}

type Tapped = "commitTurn" | "finishStep" | "beginLineage";

/** A store that calls `tap` before each of these intents. The intent fails with what the tap throws. */
export function tapped(store: Store, tap: (intent: Tapped, argument: unknown) => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "commitTurn" && name !== "finishStep" && name !== "beginLineage")
        return value.bind(target) as unknown;
      return async (fence: unknown, argument: unknown) => {
        tap(name, argument);
        return (await value.call(target, fence, argument)) as unknown;
      };
    },
  });
}

/** Runs r-1, which must fail. */
export async function runUntilFailure(runner: Pick<Runner, "run">, input: Json = "Go"): Promise<unknown> {
  return failureOf(runner.run(input, { runId: "r-1" }));
}

/** Fails the run right before the model request of this turn. */
export function stopsBefore(turn: number, step?: string): CrashProbe {
  return (point, { turnIndex, stepPath }) => {
    const isHere = turnIndex === turn && (step === undefined || step === stepPath);
    if (point === "model:before-request" && isHere) throw new Error("The process crashed.");
  };
}
