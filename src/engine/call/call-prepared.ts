import { canonicalHash, canonicalJson, isJson } from "../../core/canonical-json.ts";
import { type Json, type JsonObject, throughJson } from "../../core/json.ts";
import { type ApprovalNeed, approvalNeedJson } from "../../core/person.ts";
import { withoutDigests } from "../../core/secret/secret-mark.ts";
import { toolCallId } from "../../core/step-path.ts";
import type { SessionState } from "../../session/slice-set.ts";
import { type PreparedTool, withKey } from "../definition/prepared-tool.ts";
import type { RunWith } from "../run/active-run.ts";

/** A call that is ready to be dispatched. */
export type PreparedCall = {
  readonly stepKey: number;
  readonly stepPath: string;
  readonly stepName: string;
  readonly turnIndex: number;
  readonly callIndex: number;
  readonly tool: PreparedTool;
  /** The requested arguments without secrets, to be shown to people. */
  readonly request: Json;
  /** The arguments that the tool gets: parsed, with the key in its place. */
  readonly input: unknown;
  /** Secrets of this call only, hidden in its result beside those that the run knows. */
  readonly ownSecrets: readonly string[];
  readonly idempotencyKey: string;
  readonly enforceKeys: boolean;
  /** The approval that it needs; null for none. */
  readonly approval: ApprovalNeed | null;
  /** The hash of the arguments that must be approved; null for a call that needs no approval. */
  readonly approvedArguments: string | null;
  /** Returns the session state that the call starts from. */
  readonly sessionBase: () => SessionState;
  /** A larger result is stored as a blob. */
  readonly blobThresholdBytes: number;
};

export function callId(
  run: RunWith<"runId">,
  call: Pick<PreparedCall, "stepPath" | "turnIndex" | "callIndex">,
): string {
  return toolCallId(run.runId, call.stepPath, call.turnIndex, call.callIndex);
}

/**
 * The hash that an approval is bound to: the arguments as a person sees them, without digests (another redaction key
 * would change those), and the approval needed. A call with another secret is another call anyway.
 */
export function argumentsHash(
  run: RunWith<"policy">,
  { namespace, name }: PreparedTool,
  input: unknown,
  request: Json,
  need: ApprovalNeed,
): string {
  const facts = approvalNeedJson(need);
  const more = Object.keys(facts).length === 0 ? [] : [facts];
  return canonicalHash([namespace, name, withoutDigests(outgoing(run, input, request)), ...more]).toString(
    "hex",
  );
}

/** The arguments that the tool gets, without secrets; as JSON if a schema turned them into dates or the like. */
function outgoing(run: RunWith<"policy">, input: unknown, request: Json): Json {
  if (isJson(input)) return run.policy.secrets.hide(input);
  try {
    return run.policy.secrets.hide(throughJson(input));
  } catch {
    return request; // It cannot be converted to JSON: show the requested arguments.
  }
}

/** The arguments that a person is shown; also the requested ones, if a schema changed them. */
export function shownArguments(
  run: RunWith<"policy">,
  {
    tool,
    input,
    request,
    idempotencyKey,
  }: Pick<PreparedCall, "tool" | "input" | "request" | "idempotencyKey">,
): JsonObject {
  const shown = outgoing(run, input, request);
  const isSame = canonicalJson(shown) === canonicalJson(withKey(tool, request, idempotencyKey));
  return { arguments: shown, ...(isSame ? {} : { requested: request }) };
}

/** A copy of the arguments: a tool that changes them does not change those of the next attempt. */
export function freshInput(input: unknown): unknown {
  if (isJson(input)) return throughJson(input);
  try {
    return structuredClone(input);
  } catch {
    return input; // The tool's schema produced a value that cannot be copied.
  }
}
