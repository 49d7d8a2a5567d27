import { ConfigurationError } from "../../core/errors.ts";
import { nearestName } from "../../core/naming/nearest-name.ts";
import { type BindableTools, toolsIn } from "../../engine/definition/known-tools.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import { askHuman } from "../../engine/definition/waiting/ask-human.ts";
import { sleepTool, WAIT_FOR } from "../../engine/definition/waiting/wait-tools.ts";
import type { Evidence } from "./evidence.ts";
import type { Scenario } from "./scenario.ts";

/** These need no stand-ins: `person`, the clock and messages answer them. */
const ANSWERED: ReadonlySet<string | null> = new Set([askHuman.name, sleepTool.name, WAIT_FOR]);

/** The tools that are known before the first schedule. An `act` may run other pipelines too. */
export async function knownBefore({ pipeline, act }: Scenario): Promise<BindableTools> {
  const { tools, isComplete } = await toolsIn(rootOf(pipeline), null);
  return { tools, isComplete: isComplete && act === undefined };
}

/**
 * A stand-in under a name that no tool has is ignored, and the real tool runs. If all tools are known, such a name is
 * refused before anything runs. Where every tool has its stand-in, further names are harmless: one table of stand-ins may
 * serve several pipelines.
 */
export function assertStandInsFit({ tools = {} }: Scenario, known: BindableTools): void {
  const real = ownNames(known).filter((name) => !ANSWERED.has(name) && !Object.hasOwn(tools, name));
  if (!known.isComplete || real.length === 0) return;
  const names = known.tools.map(({ name }) => name);
  const unknown = Object.keys(tools).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const near = nearestName(unknown, real);
  const advice = near === null ? `the tools without one are ${real.join(", ")}.` : `did you mean ${near}?`;
  throw new ConfigurationError(`There is no tool ${unknown} to stand in for: ${advice} Nothing has run yet.`);
}

/** The same after the undisturbed schedule, by the tools that it called: not all of them were known before. */
export function assertStandInsFitted(
  { tools = {} }: Scenario,
  known: BindableTools,
  { witness }: Evidence,
): void {
  const called = new Set(enteredTools(witness));
  const names = new Set([...known.tools.map(({ name }) => name), ...called]);
  const real = [...names].filter((name) => !Object.hasOwn(tools, name));
  for (const name of Object.keys(tools)) {
    const near = names.has(name) ? null : nearestName(name, real);
    if (near === null) continue;
    const ran = called.has(near) ? ` The real ${near} ran.` : "";
    throw new ConfigurationError(`There is no tool ${name} to stand in for: did you mean ${near}?${ran}`);
  }
}

/** The tools that ran in no schedule; where not all tools are known, the names of stand-ins too. */
export function neverRunTools(
  { tools = {} }: Scenario,
  known: BindableTools,
  ran: ReadonlySet<string>,
): readonly string[] {
  const named = known.isComplete ? [] : Object.keys(tools);
  return [...new Set([...ownNames(known), ...named])].filter((name) => !ran.has(name));
}

export function enteredTools(witness: Evidence["witness"]): readonly string[] {
  return witness.flatMap((line) => (line.kind === "entered" ? [line.tool] : []));
}

/** The names of the user's tools. Session tools are Pawl's own, and change nothing outside. */
function ownNames({ tools }: BindableTools): readonly string[] {
  return [...new Set(tools.flatMap(({ name, isSessionTool }) => (isSessionTool ? [] : [name])))];
}
