import type { ToolPolicy } from "../../core/call/tool-classification.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import type { ConfiguredCrashtest } from "../../engine/definition/config.ts";
import { agentSteps, toolsOf } from "../../engine/definition/known-tools.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import type { CrashExplorerOptions } from "../../testing/crash/crash-explorer.ts";
import type { OwnInvariant } from "../../testing/crash/invariant.ts";
import type { ExecuteStandIn, PersonStandIn, Scenario, ToolStandIn } from "../../testing/crash/scenario.ts";

/** What stands in for the outside. */
export type Setup = Pick<CrashExplorerOptions, "model" | "tools" | "person" | "invariants" | "mayFail">;

/** May be used as it is. Without this word nothing that changes something is, for it would be in every schedule. */
const REAL = "real";

/**
 * What the configuration gives for a pipeline, checked: a stand-in for everything that would reach the world. `refuse` is
 * told where a tool is called that has none.
 */
export function configuredSetup(
  name: string,
  given: ConfiguredCrashtest,
  pipeline: Agent | StepNode,
  policy: ToolPolicy,
  refuse: (why: string) => void,
): Setup {
  const place = `crashtests.${name}`;
  const model = readModel(place, given.model, pipeline);
  return {
    ...(model === null ? {} : { model }),
    tools: readTools(place, given.tools ?? {}, harmlessTools(pipeline, policy), refuse),
    ...(given.person === undefined ? {} : { person: readPerson(place, given.person) }),
    ...(given.invariants === undefined ? {} : { invariants: readInvariants(place, given.invariants) }),
    ...(given.mayFail === undefined ? {} : { mayFail: readMayFail(place, given.mayFail) }),
  };
}

function readModel(
  place: string,
  model: unknown,
  pipeline: Agent | StepNode,
): NonNullable<Setup["model"]> | null {
  if (model === REAL) return null;
  if (isModel(model)) return model;
  if (model !== undefined)
    throw new ConfigurationError(
      `${place}.model is no model: give scriptedModel([…]) of "pawl/testing", or "real" where the agents' own may be asked in every schedule.`,
    );
  if (agentSteps(pipeline).length === 0) return null;
  throw new ConfigurationError(
    `${place} has no model, and the agents' own would be asked in every schedule: give scriptedModel([…]) of "pawl/testing", or "real" where that is harmless.`,
  );
}

function isModel(value: unknown): value is NonNullable<Scenario["model"]> {
  if (typeof value === "function") return true;
  return typeof value === "object" && value !== null && ("respond" in value || "doGenerate" in value);
}

/** Those that change nothing for anybody else may run as they are. */
function harmlessTools(pipeline: Agent | StepNode, policy: ToolPolicy): ReadonlySet<string> {
  const harmless = toolsOf(pipeline, policy).filter(
    ({ tool, classification }) => tool.isSessionTool || classification.effect === "read_only",
  );
  return new Set(harmless.map(({ name }) => name));
}

/** A tool that nobody stands in for is not run: which one a step's code calls is known only when it does. */
function readTools(
  place: string,
  given: { readonly [name: string]: unknown },
  harmless: ReadonlySet<string>,
  refuse: (why: string) => void,
): NonNullable<Setup["tools"]> {
  const standIns = new Map(
    Object.entries(given).map(([name, value]) => [name, readTool(`${place}.tools.${name}`, value)]),
  );
  const named = [...standIns].flatMap(([name, standIn]) =>
    standIn === REAL ? [] : [[name, standIn] as const],
  );
  return anyTool((name) => {
    const standIn = standIns.get(name);
    if (standIn !== undefined) return standIn === REAL ? undefined : standIn;
    return harmless.has(name) ? undefined : noStandIn(place, name, refuse);
  }, Object.fromEntries(named));
}

function readTool(place: string, value: unknown): ToolStandIn | typeof REAL {
  if (value === REAL || isExecute(value)) return value;
  if (isToolStandIn(value)) {
    if (value.execute !== undefined) return value;
    throw new ConfigurationError(
      `${place} has a reconcile and no execute, so the tool itself would run in every schedule: add an execute, or give "real" in its place, which takes both from the tool.`,
    );
  }
  throw new ConfigurationError(
    `${place} stands in for nothing: give a function, \`(input, call) => …\`, or { execute, reconcile }; "real" lets the tool itself run.`,
  );
}

function isExecute(value: unknown): value is ExecuteStandIn {
  return typeof value === "function";
}

function isToolStandIn(value: unknown): value is Exclude<ToolStandIn, ExecuteStandIn> {
  if (typeof value !== "object" || value === null) return false;
  const entries = Object.entries(value);
  return (
    entries.length > 0 &&
    entries.every(
      ([name, part]) => (name === "execute" || name === "reconcile") && typeof part === "function",
    )
  );
}

function noStandIn(place: string, name: string, refuse: (why: string) => void): ExecuteStandIn {
  return () => {
    const why = `${place}.tools has no ${name}, and the tool itself would run in every schedule: give a stand-in, \`${name}: (input, call) => …\`, or "real" where its other side is one already.`;
    refuse(why);
    throw new Error(why);
  };
}

function readPerson(place: string, given: { readonly [question: string]: unknown }): PersonStandIn {
  const names = ["approval", "inDoubt", "question"];
  const wrong = Object.entries(given).find(
    ([name, answer]) => !names.includes(name) || typeof answer !== "function",
  );
  if (wrong === undefined) return given;
  throw new ConfigurationError(
    `${place}.person.${wrong[0]} answers nothing: it takes functions by the names ${names.join(", ")}.`,
  );
}

function readInvariants(
  place: string,
  given: { readonly [name: string]: unknown },
): NonNullable<Setup["invariants"]> {
  const entries = Object.entries(given).map(([name, value]) => {
    if (value === false || isInvariant(value)) return [name, value] as const;
    throw new ConfigurationError(
      `${place}.invariants.${name} is no promise: give a function of the evidence that returns what is wrong, or false to leave out one of Pawl's.`,
    );
  });
  return Object.fromEntries(entries);
}

function isInvariant(value: unknown): value is OwnInvariant {
  return typeof value === "function";
}

function readMayFail(place: string, given: unknown): true {
  if (given === true) return given;
  throw new ConfigurationError(
    `${place}.mayFail is ${JSON.stringify(given)}: it takes true, or is left out where the run is to succeed.`,
  );
}

/**
 * Stand-ins that are found when they are asked for: the tools that the code of a step calls are not known before. Those
 * that were `named` can be listed, so that a misspelt name is noticed.
 */
export function anyTool(
  find: (name: string) => ToolStandIn | undefined,
  named: NonNullable<Setup["tools"]> = {},
): NonNullable<Setup["tools"]> {
  const found = (name: string | symbol) => (typeof name === "string" ? find(name) : undefined);
  return new Proxy(named, {
    get: (_, name) => found(name),
    // What is found is its own, and is looked for among that.
    getOwnPropertyDescriptor: (known, name) => {
      const value = found(name);
      const isFound = value !== undefined && !Object.hasOwn(known, name);
      return isFound ? { value, configurable: true } : Reflect.getOwnPropertyDescriptor(known, name);
    },
  });
}
