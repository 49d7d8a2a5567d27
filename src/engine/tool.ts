import { z } from "zod";
import { ConfigurationError } from "../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { defaultRecovery, type RecoveryClass, type SideEffectClass } from "../core/tool-call-decision.ts";

/** What a tool is told about the call it serves. */
export interface ToolCallContext {
  readonly runId: string;
  readonly stepId: string;
  readonly stepName: string;
  readonly turnIndex: number;
  readonly toolCallId: string;
  /** 1 the first time; higher when an earlier try was interrupted. */
  readonly attempt: number;
  /** The same for every try of this call: hand it to the outside system, so that it can drop a second one. */
  readonly idempotencyKey: string;
  readonly turnKey: string;
  readonly epoch: number;
  /** Aborts when the run is cancelled or taken over. */
  readonly signal: AbortSignal;
}

/** What people write to make a tool. */
export interface ToolDefinition<I, O> {
  /** The key in the agent's `tools` unless said otherwise; needed for a tool that a code step calls. */
  readonly name?: string;
  /** "local" unless said otherwise. */
  readonly namespace?: string;
  readonly description: string;
  readonly inputSchema: z.ZodType<I>;
  /** What the tool changes; unknown counts as `external`. */
  readonly effect?: SideEffectClass;
  /**
   * What may be done when a crash left the outcome unknown: `repeat` runs the call again, `keyed` does so with the same
   * key, any other never does, and the run stops. Unless said otherwise `repeat` for read-only tools, else `opaque`.
   */
  readonly recovery?: RecoveryClass;
  /** The payload has to carry the call's key: the input schema needs an `idempotencyKey` property. */
  readonly requiresIdempotencyKey?: boolean;
  /** The arguments that make two calls the same effect; all of them unless said otherwise. */
  readonly identity?: (input: I) => Json;
  execute(input: I, call: ToolCallContext): Promise<O> | O;
}

/** How a tool's input is described to a model and read back from it. */
export interface ToolInput {
  jsonSchema(): JsonObject | Promise<JsonObject>;
  parse(input: unknown): Promise<{ ok: true; value: unknown } | { ok: false; error: string }>;
}

const TOOL = Symbol.for("pawl.tool");

/** A tool as the engine uses it. */
export type Tool = {
  readonly [TOOL]: true;
  readonly name: string | null;
  readonly namespace: string;
  readonly description: string;
  readonly input: ToolInput;
  readonly effect: SideEffectClass;
  readonly recovery: RecoveryClass;
  readonly requiresIdempotencyKey: boolean;
  readonly identity: ((input: never) => Json) | null;
  readonly execute: (input: never, call: ToolCallContext) => unknown;
};

/**
 * A tool that an agent or a code step can call. Every call has a row in the ledger and a receipt.
 *
 * @example
 * const add = tool({
 *   description: "Add two numbers.",
 *   inputSchema: z.object({ a: z.number(), b: z.number() }),
 *   effect: "read_only",
 *   execute: ({ a, b }) => a + b,
 * });
 */
export function tool<I, O>(definition: ToolDefinition<I, O>): Tool {
  const { description, inputSchema, identity } = definition;
  assertDefinition(definition);
  return makeTool({
    name: definition.name ?? null,
    namespace: definition.namespace ?? "local",
    description,
    input: zodInput(inputSchema),
    effect: definition.effect ?? "external",
    recovery: definition.recovery ?? null,
    requiresIdempotencyKey: definition.requiresIdempotencyKey ?? false,
    identity: identity ?? null,
    execute: (input, call) => definition.execute(input, call),
  });
}

