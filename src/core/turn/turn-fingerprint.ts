import { canonicalHash, canonicalJson } from "../canonical-json.ts";
import type { Change } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { ownProperty } from "../own-property.ts";

/** Bumped when the rules of execution change in a way that makes an old conversation unsafe to continue. */
export const POLICY_VERSION = 1;

/** Everything that shapes a run. A process may continue a run only if its document equals the stored one. */
export type FingerprintDocument = {
  readonly input: Json;
  /** A plain text, or a template with its bound parameters; never a rendered prompt. */
  readonly prompt: Json;
  readonly model: string;
  readonly provider: string;
  readonly pricingPlan: string;
  /** Qualified tool name → hash of its normalised schema. An object, so that the order of tools does not matter. */
  readonly tools: { readonly [qualifiedName: string]: string };
  readonly settings: JsonObject;
  readonly policyVersion: number;
  /** The run-shaping switches: idempotency enforcement, blob threshold, output schema, … */
  readonly switches: JsonObject;
};

export function fingerprintOf(document: FingerprintDocument): string {
  return canonicalHash(document).toString("hex");
}

export function toolSchemaHash(qualifiedName: string, inputSchema: Json): string {
  return canonicalHash([qualifiedName, inputSchema]).toString("hex");
}

/** The differences between two documents, leaf by leaf, in the order of their paths. */
export function fingerprintChanges(was: Json, is: Json): Change[] {
  const changes: Change[] = [];
  compare("", was, is, changes);
  return changes;
}

/** Identifies the changes: two workers whose agents differ from the stored one in the same way have the same hash. */
export function hashChanges(changes: readonly Change[]): string {
  return canonicalHash(changes.map((change) => ({ ...change }))).toString("hex");
}

function compare(path: string, was: Json, is: Json, changes: Change[]): void {
  if (isJsonObject(was) && isJsonObject(is)) {
    for (const key of [...new Set([...Object.keys(was), ...Object.keys(is)])].sort()) {
      const what = path === "" ? key : `${path}.${key}`;
      const old = ownProperty(was, key);
      const now = ownProperty(is, key);
      if (old !== undefined && now !== undefined) compare(what, old, now, changes);
      else changes.push({ what, was: old ?? null, is: now ?? null });
    }
  } else if (canonicalJson(was) !== canonicalJson(is)) {
    changes.push({ what: path === "" ? "value" : path, was, is });
  }
}

const SHOWN_CHARACTERS = 120;

/** One readable clause per change: `model: "a" → "b"`. Long values are cut to where they differ. */
export function describeChanges(changes: readonly Change[]): string {
  return changes.map(describeChange).join("; ");
}

function describeChange({ what, was, is }: Change): string {
  // Absent is stored as null, so this is the only change that looks like none.
  if (was === null && is === null) return `${what}: null on one side, absent on the other`;
  return `${what}: ${excerpts(show(was), show(is)).join(" → ")}`;
}

function show(value: Json): string {
  return value === null ? "(absent)" : JSON.stringify(value);
}

function excerpts(was: string, is: string): [string, string] {
  let same = 0;
  while (same < was.length && same < is.length && was[same] === is[same]) same++;
  const start = Math.max(0, same - 40);
  const cut = (text: string) => {
    if (text.length <= SHOWN_CHARACTERS) return text;
    // Well-formed, since the cut may split a surrogate pair, and this text is stored.
    const end = start + SHOWN_CHARACTERS;
    return `${start > 0 ? "…" : ""}${text.slice(start, end).toWellFormed()}${end < text.length ? "…" : ""}`;
  };
  return [cut(was), cut(is)];
}
