// The tools that the scenarios share, one for each recovery class, and what stands in for the other side of each. None of
// them remembers anything: what happened before is asked of the outside.

import { z } from "zod";
import { NotApplied } from "../../../../src/core/errors.ts";
import { defineAgent } from "../../../../src/engine/definition/agent.ts";
import { type Tool, type ToolCallContext, tool } from "../../../../src/engine/definition/tool.ts";
import type { OtherSide, ToolStandIn } from "../../../../src/testing/crash/scenario.ts";
import type { Script, ScriptedResponse } from "../../../../src/testing/scripted-model.ts";
import { scriptedPort } from "../../scripted-port.ts";

const errandInput = z.object({
  order: z.string(),
  /** How its other side behaves: `busy` says once that nothing happened, `breaks` does it and fails all the same. */
  how: z.enum(["works", "busy", "breaks"]).default("works"),
});
type Errand = z.output<typeof errandInput>;
type How = Errand["how"];

/** Looking changes nothing. */
export const lookUp = errandTool("look_up", { effect: "read_only", recovery: "repeat" });
/** Takes a key, and drops what it knows. */
export const charge = errandTool("charge", { effect: "external", recovery: "keyed" });
/** Can be asked whether it happened. */
export const ship = errandTool("ship", {
  effect: "external",
  recovery: "reconcile",
  reconcile: () => ({ status: "unknown" }),
});
/** Nobody but a person can find out. */
export const callTaxi = errandTool("call_taxi", { effect: "external", recovery: "opaque" });

export const ERRAND_TOOLS = { look_up: lookUp, charge, ship, call_taxi: callTaxi };
export type ErrandName = keyof typeof ERRAND_TOOLS;

/** The other side of each of the tools. */
export const OTHER_SIDES: { readonly [N in ErrandName]: ToolStandIn } = {
  look_up: runOrRecall,
  charge: runOrRecall,
  ship: { execute: runOrRecall, reconcile: (_, call, outside) => found(call, outside) },
  call_taxi: run,
};

function errandTool(
  name: string,
  options: Pick<Parameters<typeof tool<Errand, string>>[0], "effect" | "recovery" | "reconcile">,
): Tool<z.input<typeof errandInput>, string> {
  return tool({
    name,
    description: `Runs an errand: ${name}.`,
    inputSchema: errandInput,
    // Short, since whoever looks a call up waits until it cannot land any more.
    timeoutMs: 4_000,
    landsWithinMs: 1_000,
    execute: () => {
      throw new Error("It is stood in for.");
    },
    ...options,
  });
}

function run({ order, how }: Errand, call: ToolCallContext, outside: OtherSide): string {
  const result = `${order}: done`;
  if (how === "busy" && call.attempt === 1) throw new NotApplied("The line is busy.");
  if (how === "works" || how === "busy") return result;
  outside.effect(result);
  throw new Error("The line broke.");
}

/** One that is tried again once it has happened says what it came to: it knows the key, or whoever asks has looked. */
function runOrRecall(errand: Errand, call: ToolCallContext, outside: OtherSide): string {
  const hasHappened = outside.happened(call.idempotencyKey) !== null;
  return run(hasHappened && errand.how === "breaks" ? { ...errand, how: "works" } : errand, call, outside);
}

/** What a tool that looks calls up answers, where what happened is all that there is to know. */
export function found({ idempotencyKey }: ToolCallContext, outside: OtherSide) {
  const effect = outside.happened(idempotencyKey);
  return effect === null
    ? ({ status: "absent" } as const)
    : ({ status: "done", result: effect.result } as const);
}

/** What a model asks for. */
export function asks(...calls: readonly (readonly [name: ErrandName, order: string, how?: How])[]) {
  return {
    toolCalls: calls.map(([name, order, how = "works"]) => ({ name, input: { order, how } })),
  } satisfies ScriptedResponse;
}

/** An agent with these tools that says what is scripted, turn by turn. */
export function errandAgent(
  script: Script,
  tools: { readonly [name: string]: Tool } = ERRAND_TOOLS,
  instructions = "Run the errands.",
) {
  return defineAgent({
    name: "errands",
    model: scriptedPort(script),
    instructions,
    tools,
  });
}
