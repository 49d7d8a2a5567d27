import type { RecoveryClass, SideEffectClass } from "../../core/call/tool-call-decision.ts";
import { KEY_PROPERTIES } from "../../core/call/tool-call-key.ts";
import { type Classification, classifyTool, type ToolPolicy } from "../../core/call/tool-classification.ts";
import { parseToolName } from "../../core/call/tool-name.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Tool } from "./tool.ts";

/** A tool whose schema has been read and whose name was looked at: what the fingerprint, the model and the gateway need. */
export type PreparedTool = Tool & {
  readonly name: string;
  readonly tokens: readonly string[];
  readonly effect: SideEffectClass;
  readonly recovery: RecoveryClass;
  /** What made it so, for people. */
  readonly classification: Classification;
  /** What the model is shown: without the key that the gateway fills in. */
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
      `Tool ${name} requires an idempotency key, and its input schema has no place for one: add an "idempotencyKey" string.`,
    );
  }
  const classification = classify(name, tool, policy);
  const { effect, recovery } = classification;
  if (recovery === "reconcile" && tool.reconcile === null)
    throw new ConfigurationError(`Tool ${name} has recovery "reconcile" and nothing to look a call up with.`);
  const { tokens } = parseToolName(name);
  const modelSchema = withoutProperty(schema, properties, keyProperty);
  return { ...tool, name, tokens, effect, recovery, classification, modelSchema, keyProperty };
}

/** What a tool changes and what may be done about a doubt, by what it declares, what the policy says, or its name. */
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

/** Has the form of a key, for reading arguments before the real one is known. */
export const KEY_STAND_IN = "0".repeat(64);

/** The arguments with the call's key filled in, whatever the model wrote there: it is not the model's to choose. */
export function withKey(tool: PreparedTool, input: unknown, key: string): unknown {
  return tool.keyProperty === null || !isJsonObject(input) ? input : { ...input, [tool.keyProperty]: key };
}

/** What is wrong with the key in a payload that has to carry it; null where nothing is, or it need not. */
export function keyProblem(
  tool: PreparedTool,
  payload: unknown,
  { key, enforceKeys }: { readonly key: string; readonly enforceKeys: boolean },
): string | null {
  const isRequired = tool.requiresIdempotencyKey || (enforceKeys && isUnsafeToRepeat(tool));
  if (!isRequired) return null;
  const carried = carriedKey(tool, payload);
  if (carried === key) return null;
  return `Tool ${tool.name} has to carry the call's idempotency key, and its payload ${carried === undefined ? "has none" : "has another"}: nothing was sent; let its input schema keep an "idempotencyKey" string as it is.`;
}

function isUnsafeToRepeat({ effect, recovery }: PreparedTool): boolean {
  return effect !== "read_only" && recovery !== "repeat";
}

function carriedKey(tool: PreparedTool, payload: unknown): unknown {
  if (tool.keyProperty === null || typeof payload !== "object" || payload === null) return undefined;
  return (payload as { readonly [name: string]: unknown })[tool.keyProperty];
}
