import { scryptSync } from "node:crypto";
import { canonicalHash, canonicalJson } from "../canonical-json.ts";
import type { Json } from "../json.ts";

/** The arguments that carry the call's key: filled in by the gateway, and nobody else's to give. */
export const KEY_PROPERTIES = ["idempotencyKey", "idempotency_key"] as const;

/** What makes two calls "the same" to the ledger. */
export type ToolCallIdentity = {
  readonly runId: string;
  readonly namespace: string;
  readonly tool: string;
  /** Hash of the arguments that identify the effect. */
  readonly identityHash: Uint8Array;
  /**
   * `call`: the n-th call of this identity in a step, so that a wanted repeat has a key of its own. `effect`: the n-th in
   * the whole run, whoever asks; only after a failure is there a second one that goes out.
   */
  readonly scope: { readonly kind: "call"; readonly stepPath: string } | { readonly kind: "effect" };
  /** Counted from 1. */
  readonly occurrence: number;
};

export function toolCallIdentityHash(namespace: string, tool: string, identity: Json): Buffer {
  return canonicalHash([namespace, tool, identity]);
}

/**
 * The same for an identity that holds secrets. It is slow on purpose, and another one in every run: the hash is stored,
 * and a short secret could otherwise be found by trying.
 */
export function secretIdentityHash(runId: string, namespace: string, tool: string, identity: Json): Buffer {
  return scryptSync(canonicalJson([namespace, tool, identity]), `pawl ${runId}`, 32);
}

/** The key that goes to the outside world with a call, and that its ledger row is found by. */
export function toolCallKey({
  runId,
  namespace,
  tool,
  identityHash,
  scope,
  occurrence,
}: ToolCallIdentity): Buffer {
  const identity = Buffer.from(identityHash).toString("hex");
  // A step path is a text and this is none, so the two kinds never meet.
  const place = scope.kind === "call" ? scope.stepPath : { scope: "run" };
  return canonicalHash([runId, namespace, tool, identity, [place, occurrence]]);
}
