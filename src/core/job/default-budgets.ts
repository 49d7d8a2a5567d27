import { canonicalJson } from "../canonical-json.ts";
import { ConfigurationError } from "../errors.ts";
import type { Json } from "../json.ts";
import type { Budgets } from "./budgets.ts";
import { assertRunSpec, parseRunSpec, type RunSpec } from "./run-spec.ts";

/** Parsed as the budgets of a RunSpec: the same spellings are accepted, and the same errors reported. */
export function readBudgets(budgets: unknown): Budgets {
  const parsed = parseRunSpec({ objective: "budgets", budgets });
  if (parsed.ok) return parsed.spec.budgets;
  const problems = parsed.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ConfigurationError(problems.join("; "));
}

/** The run's own budgets, completed by the default ones. */
export function withDefaultBudgets(own: Budgets, defaults: Partial<Budgets>): Budgets {
  const given = Object.fromEntries(
    Object.entries(own).filter(([, value]) => value !== null && value !== false),
  );
  return { ...own, ...defaults, ...given };
}

/** A new run, as far as its default contract depends on it. */
type StartedPipeline = { readonly pipeline: string; readonly input: Json };

/**
 * The contract of a new run: the one that its caller has given, completed by the default budgets; without one, a contract of
 * the default budgets alone. Null if there are neither.
 */
export function contractOf(
  given: RunSpec | null,
  defaults: Partial<Budgets> | null,
  start: StartedPipeline,
): RunSpec | null {
  if (defaults === null) return given;
  if (given === null) return defaultContract(defaults, start);
  return { ...given, budgets: withDefaultBudgets(given.budgets, defaults) };
}

function defaultContract(budgets: Partial<Budgets>, { pipeline, input }: StartedPipeline): RunSpec {
  const isText = typeof input === "string" && input.trim() !== "";
  return assertRunSpec({ objective: isText ? input : `Run ${pipeline}.`, pipeline, budgets });
}

/**
 * True if a run that was started without a contract of its own has this one. The default budgets may have been others then:
 * a run keeps those that it was started with.
 */
export function isDefaultContract(spec: RunSpec | null, start: StartedPipeline): boolean {
  if (spec === null) return true;
  return canonicalJson(spec) === canonicalJson(defaultContract(spec.budgets, start));
}
