import { canonicalHash } from "./canonical-json.ts";
import type { Json } from "./json.ts";

/** What makes two calls "the same" to the ledger. */
export type ToolCallIdentity = {
  readonly runId: string;
  readonly namespace: string;
  readonly tool: string;
  /** Hash of the arguments that identify the effect. */
  readonly identityHash: Uint8Array;
  readonly stepPath: string;
  /** The n-th call of this identity in the step, counted from 1: a wanted repeat has a key of its own. */
  readonly occurrence: number;
};

export function toolCallIdentityHash(namespace: string, tool: string, identity: Json): Buffer {
  return canonicalHash([namespace, tool, identity]);
}

/** The key that goes to the outside world with a call, and that its ledger row is found by. */
export function toolCallKey(call: ToolCallIdentity): Buffer {
  const identity = Buffer.from(call.identityHash).toString("hex");
  return canonicalHash([call.runId, call.namespace, call.tool, identity, [call.stepPath, call.occurrence]]);
}
