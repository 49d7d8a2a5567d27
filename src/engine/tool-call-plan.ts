import { assertJson } from "../core/canonical-json.ts";
import { ConfigurationError } from "../core/errors.ts";
import { isJsonObject, type Json } from "../core/json.ts";
import type { ToolCallPart } from "../core/message.ts";
import { toolCallIdentityHash, toolCallKey } from "../core/tool-call-key.ts";
import type { CallOccurrences } from "./call-occurrences.ts";
import { KEY_STAND_IN, type PreparedTool, withKey } from "./tool.ts";

/** What a call is for, before anything about it is written. */
export type ToolCallRequest = {
  readonly runId: string;
  readonly stepPath: string;
  readonly name: string;
  readonly input: Json;
  /** Null where no such tool exists. */
  readonly tool: PreparedTool | null;
  /** What is already known to be wrong with the arguments. */
  readonly problem: string | null;
};

/** A call with its key, and with the arguments that would go out: or why they cannot. */
export type ToolCallPlan = {
  readonly request: ToolCallRequest;
  readonly identityHash: Buffer;
  readonly occurrence: number;
  readonly idempotencyKey: Buffer;
  readonly payload:
    | { readonly kind: "ready"; readonly tool: PreparedTool; readonly input: unknown }
    /** The model (or the code) is told, and nothing is dispatched. */
    | { readonly kind: "invalid"; readonly error: string }
    /** The tool and the rules do not fit together: the turn fails, and nothing is dispatched. */
    | { readonly kind: "misconfigured"; readonly error: ConfigurationError };
};

/** Gives the call its identity, its key, and the arguments that would go out. */
export async function planToolCall(
  request: ToolCallRequest,
  enforceKeys: boolean,
  occurrences: CallOccurrences,
): Promise<ToolCallPlan> {
  const { runId, stepPath, tool, name } = request;
  const namespace = tool?.namespace ?? "local";
  const identity = await identityOf(request);
  const identityHash = toolCallIdentityHash(namespace, name, identity.value);
  const keyOf = (occurrence: number) =>
    toolCallKey({ runId, namespace, tool: name, identityHash, stepPath, occurrence });
  const occurrence = await occurrences.next(identityHash, keyOf);
  const idempotencyKey = keyOf(occurrence);
  const payload =
    identity.problem !== null
      ? ({ kind: "invalid", error: identity.problem } as const)
      : await makePayload(request, idempotencyKey.toString("hex"), enforceKeys);
  return { request, identityHash, occurrence, idempotencyKey, payload };
}

type Identity = { readonly value: Json; readonly problem: string | null };

function identityOf({ tool, input }: ToolCallRequest): Identity | Promise<Identity> {
  const whole = { value: withoutKey(tool, input), problem: null };
  return tool === null || tool.identity === null
    ? whole
    : declaredIdentity(tool, tool.identity, input, whole);
}

async function declaredIdentity(
  tool: PreparedTool,
  identity: NonNullable<PreparedTool["identity"]>,
  input: Json,
  whole: Identity,
): Promise<Identity> {
  const parsed = await parse(tool, withKey(tool, input, KEY_STAND_IN));
  if (!parsed.ok) return whole;
  try {
    const value: unknown = identity(parsed.value as never);
    assertJson(value, "What it returned");
    return { value, problem: null };
  } catch (error) {
    return { ...whole, problem: `The identity function of ${tool.name} failed: ${String(error)}` };
  }
}

/** A schema's own code may throw. The answer that asks for the call is paid for by then, so that is a result too. */
async function parse(tool: PreparedTool, input: unknown): ReturnType<PreparedTool["input"]["parse"]> {
  try {
    return await tool.input.parse(input);
  } catch (error) {
    return { ok: false, error: `its schema failed: ${String(error)}` };
  }
}

/** What a call whose row is there would get. One that was started is past the question of its identity. */
export async function replayedPayload(
  request: ToolCallRequest,
  row: { readonly status: string; readonly idempotencyKey: string },
  enforceKeys: boolean,
): Promise<ToolCallPlan["payload"]> {
  const { problem } = row.status === "prepared" ? await identityOf(request) : { problem: null };
  if (problem !== null) return { kind: "invalid", error: problem };
  return makePayload(request, row.idempotencyKey, enforceKeys);
}

/** The arguments as the tool will get them, with the key in its place and checked there. */
async function makePayload(
  { tool, name, input, problem }: ToolCallRequest,
  key: string,
  enforceKeys: boolean,
): Promise<ToolCallPlan["payload"]> {
  if (tool === null)
    return { kind: "invalid", error: problem ?? `There is no tool named ${JSON.stringify(name)}.` };
  if (problem !== null) return { kind: "invalid", error: problem };
  const parsed = await parse(tool, withKey(tool, input, key));
  if (!parsed.ok)
    return { kind: "invalid", error: `The arguments of ${name} are not valid: ${parsed.error}` };
  if (mustCarryKey(tool, enforceKeys) && carriedKey(tool, parsed.value) !== key) {
    const error = new ConfigurationError(
      `Tool ${name} has to carry the call's idempotency key, and its payload ${carriedKey(tool, parsed.value) === undefined ? "has none" : "has another"}: nothing was sent; let its input schema keep an "idempotencyKey" string as it is.`,
    );
    return { kind: "misconfigured", error };
  }
  return { kind: "ready", tool, input: parsed.value };
}

function mustCarryKey(tool: PreparedTool, enforceKeys: boolean): boolean {
  if (tool.requiresIdempotencyKey) return true;
  return enforceKeys && tool.effect !== "read_only" && tool.recovery !== "repeat";
}

function carriedKey(tool: PreparedTool, payload: unknown): unknown {
  if (tool.keyProperty === null || typeof payload !== "object" || payload === null) return undefined;
  return (payload as { readonly [name: string]: unknown })[tool.keyProperty];
}

/** The key is a consequence of the identity, so it cannot be part of it. */
function withoutKey(tool: PreparedTool | null, input: Json): Json {
  if (tool === null || tool.keyProperty === null || !isJsonObject(input)) return input;
  const { [tool.keyProperty]: _, ...rest } = input;
  return rest;
}

export function requestOf(
  part: ToolCallPart,
  runId: string,
  stepPath: string,
  tools: ReadonlyMap<string, PreparedTool>,
  problem: string | null,
): ToolCallRequest {
  return {
    runId,
    stepPath,
    name: part.toolName,
    input: part.input,
    tool: tools.get(part.toolName) ?? null,
    problem,
  };
}
