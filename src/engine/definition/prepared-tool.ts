import type { RecoveryClass, SideEffectClass } from "../../core/call/tool-call-decision.ts";
import { KEY_PROPERTIES } from "../../core/call/tool-call-key.ts";
import { type Classification, classifyTool, type ToolPolicy } from "../../core/call/tool-classification.ts";
import { parseToolName } from "../../core/call/tool-name.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Tool } from "./tool.ts";

/** A tool with its schema read and its name classified, as the fingerprint, the model and the gateway need it. */
export type PreparedTool = Tool & {
  readonly name: string;
  readonly tokens: readonly string[];
  readonly effect: SideEffectClass;
  readonly recovery: RecoveryClass;
  /** Why it has this effect and recovery, for people. */
  readonly classification: Classification;
  /** The schema that the model sees: without the key that the gateway fills in. */
  readonly modelSchema: JsonObject;
  readonly keyProperty: string | null;
};

export async function prepareTool(key: string, tool: Tool, policy: ToolPolicy): Promise<PreparedTool> {
  const schema = await tool.input.jsonSchema();
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const keyProperty = KEY_PROPERTIES.find((name) => name in properties) ?? null;
  const name = tool.name ?? key;
  if (tool.requiresIdempotencyKey && keyProperty === null) {
    throw new ConfigurationError(
      `Tool ${name} requires an idempotency key, and its input schema has no property for it: add an "idempotencyKey" string.`,
    );
  }
  const classification = classify(name, tool, policy);
  const { effect, recovery } = classification;
  if (recovery === "reconcile" && tool.reconcile === null)
    throw new ConfigurationError(`Tool ${name} has recovery "reconcile" and no reconcile function.`);
  const { tokens } = parseToolName(name);
  const modelSchema = withoutProperty(schema, properties, keyProperty);
  return { ...tool, name, tokens, effect, recovery, classification, modelSchema, keyProperty };
}

/** The effect and the recovery class of a tool: from its declaration, the policy, or its name. */
export function classify(name: string, tool: Tool, policy: ToolPolicy): Classification {
  const { effect, recovery, namespace, server, ownName, annotations } = tool;
  const declared = { declaredEffect: effect, declaredRecovery: recovery };
  return classifyTool({ name, namespace, server, ownName, annotations, ...declared }, policy);
}

function withoutProperty(schema: JsonObject, properties: JsonObject, hidden: string | null): JsonObject {
  if (hidden === null) return schema;
  const { [hidden]: _, ...shown } = properties;
  const required = Array.isArray(schema.required) ? schema.required.filter((name) => name !== hidden) : [];
  return { ...schema, properties: shown, required };
}

/** Looks like a key, for parsing arguments before the real key is known. */
export const KEY_STAND_IN = "0".repeat(64);

/** The arguments with the call's key filled in. It overwrites what the model wrote there. */
export function withKey(tool: PreparedTool, input: unknown, key: string): unknown {
  return tool.keyProperty === null || !isJsonObject(input) ? input : { ...input, [tool.keyProperty]: key };
}

/** The error if a payload that must carry the call's key does not; null if all is well. */
export function keyProblem(
  tool: PreparedTool,
  payload: unknown,
  { key, enforceKeys }: { readonly key: string; readonly enforceKeys: boolean },
): string | null {
  const isRequired = tool.requiresIdempotencyKey || (enforceKeys && isUnsafeToRepeat(tool));
  if (!isRequired) return null;
  const carried = carriedKey(tool, payload);
  if (carried === key) return null;
  return `Tool ${tool.name} must carry the call's idempotency key, and its payload ${carried === undefined ? "has none" : "has another"}. Nothing was sent; let its input schema pass the "idempotencyKey" string on unchanged.`;
}

function isUnsafeToRepeat({ effect, recovery }: PreparedTool): boolean {
  return effect !== "read_only" && recovery !== "repeat";
}

function carriedKey(tool: PreparedTool, payload: unknown): unknown {
  if (tool.keyProperty === null || typeof payload !== "object" || payload === null) return undefined;
  return (payload as { readonly [name: string]: unknown })[tool.keyProperty];
}
