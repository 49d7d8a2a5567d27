import { matchesAction } from "../../core/call/action-pattern.ts";
import { secretIdentityHash, toolCallIdentityHash, toolCallKey } from "../../core/call/tool-call-key.ts";
import { builtInIdentity, dedupeOf, withoutVolatile } from "../../core/call/tool-identity.ts";
import { assertJson } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { checkUrl } from "../../core/network-policy.ts";
import { type ApprovalNeed, ONE_PERSON } from "../../core/person.ts";
import { holdsMark, isHiddenIn } from "../../core/secret/secret-mark.ts";
import type { ToolCallRecord } from "../../store/store.ts";
import { approvalNeed } from "../definition/approval-rule.ts";
import { KEY_STAND_IN, keyProblem, type PreparedTool, withKey } from "../definition/prepared-tool.ts";
import type { RunRules } from "../definition/run-rules.ts";
import type { ApprovalVerdict } from "../definition/tool.ts";
import { errorText } from "../definition/tool-outcome.ts";
import type { ActiveRun } from "../run/active-run.ts";

/** What a call is for, before anything about it is written. */
export type CallRequest = {
  readonly stepPath: string;
  readonly name: string;
  /** The arguments as they were asked for, without secrets: what is stored and shown. */
  readonly input: Json;
  /** The same with them: what goes out, and what a call is known by. */
  readonly secretInput: Json;
  /** Whether secrets of `secretInput` were hidden, and are not known any more: what an earlier worker has journaled. */
  readonly isSecretLost: boolean;
  /** What the run's own code gave under a secret name: it is looked for in what comes of this call, and nowhere else. */
  readonly ownSecrets: readonly string[];
  /** Null where no such tool exists. */
  readonly tool: PreparedTool | null;
  /** What is already known to be wrong with the arguments. */
  readonly problem: string | null;
  readonly enforceKeys: boolean;
};

/** The arguments that would go out: or why they cannot. */
export type CallPayload =
  | {
      readonly kind: "ready";
      readonly tool: PreparedTool;
      readonly input: unknown;
      /** Who has to let it run; null where nobody has to. */
      readonly approval: ApprovalNeed | null;
    }
  /** The model (or the code) is told, and nothing is dispatched. */
  | { readonly kind: "refused"; readonly errorCode: string; readonly error: string }
  /** The tool and the rules do not fit together: the turn fails, and nothing is dispatched. */
  | { readonly kind: "misconfigured"; readonly error: ConfigurationError };

/** What makes a call the same as another, before it is known how many there were. */
export type CallIdentity = {
  readonly hash: Buffer;
  readonly dedupe: "call" | "effect";
  readonly keyOf: (occurrence: number) => Buffer;
  readonly keyIn: (scope: "call" | "effect", occurrence: number) => Buffer;
  /** What is wrong with the tool's own identity function. */
  readonly problem: string | null;
};

/** Only a tool's own identity function needs parsed arguments, and with them something to wait for. */
export function identify(run: ActiveRun, request: CallRequest): CallIdentity | Promise<CallIdentity> {
  const identity = identityOf(run.policy.rules, request);
  return identity instanceof Promise
    ? identity.then((known) => callIdentity(run, request, known))
    : callIdentity(run, request, identity);
}

function callIdentity(
  run: ActiveRun,
  { tool, name, stepPath }: CallRequest,
  { value, dedupe, problem }: Identity,
): CallIdentity {
  const namespace = tool?.namespace ?? "local";
  // A hash of a secret is kept, so one that can be guessed takes long to try.
  const isSecret = run.policy.secrets.holdsSecret(value);
  const hash = isSecret
    ? secretIdentityHash(run.calls.firstRunId, namespace, name, value)
    : toolCallIdentityHash(namespace, name, value);
  return identityBy(run, namespace, name, stepPath, hash, dedupe, problem);
}

/** Of a call that is in the ledger: what it is known by does not change, and its secrets may be gone. */
export async function reidentify(
  run: ActiveRun,
  request: CallRequest,
  row: ToolCallRecord,
): Promise<CallIdentity> {
  const { dedupe, problem } = await identityOf(run.policy.rules, request);
  const hash = Buffer.from(row.identityHash, "hex");
  return identityBy(run, row.namespace, row.tool, request.stepPath, hash, dedupe, problem);
}

/**
 * Whether secrets were hidden in what an earlier worker journaled of a model's call: they are known to nobody then. Marks with
 * a digest are ours, since a model sees none, and may not make them up. One without is a text like others, for a model sees
 * those; only earlier versions hid values so, and then the call is not known by what was stored of it.
 */
