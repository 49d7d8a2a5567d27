import { differingArguments, OTHER_ARGUMENTS } from "../../core/call/duplicate-note.ts";
import { builtInIdentity, SCOPE_TEXTS } from "../../core/call/tool-identity.ts";
import type { Json } from "../../core/json.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import type { ToolOutcome } from "../definition/tool-outcome.ts";
import type { EarlierCall } from "./call-earlier-result.ts";
import type { CallRequest } from "./call-request.ts";

type ComparedCall = {
  readonly request: CallRequest;
  readonly comparable: Json;
  readonly earlier: EarlierCall;
};

/** What is known of a duplicate beside its receipt. */
export type Duplicate = {
  /** The arguments of the first call, which ran, comparable. */
  readonly firstRequest: Json;
  /** Why a call with other arguments counts as the same, and what to declare; null if the arguments are the same. */
  readonly warning: string | null;
};

/** The outcome of a duplicate call: the whole result of the first call, and whether its arguments were others. */
export function duplicateOutcome(
  tool: PreparedTool,
  { request: { secretInput }, comparable, earlier }: ComparedCall,
): { readonly outcome: ToolOutcome; readonly duplicate: Duplicate } {
  if (earlier.kind !== "succeeded") throw new Error("Only a successful call can be deduplicated.");
  const { output, toolCallId, lacking, request: firstRequest } = earlier;
  const names = differingArguments(firstRequest, comparable);
  const warning = names.length === 0 ? null : duplicateWarning(tool, secretInput, toolCallId, names);
  const outcome: ToolOutcome = {
    status: "deduplicated",
    output,
    errorCode: warning === null ? null : OTHER_ARGUMENTS,
    uncertain: false,
    source: "pawl",
    correlationId: null,
    duplicateOf: toolCallId,
    sessionEvents: lacking,
  };
  return { outcome, duplicate: { firstRequest, warning } };
}

/** More names than this would hide the sentence around them. */
const MAX_NAMES = 5;

function duplicateWarning(
  tool: PreparedTool,
  input: Json,
  first: string,
  differing: readonly string[],
): string {
  const more = differing.length > MAX_NAMES ? ", …" : "";
  const names = `${differing.slice(0, MAX_NAMES).join(", ")}${more}`;
  const declare = `an \`identity\` that contains what differs`;
  const advice = tool.dedupe === "call" ? declare : `\`dedupe: "call"\`, or ${declare}`;
  return `${first} ran and counts as the same effect, although their arguments differ (${names}): ${whySame(tool, input)}. To run both, declare on the tool ${advice}.`;
}

function whySame({ identity, dedupe, tokens, effect }: PreparedTool, input: Json): string {
  if (identity !== null) return "the tool's `identity` leaves that out";
  const scope = dedupe === "call" ? null : (builtInIdentity(tokens, effect, input)?.scope ?? null);
  return scope === null ? "idempotency keys, request ids and trace ids do not count" : SCOPE_TEXTS[scope];
}
