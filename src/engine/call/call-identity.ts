import { secretIdentityHash, toolCallIdentityHash, toolCallKey } from "../../core/call/tool-call-key.ts";
import { builtInIdentity, dedupeOf, withoutVolatile } from "../../core/call/tool-identity.ts";
import { assertJson, assertKeptByJson } from "../../core/canonical-json.ts";
import { isJsonObject, type Json, throughJson } from "../../core/json.ts";
import { holdsMark, isHiddenIn } from "../../core/secret/secret-mark.ts";
import type { ToolCallRecord } from "../../store/store.ts";
import { KEY_STAND_IN, type PreparedTool, withKey } from "../definition/prepared-tool.ts";
import type { RunRules } from "../definition/run-rules.ts";
import { errorText } from "../definition/tool-outcome.ts";
import type { RunWith } from "../run/active-run.ts";
import { type CallRequest, parseArguments } from "./call-request.ts";

/** Two calls with the same identity are the same effect. A call's key also includes its occurrence, counted from 1. */
export type CallIdentity = {
  readonly hash: Buffer;
  readonly dedupe: "call" | "effect";
  readonly keyOf: (occurrence: number) => Buffer;
  readonly keyIn: (scope: "call" | "effect", occurrence: number) => Buffer;
  /** A problem with the tool's own identity function. */
  readonly problem: string | null;
  /** The arguments of a call as the tool gets them, without the key, to be compared with those of another call. */
  readonly comparable: (input: Json) => Promise<Json>;
};

/** The identity of a new call. A promise only for a tool with its own identity function, which gets parsed arguments. */
export function identify(
  run: RunWith<"runId" | "policy" | "calls">,
  request: CallRequest,
): CallIdentity | Promise<CallIdentity> {
  const identity = identityOf(run.policy.rules, request);
  return identity instanceof Promise
    ? identity.then((known) => callIdentity(run, request, known))
    : callIdentity(run, request, identity);
}

function callIdentity(
  run: RunWith<"runId" | "policy" | "calls">,
  { tool, name, stepPath }: CallRequest,
  { value, dedupe, problem }: Identity,
): CallIdentity {
  const namespace = tool?.namespace ?? "local";
  // The hash is stored, so guessing a secret from it must be slow.
  const isSecret = run.policy.secrets.holdsSecret(value);
  const hash = isSecret
    ? secretIdentityHash(run.calls.firstRunId, namespace, name, value)
    : toolCallIdentityHash(namespace, name, value);
  return identityBy(run, tool, { namespace, tool: name, stepPath, hash, dedupe, problem });
}

/** The identity of a call in the ledger: its hash is kept, since its secrets may be lost. */
export async function reidentify(
  run: RunWith<"runId" | "policy" | "calls">,
  request: CallRequest,
  row: ToolCallRecord,
): Promise<CallIdentity> {
  const { dedupe, problem } = await identityOf(run.policy.rules, request);
  const hash = Buffer.from(row.identityHash, "hex");
  const { namespace, tool } = row;
  const facts = { namespace, tool, stepPath: request.stepPath, hash, dedupe, problem };
  return identityBy(run, request.tool, facts);
}

/**
 * True if an earlier worker journaled this call with its secrets hidden: they are lost. A mark with a digest is always
 * Pawl's: models never see one, and forged ones are removed. A mark without a digest can be the model's own text, since
 * models see those. If an earlier version hid a secret that way, the stored identity does not match the stored arguments.
 */
export async function lacksSecret(
  run: RunWith<"runId" | "policy" | "calls">,
  request: CallRequest,
  row: ToolCallRecord,
): Promise<boolean> {
  if (isHiddenIn(request.input)) return true;
  if (!holdsMark(request.input)) return false;
  const { value } = await identityOf(run.policy.rules, request);
  return toolCallIdentityHash(row.namespace, row.tool, value).toString("hex") !== row.identityHash;
}

function identityBy(
  { runId }: RunWith<"runId">,
  prepared: PreparedTool | null,
  facts: Pick<CallIdentity, "hash" | "dedupe" | "problem"> & {
    readonly namespace: string;
    readonly tool: string;
    readonly stepPath: string;
  },
): CallIdentity {
  const { namespace, tool, stepPath, hash, dedupe, problem } = facts;
  const scopes = { effect: { kind: "effect" }, call: { kind: "call", stepPath } } as const;
  const keyIn = (scope: CallIdentity["dedupe"], occurrence: number) =>
    toolCallKey({ runId, namespace, tool, identityHash: hash, scope: scopes[scope], occurrence });
  const comparable = (input: Json) =>
    prepared === null ? Promise.resolve(input) : comparableArguments(prepared, input);
  return { hash, dedupe, keyOf: (occurrence) => keyIn(dedupe, occurrence), keyIn, problem, comparable };
}

/**
 * Parsed, so that a default that one call spells out and the other leaves out is no difference. Arguments that do not fit,
 * for example because a secret in them is hidden, are compared as they are.
 */
async function comparableArguments(tool: PreparedTool, input: Json): Promise<Json> {
  const parsed = await parseArguments(tool, withKey(tool, input, KEY_STAND_IN));
  try {
    if (parsed.ok) assertKeptByJson(parsed.value);
    return withoutKey(tool, parsed.ok ? throughJson(parsed.value) : input);
  } catch {
    return withoutKey(tool, input); // As JSON, what the schema made of them might look the same.
  }
}

type Identity = {
  readonly value: Json;
  readonly dedupe: "call" | "effect";
  readonly problem: string | null;
};

function identityOf(rules: RunRules, request: CallRequest): Identity | Promise<Identity> {
  const { tool, secretInput: input } = request;
  if (tool === null) return { value: input, dedupe: "call", problem: null };
  const { tokens, effect, classification, identity } = tool;
  const builtIn = identity === null && tool.dedupe !== "call" ? builtInIdentity(tokens, effect, input) : null;
  const dedupe = dedupeOf(
    {
      declared: tool.dedupe,
      hasIdentity: identity !== null,
      scope: builtIn?.scope ?? null,
      effect,
      known: classification.known,
    },
    rules,
  );
  const whole = { value: withoutVolatile(tokens, withoutKey(tool, input)), dedupe, problem: null };
  if (builtIn !== null) return { ...whole, value: builtIn.identity };
  return identity === null ? whole : declaredIdentity(tool, identity, input, whole);
}

async function declaredIdentity(
  tool: PreparedTool,
  identity: NonNullable<PreparedTool["identity"]>,
  input: Json,
  whole: Identity,
): Promise<Identity> {
  const parsed = await parseArguments(tool, withKey(tool, input, KEY_STAND_IN));
  if (!parsed.ok) return whole;
  try {
    const value: unknown = identity(parsed.value as never);
    assertJson(value, "The value that it returned");
    return { ...whole, value };
  } catch (error) {
    return { ...whole, problem: `The identity function of ${tool.name} failed: ${errorText(error)}` };
  }
}

/** The key is derived from the identity, so it cannot be part of it. */
function withoutKey(tool: Pick<PreparedTool, "keyProperty">, input: Json): Json {
  if (tool.keyProperty === null || !isJsonObject(input)) return input;
  const { [tool.keyProperty]: _, ...rest } = input;
  return rest;
}
