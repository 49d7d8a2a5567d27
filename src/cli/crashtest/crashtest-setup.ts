import type { ToolPolicy } from "../../core/call/tool-classification.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import type { ConfiguredCrashtest } from "../../engine/definition/config.ts";
import { agentSteps, toolsOf } from "../../engine/definition/known-tools.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import type { CrashExplorerOptions } from "../../testing/crash/crash-explorer.ts";
import type { OwnInvariant } from "../../testing/crash/invariant.ts";
import type { ExecuteStandIn, PersonStandIn, Scenario, ToolStandIn } from "../../testing/crash/scenario.ts";

/** The stand-ins for everything outside of the pipeline. */
export type CrashtestSetup = Pick<
  CrashExplorerOptions,
  "model" | "tools" | "person" | "invariants" | "mayFail"
>;

/** Marks a tool or model that may be used itself. Without the mark nothing with effects is used, since every schedule would call it. */
const REAL = "real";

/**
 * The validated stand-ins that the configuration has for a pipeline. `refuse` is called if a tool without a stand-in
 * is called.
 */
export function configuredSetup(
  name: string,
  given: ConfiguredCrashtest,
  pipeline: Agent | StepNode,
  policy: ToolPolicy,
  refuse: (why: string) => void,
): CrashtestSetup {
  const path = `crashtests.${name}`;
  const model = readModel(path, given.model, pipeline);
  return {
    ...(model === null ? {} : { model }),
    tools: readTools(path, given.tools ?? {}, harmlessTools(pipeline, policy), refuse),
    ...(given.person === undefined ? {} : { person: readPerson(path, given.person) }),
    ...(given.invariants === undefined ? {} : { invariants: readInvariants(path, given.invariants) }),
    ...(given.mayFail === undefined ? {} : { mayFail: readMayFail(path, given.mayFail) }),
  };
}

function readModel(
  path: string,
  model: unknown,
  pipeline: Agent | StepNode,
): NonNullable<CrashtestSetup["model"]> | null {
  if (model === REAL) return null;
  if (isModel(model)) return model;
  if (model !== undefined)
    throw new ConfigurationError(
      `${path}.model is not a model: give scriptedModel([…]) of "pawl/testing", or "real" if the agents' own models may be asked in every schedule.`,
    );
  if (agentSteps(pipeline).length === 0) return null;
  throw new ConfigurationError(
    `${path} has no model, and the agents' own would be asked in every schedule: give scriptedModel([…]) of "pawl/testing", or "real" if that is harmless.`,
  );
}

function isModel(value: unknown): value is NonNullable<Scenario["model"]> {
  if (typeof value === "function") return true;
  return typeof value === "object" && value !== null && ("respond" in value || "doGenerate" in value);
}

/** Tools without external effects, which may run themselves. */
function harmlessTools(pipeline: Agent | StepNode, policy: ToolPolicy): ReadonlySet<string> {
  const harmless = toolsOf(pipeline, policy).filter(
    ({ tool, classification }) => tool.isSessionTool || classification.effect === "read_only",
  );
  return new Set(harmless.map(({ name }) => name));
}

/** A tool without a stand-in is refused when it is called: which tools step code calls is not known before. */
function readTools(
  path: string,
  given: { readonly [name: string]: unknown },
  harmless: ReadonlySet<string>,
  refuse: (why: string) => void,
): NonNullable<CrashtestSetup["tools"]> {
  const standIns = new Map(
    Object.entries(given).map(([name, value]) => [name, readTool(`${path}.tools.${name}`, value)]),
  );
  const named = [...standIns].flatMap(([name, standIn]) =>
    standIn === REAL ? [] : [[name, standIn] as const],
  );
  return anyTool((name) => {
    const standIn = standIns.get(name);
    if (standIn !== undefined) return standIn === REAL ? undefined : standIn;
    return harmless.has(name) ? undefined : noStandIn(path, name, refuse);
  }, Object.fromEntries(named));
}

function readTool(path: string, value: unknown): ToolStandIn | typeof REAL {
  if (value === REAL || isExecute(value)) return value;
  if (isToolStandIn(value)) {
    if (value.execute !== undefined) return value;
    throw new ConfigurationError(
      `${path} has a reconcile but no execute, so the tool itself would run in every schedule: add an execute, or give "real" instead, which uses both of the tool.`,
    );
  }
  throw new ConfigurationError(
    `${path} is not a stand-in: give a function, \`(input, call) => …\`, or { execute, reconcile }; "real" lets the tool itself run.`,
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

function noStandIn(path: string, name: string, refuse: (why: string) => void): ExecuteStandIn {
  return () => {
    const why = `${path}.tools has no ${name}, and the tool itself would run in every schedule: give a stand-in, \`${name}: (input, call) => …\`, or "real" if the service behind it is already a stand-in.`;
    refuse(why);
    throw new Error(why);
  };
}

function readPerson(path: string, given: { readonly [question: string]: unknown }): PersonStandIn {
  const names = ["approval", "inDoubt", "question"];
  const wrong = Object.entries(given).find(
    ([name, answer]) => !names.includes(name) || typeof answer !== "function",
  );
  if (wrong === undefined) return given;
  throw new ConfigurationError(
    `${path}.person.${wrong[0]} is not used: person takes functions named ${names.join(", ")}.`,
  );
}

function readInvariants(
  path: string,
  given: { readonly [name: string]: unknown },
): NonNullable<CrashtestSetup["invariants"]> {
  const entries = Object.entries(given).map(([name, value]) => {
    if (value === false || isInvariant(value)) return [name, value] as const;
    throw new ConfigurationError(
      `${path}.invariants.${name} is not an invariant: give a function of the evidence that returns what is wrong, or false to disable one of Pawl's.`,
    );
  });
  return Object.fromEntries(entries);
}

function isInvariant(value: unknown): value is OwnInvariant {
  return typeof value === "function";
}

function readMayFail(path: string, given: unknown): true {
  if (given === true) return given;
  throw new ConfigurationError(
    `${path}.mayFail is ${JSON.stringify(given)}: set it to true, or leave it out if the run must succeed.`,
  );
}

/**
 * Stand-ins that are looked up on demand: the tools that step code calls are not known before. The `named` ones
 * can be listed, so that a misspelt name is noticed.
 */
export function anyTool(
  find: (name: string) => ToolStandIn | undefined,
  named: NonNullable<CrashtestSetup["tools"]> = {},
): NonNullable<CrashtestSetup["tools"]> {
  const found = (name: string | symbol) => (typeof name === "string" ? find(name) : undefined);
  return new Proxy(named, {
    get: (_, name) => found(name),
    // The explorer checks for own properties, so a stand-in that was found must look like one.
    getOwnPropertyDescriptor: (known, name) => {
      const value = found(name);
      const isFound = value !== undefined && !Object.hasOwn(known, name);
      return isFound ? { value, configurable: true } : Reflect.getOwnPropertyDescriptor(known, name);
    },
  });
}
