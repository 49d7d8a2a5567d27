import { canonicalHash, canonicalJson, isJson } from "../../core/canonical-json.ts";
import { type Json, type JsonObject, throughJson } from "../../core/json.ts";
import { type ApprovalNeed, approvalNeedJson } from "../../core/person.ts";
import { withoutDigests } from "../../core/secret/secret-mark.ts";
import { toolCallId } from "../../core/step-path.ts";
import type { SessionState } from "../../session/slice-set.ts";
import { type PreparedTool, withKey } from "../definition/prepared-tool.ts";
import { type ActiveRun, type RunWith } from "../run/active-run.ts";

/** A call as the gateway needs it. */
export type PreparedCall = {
  readonly stepKey: number;
  readonly stepPath: string;
  readonly stepName: string;
  readonly turnIndex: number;
  readonly callIndex: number;
  readonly tool: PreparedTool;
  /** What the model or the code asked for, without secrets: for people to see. */
  readonly request: Json;
  /** What the tool gets: parsed, with the key in its place. */
  readonly input: unknown;
  /** Hidden in what comes of it, beside what the run knows. */
  readonly ownSecrets: readonly string[];
  readonly idempotencyKey: string;
  readonly enforceKeys: boolean;
  /** Who has to let it run; null where nobody has to. */
  readonly approval: ApprovalNeed | null;
  /** The hash of what the tool gets, for a call that only an approval of just that lets run; else null. */
  readonly approvedArguments: string | null;
  /** The session as the call finds it. */
  readonly sessionBase: () => SessionState;
  /** A larger result is kept as a blob. */
  readonly blobThresholdBytes: number;
};

export function callId(
  run: RunWith<"runId">,
  call: Pick<PreparedCall, "stepPath" | "turnIndex" | "callIndex">,
): string {
  return toolCallId(run.runId, call.stepPath, call.turnIndex, call.callIndex);
}

/**
 * What an approval is bound to: what the tool gets, as a person is shown it but for digests, which another key would change,
 * and who has to let it run. Another secret is another call.
 */
export function argumentsHash(
  run: ActiveRun,
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

/** The arguments as the tool gets them, without secrets: as JSON has them where a schema made dates or the like of them. */
function outgoing(run: RunWith<"policy">, input: unknown, request: Json): Json {
  if (isJson(input)) return run.policy.secrets.hide(input);
  try {
    return run.policy.secrets.hide(throughJson(input));
  } catch {
    return request; // JSON has nothing for it: what it was made of can be shown.
  }
}

/** What a person is shown of a call: what goes out, and what was asked for where a schema made something else of it. */
export function shownArguments(
  run: ActiveRun,
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

/** A tool that changes its arguments does not change those of the next try. */
export function freshInput(input: unknown): unknown {
  if (isJson(input)) return throughJson(input);
  try {
    return structuredClone(input);
  } catch {
    return input; // It holds what cannot be copied, by the tool's own schema.
  }
}
