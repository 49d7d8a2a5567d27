import { scryptSync } from "node:crypto";
import { canonicalHash, canonicalJson } from "../canonical-json.ts";
import type { Json } from "../json.ts";

/** The arguments that carry the call's key. Only the gateway fills them in. */
export const KEY_PROPERTIES = ["idempotencyKey", "idempotency_key"] as const;

/** Two calls with an equal identity are the same call to the ledger. */
export type ToolCallIdentity = {
  readonly runId: string;
  readonly namespace: string;
  readonly tool: string;
  /** Hash of the arguments that identify the effect. */
  readonly identityHash: Uint8Array;
  /**
   * `call`: the n-th call of this identity in a step, so that an intended repetition has a key of its own. `effect`: the n-th
   * in the whole run, from any step; a second one is sent only after a failure.
   */
  readonly scope: { readonly kind: "call"; readonly stepPath: string } | { readonly kind: "effect" };
  /** Counted from 1. */
  readonly occurrence: number;
};

export function toolCallIdentityHash(namespace: string, tool: string, identity: Json): Buffer {
  return canonicalHash([namespace, tool, identity]);
}

/**
 * The same for an identity that contains secrets. It is slow on purpose and different in every run: the hash is stored, and
 * a short secret could otherwise be found by brute force.
 */
export function secretIdentityHash(runId: string, namespace: string, tool: string, identity: Json): Buffer {
  return scryptSync(canonicalJson([namespace, tool, identity]), `pawl ${runId}`, 32);
}

/** The key that is sent to the outside system with a call, and that identifies its ledger row. */
export function toolCallKey({
  runId,
  namespace,
  tool,
  identityHash,
  scope,
  occurrence,
}: ToolCallIdentity): Buffer {
  const identity = Buffer.from(identityHash).toString("hex");
  // A step path is a string and this is an object, so the two kinds never collide.
  const place = scope.kind === "call" ? scope.stepPath : { scope: "run" };
  return canonicalHash([runId, namespace, tool, identity, [place, occurrence]]);
}
