// The tools that the scenarios share, one for each recovery class, and their stand-ins. None of them has any memory: they
// look up earlier effects outside.

import { z } from "zod";
import { NotApplied } from "../../../../src/core/errors.ts";
import { defineAgent } from "../../../../src/engine/definition/agent.ts";
import { type Tool, type ToolCallContext, tool } from "../../../../src/engine/definition/tool.ts";
import type { ModelPort } from "../../../../src/engine/ports/model-port.ts";
import type { StandInContext, ToolStandIn } from "../../../../src/testing/crash/scenario.ts";
import type { Script, ScriptedResponse } from "../../../../src/testing/scripted-model.ts";
import { scriptedPort } from "../../scripted-port.ts";

const errandInput = z.object({
  order: z.string(),
  /** How the outside system behaves: `busy` refuses the first attempt, `breaks` has its effect and then fails. */
  how: z.enum(["works", "busy", "breaks"]).default("works"),
});
type Errand = z.output<typeof errandInput>;
type How = Errand["how"];

/** Changes nothing. */
export const lookUp = errandTool("look_up", { effect: "read_only", recovery: "repeat" });
/** Takes a key, and drops one that it knows. */
export const charge = errandTool("charge", { effect: "external", recovery: "keyed" });
/** Can be looked up. */
export const ship = errandTool("ship", {
  effect: "external",
  recovery: "reconcile",
  reconcile: () => ({ status: "unknown" }),
});
/** Only a person can find out whether it happened. */
export const callTaxi = errandTool("call_taxi", { effect: "external", recovery: "opaque" });

export const ERRAND_TOOLS = { look_up: lookUp, charge, ship, call_taxi: callTaxi };
export type ErrandName = keyof typeof ERRAND_TOOLS;

/** The stand-in of each of the tools. */
export const STAND_INS: { readonly [N in ErrandName]: ToolStandIn } = {
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
    // Short, since a look-up waits until the call can no longer land.
    timeoutMs: 4_000,
    landsWithinMs: 1_000,
    execute: () => {
      throw new Error("This tool needs a stand-in.");
    },
    ...options,
  });
}

function run({ order, how }: Errand, call: ToolCallContext, outside: StandInContext): string {
  const result = `${order}: done`;
  if (how === "busy" && call.attempt === 1) throw new NotApplied("The line is busy.");
  if (how === "works" || how === "busy") return result;
  outside.effect(result);
  throw new Error("The line broke.");
}

/** A repeated call returns its earlier result: the system knows the key, or Pawl has looked the call up. */
function runOrRecall(errand: Errand, call: ToolCallContext, outside: StandInContext): string {
  const hasHappened = outside.happened(call.idempotencyKey) !== null;
  return run(hasHappened && errand.how === "breaks" ? { ...errand, how: "works" } : errand, call, outside);
}

/** The answer of a look-up that sees every effect. */
export function found({ idempotencyKey }: ToolCallContext, outside: StandInContext) {
  const effect = outside.happened(idempotencyKey);
  return effect === null
    ? ({ status: "absent" } as const)
    : ({ status: "done", result: effect.result } as const);
}

/** A response that requests these calls. */
export function asks(...calls: readonly (readonly [name: ErrandName, order: string, how?: How])[]) {
  return {
    toolCalls: calls.map(([name, order, how = "works"]) => ({ name, input: { order, how } })),
  } satisfies ScriptedResponse;
}

/** An agent with these tools that answers from a script, turn by turn. */
export function errandAgent(
  script: Script,
  tools: { readonly [name: string]: Tool } = ERRAND_TOOLS,
  instructions = "Run the errands.",
  model: ModelPort = scriptedPort(script),
) {
  return defineAgent({
    name: "errands",
    model,
    instructions,
    tools,
  });
}
