import { sha256Hex } from "../../core/canonical-json.ts";

/** What the id of a call is made from. */
type IdentifiedCall = {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly providerExecuted?: boolean | undefined;
};

/**
 * Makes the ids of the calls of one answer unique. Results are matched to calls by id, in the SDK too: of two calls with
 * the same id it keeps the first one twice and drops the second. A new id depends only on the answer. It has nine letters
 * and digits, since Mistral accepts no other ids and every other provider accepts these.
 */
export function makeCallIds(): (call: IdentifiedCall, index: number) => string {
  const seen = new Set<string>();
  return (call, index) => {
    let id = call.toolCallId;
    // The id of a provider-executed call stays: its result refers to it.
    for (let n = 0; call.providerExecuted !== true && (id === "" || seen.has(id)); n++) {
      id = sha256Hex(JSON.stringify([call.toolCallId, call.toolName, index, n])).slice(0, 9);
    }
    seen.add(id);
    return id;
  };
}