/** What the types say, for those who came without them. */
function assertDefinition<I, O>(definition: ToolDefinition<I, O>): void {
  const given: { readonly [name: string]: unknown } = { ...definition };
  const which = `The tool ${JSON.stringify(given.name ?? given.description ?? "without a name")}`;
  if (typeof given.description !== "string")
    throw new ConfigurationError(`${which} needs a description: say what it does.`);
  if (typeof definition.execute !== "function")
    throw new ConfigurationError(`${which} needs an execute function.`);
  if (typeof given.inputSchema !== "object" || given.inputSchema === null || !("_zod" in given.inputSchema))
    throw new ConfigurationError(`${which} needs an inputSchema: give it a zod schema, z.object({ … }).`);
  assertOneOf(which, "effect", given.effect, EFFECTS);
  assertOneOf(which, "recovery", given.recovery, RECOVERIES);
  zodJsonSchema(definition.inputSchema, `${which}: its inputSchema`);
}

const EFFECTS: readonly SideEffectClass[] = ["external", "memory", "local", "read_only"];
const RECOVERIES: readonly RecoveryClass[] = ["repeat", "keyed", "reconcile", "opaque"];

function assertOneOf(which: string, what: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.some((one) => one === value)) return;
  throw new ConfigurationError(`${which} has ${what} ${JSON.stringify(value)}: use ${allowed.join(", ")}.`);
}

/** A tool from its parts; for adapters that bring tools of another make. */
export function makeTool(
  parts: Omit<Tool, typeof TOOL | "recovery"> & { readonly recovery: RecoveryClass | null },
): Tool {
  return { ...parts, recovery: parts.recovery ?? defaultRecovery(parts.effect), [TOOL]: true };
}

export function isTool(value: unknown): value is Tool {
  return typeof value === "object" && value !== null && TOOL in value;
}

export function zodInput(schema: z.ZodType): ToolInput {
  let jsonSchema: JsonObject | null = null;
  return {
    // Made once: a tool serves many runs.
    jsonSchema: () => {
      jsonSchema ??= zodJsonSchema(schema);
      return jsonSchema;
    },
    parse: async (input) => {
      const parsed = await parse(schema, input);
      return parsed.success
        ? { ok: true, value: parsed.data }
        : { ok: false, error: z.prettifyError(parsed.error) };
    },
  };
}

/** Most schemas have nothing to wait for, and parse several times as fast when not asked to. */
function parse(
  schema: z.ZodType,
  input: unknown,
): z.ZodSafeParseResult<unknown> | Promise<z.ZodSafeParseResult<unknown>> {
  try {
    return schema.safeParse(input);
  } catch (error) {
    if (error instanceof z.core.$ZodAsyncError) return schema.safeParseAsync(input);
    throw error;
  }
}

/** The JSON Schema of what a zod schema takes in, without the `$schema` line, which says nothing about the input. */
export function zodJsonSchema(schema: z.ZodType, name = "The schema"): JsonObject {
  try {
    const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, { io: "input" });
    return JSON.parse(JSON.stringify(jsonSchema)) as JsonObject;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(
      `${name} has no JSON Schema that a model could be shown: ${why}.`,
      {},
      { cause: error },
    );
  }
}

/** A tool whose schema has been read: what the fingerprint, the model and the gateway need. */
export type PreparedTool = Tool & {
  readonly name: string;
  /** What the model is shown: without the key that the gateway fills in. */
  readonly modelSchema: JsonObject;
  readonly keyProperty: string | null;
};

const KEY_PROPERTIES = ["idempotencyKey", "idempotency_key"] as const;

export async function prepareTool(key: string, tool: Tool): Promise<PreparedTool> {
  const schema = await tool.input.jsonSchema();
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const keyProperty = KEY_PROPERTIES.find((name) => name in properties) ?? null;
  const name = tool.name ?? key;
  if (tool.requiresIdempotencyKey && keyProperty === null) {
    throw new ConfigurationError(
      `Tool ${name} requires an idempotency key, and its input schema has no place for one: add an "idempotencyKey" string.`,
    );
  }
  return { ...tool, name, modelSchema: withoutProperty(schema, properties, keyProperty), keyProperty };
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
