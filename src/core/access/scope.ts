import { ConfigurationError } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { assertNameSize } from "../naming/name-size.ts";
import { assertOptions, kindOf, type OptionNames } from "../naming/option-names.ts";

/** Texts that runs are found by, such as a tenant: part of their metadata. */
export type ScopeLabels = { readonly [name: string]: string };

/** The runs that a person sees and acts on; null is no restriction. For that person, no other run exists. */
export type AccessScope = {
  /** Runs of these pipelines. */
  readonly pipelines: readonly string[] | null;
  /** Runs with all of these in their metadata. */
  readonly labels: ScopeLabels | null;
};

/** Every run of a store. */
export const EVERYTHING: AccessScope = { pipelines: null, labels: null };

/** The metadata of a run. */
type ScopedMetadata = { readonly [name: string]: string | readonly string[] };

/** A run, as far as a scope depends on it. */
export type ScopedRun = { readonly pipeline: string; readonly metadata: ScopedMetadata | null };

/** True if the run is one of those in the scope. */
export function isInScope({ pipelines, labels }: AccessScope, { pipeline, metadata }: ScopedRun): boolean {
  if (pipelines !== null && !pipelines.includes(pipeline)) return false;
  return Object.entries(labels ?? {}).every(([name, value]) => valuesOf(metadata, name).includes(value));
}

function valuesOf(metadata: ScopedMetadata | null, name: string): readonly string[] {
  const given = metadata !== null && Object.hasOwn(metadata, name) ? metadata[name] : undefined;
  if (given === undefined) return [];
  return typeof given === "string" ? [given] : given;
}

/** The scope as the filter of a list: what is not in it is not restricted. */
export function scopeFilter({ pipelines, labels }: AccessScope): {
  readonly pipelines?: readonly string[];
  readonly metadata?: ScopeLabels;
} {
  return {
    ...(pipelines === null ? {} : { pipelines }),
    ...(labels === null ? {} : { metadata: labels }),
  };
}

/**
 * The metadata of a run that a person of this scope starts: it has the labels of the scope, so that the person sees the run.
 * Other values of such a label are refused: with them, the run would be in another person's scope too.
 */
export function mergeScopeLabels(
  { labels }: AccessScope,
  metadata: ScopedMetadata | null,
): ScopedMetadata | null {
  if (labels === null) return metadata;
  for (const [name, value] of Object.entries(labels)) {
    const other = valuesOf(metadata, name).find((each) => each !== value);
    if (other !== undefined)
      throw new ConfigurationError(
        `The metadata ${JSON.stringify(name)} is ${JSON.stringify(other)}, and this access is for ${JSON.stringify(value)} only: leave it out, or give that.`,
      );
  }
  return { ...metadata, ...labels };
}

const NAMES = { pipelines: true, labels: true } satisfies OptionNames<AccessScope>;

/** The checked scope; it may come from a caller without types. What is left out is not restricted. */
export function readScope(given: unknown): AccessScope {
  assertOptions("A scope", given, NAMES);
  const { pipelines = null, labels = null } = isJsonObject(given) ? given : {};
  return { pipelines: readPipelines(pipelines), labels: readLabels(labels) };
}

function readPipelines(given: unknown): readonly string[] | null {
  if (given === null) return null;
  if (!Array.isArray(given) || given.length === 0 || !given.every(isName))
    throw new ConfigurationError(
      `The pipelines of the scope are ${described(given)}: give a list of names, or leave them out for all pipelines.`,
    );
  const names: readonly string[] = given;
  for (const name of names) assertNameSize("pipeline in the scope", name);
  return [...new Set(names)].sort();
}

function readLabels(given: unknown): ScopeLabels | null {
  if (given === null) return null;
  const labels = isJsonObject(given) ? Object.entries(given) : [];
  if (labels.length === 0)
    throw new ConfigurationError(
      `The labels of the scope are ${described(given)}: give names with texts, such as { tenant: "acme" }, or leave them out.`,
    );
  return Object.fromEntries(labels.map(([name, value]) => [name, readLabel(name, value)]));
}

function readLabel(name: string, value: unknown): string {
  if (!isName(name) || !isName(value))
    throw new ConfigurationError(
      `The label ${JSON.stringify(name)} of the scope is ${JSON.stringify(value)}: give a text.`,
    );
  assertNameSize("label in the scope", name);
  assertNameSize(`label ${JSON.stringify(name)} in the scope`, value);
  return value;
}

function isName(given: unknown): given is string {
  return typeof given === "string" && given.trim() !== "";
}

function described(given: unknown): string {
  return Array.isArray(given) ? JSON.stringify(given) : kindOf(given);
}

/** `pipelines report, tenant=acme`, for a sentence; `all runs` without a restriction. */
export function scopeText({ pipelines, labels }: AccessScope): string {
  const parts = [
    ...(pipelines === null
      ? []
      : [`${pipelines.length === 1 ? "pipeline" : "pipelines"} ${pipelines.join(", ")}`]),
    ...Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`),
  ];
  return parts.length === 0 ? "all runs" : parts.join(", ");
}