export async function lacksSecret(
  run: ActiveRun,
  request: CallRequest,
  row: ToolCallRecord,
): Promise<boolean> {
  if (isHiddenIn(request.input)) return true;
  if (!holdsMark(request.input)) return false;
  const { value } = await identityOf(run.policy.rules, request);
  return toolCallIdentityHash(row.namespace, row.tool, value).toString("hex") !== row.identityHash;
}

function identityBy(
  run: ActiveRun,
  namespace: string,
  name: string,
  stepPath: string,
  hash: Buffer,
  dedupe: CallIdentity["dedupe"],
  problem: string | null,
): CallIdentity {
  const scopes = { effect: { kind: "effect" }, call: { kind: "call", stepPath } } as const;
  const keyIn = (scope: CallIdentity["dedupe"], occurrence: number) =>
    toolCallKey({
      runId: run.runId,
      namespace,
      tool: name,
      identityHash: hash,
      scope: scopes[scope],
      occurrence,
    });
  return { hash, dedupe, keyOf: (occurrence) => keyIn(dedupe, occurrence), keyIn, problem };
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
  const parsed = await parse(tool, withKey(tool, input, KEY_STAND_IN));
  if (!parsed.ok) return whole;
  try {
    const value: unknown = identity(parsed.value as never);
    assertJson(value, "What it returned");
    return { ...whole, value };
  } catch (error) {
    return { ...whole, problem: `The identity function of ${tool.name} failed: ${errorText(error)}` };
  }
}

/** The key is a consequence of the identity, so it cannot be part of it. */
function withoutKey(tool: PreparedTool, input: Json): Json {
  if (tool.keyProperty === null || !isJsonObject(input)) return input;
  const { [tool.keyProperty]: _, ...rest } = input;
  return rest;
}

/** A schema's own code may throw. The answer that asks for the call is paid for by then, so that is a result too. */
async function parse(tool: PreparedTool, input: unknown): ReturnType<PreparedTool["input"]["parse"]> {
  try {
    return await tool.input.parse(input);
  } catch (error) {
    return { ok: false, error: `its schema failed: ${errorText(error)}` };
  }
}

/** The arguments as the tool will get them, with the key in its place, held against every rule. */
export async function makePayload(rules: RunRules, request: CallRequest, key: string): Promise<CallPayload> {
  const { tool, name, secretInput, problem, enforceKeys } = request;
  if (tool === null)
    return refused("invalid_input", problem ?? `There is no tool named ${JSON.stringify(name)}.`);
  const forbidden = matchesAction(rules.forbiddenActions, tool);
  if (forbidden !== null)
    return refused("forbidden", `${name} is forbidden in this run (${forbidden}): do without it.`);
  if (problem !== null) return refused("invalid_input", problem);
  const parsed = await parse(tool, withKey(tool, secretInput, key));
  if (!parsed.ok) return refused("invalid_input", `The arguments of ${name} are not valid: ${parsed.error}`);
  const badKey = keyProblem(tool, parsed.value, { key, enforceKeys });
  if (badKey !== null) return { kind: "misconfigured", error: new ConfigurationError(badKey) };
  const badUrl = urlProblem(rules, tool, parsed.value);
  if (badUrl !== null) return refused("network_refused", badUrl);
  const verdict = await approvalVerdict(tool, parsed.value);
  if (typeof verdict !== "boolean") return refused("denied", `${name} may not run: ${verdict.denied}`);
  return {
    kind: "ready",
    tool,
    input: parsed.value,
    approval: approvalNeed(rules.approve, tool) ?? (verdict ? ONE_PERSON : null),
  };
}

function refused(errorCode: string, error: string): CallPayload {
  return { kind: "refused", errorCode, error };
}

function urlProblem({ network }: RunRules, tool: PreparedTool, input: unknown): string | null {
  if (tool.urls === null) return null;
  try {
    for (const url of tool.urls(input as never)) {
      const verdict = checkUrl(network, url);
      if (!verdict.ok) return `${tool.name} may not connect there: ${verdict.why}`;
    }
    return null;
  } catch (error) {
    return `The urls function of ${tool.name} failed, so nobody knows where it would connect to: ${errorText(error)}`;
  }
}

/** Who cannot say whether a person is needed needs one. */
async function approvalVerdict({ approval }: PreparedTool, input: unknown): Promise<ApprovalVerdict> {
  if (typeof approval === "boolean") return approval;
  try {
    const verdict: unknown = await approval(input as never);
    return isDenial(verdict) ? verdict : verdict !== false;
  } catch {
    return true;
  }
}

function isDenial(verdict: unknown): verdict is { readonly denied: string } {
  return (
    typeof verdict === "object" &&
    verdict !== null &&
    "denied" in verdict &&
    typeof verdict.denied === "string"
  );
}
