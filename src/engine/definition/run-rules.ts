import { assertPatterns } from "../../core/call/action-pattern.ts";
import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import type { ToolPolicy } from "../../core/call/tool-classification.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { assertAllowedDomains, type NetworkPolicy } from "../../core/network-policy.ts";
import { normaliseKeyName } from "../../core/secret/redaction.ts";
import { isSecret, type Secret } from "../../core/secret/secret.ts";
import { type ApprovalRule, approvalRules } from "./approval-rule.ts";

/** How tools are treated, whatever the run. */
export type Policy = ToolPolicy & {
  /** Calls of these classes, and of what these rules name, run only after people have approved them. */
  readonly approve?: readonly (SideEffectClass | ApprovalRule)[];
  /** Values under these names never reach the store, an event, a log or an error text, where they stand under them. */
  readonly secretKeys?: readonly string[];
  /**
   * What is hidden wherever it stands in a run, whoever says it, from its first step on and in every process. A secret that a
   * step gives to a call is known from then on, and not to a process that goes on after that step.
   */
  readonly secrets?: readonly Secret[];
  /**
   * What digests of hidden values are made with, at least 16 characters; unless given, the store keeps one of its own. With it,
   * digests of several stores can be compared.
   */
  readonly redactionKey?: string | Secret;
  /** Lets tools connect to loopback, private and link-local addresses. */
  readonly allowPrivateAddresses?: boolean;
  /**
   * `enforce`: `allowedDomains` also bind what tools request by `fetch`, or otherwise through the process's dispatcher. A tool
   * with a dispatcher, a socket or a process of its own is bound by none of it.
   */
  readonly network?: "enforce";
};

/** What a run must not do. Enforced where tools are called, not in the prompt. */
export type Constraints = {
  /** Tools that are never called, by name or pattern: `send_email`, `delete_*`, `files/delete_file`, `github:*`. */
  readonly forbiddenActions?: readonly string[];
  /**
   * The only hosts that `guardedFetch`, and tools that declare their `urls`, connect to; all public ones if empty. A tool with a
   * `fetch` of its own is bound with `policy.network: "enforce"` only.
   */
  readonly allowedDomains?: readonly string[];
  /** Every tool that is known to be external has each effect once in a run. */
  readonly noDuplicateExternalActions?: boolean;
};

/** Policy and constraints, checked and ready to be asked. */
export type RunRules = {
  readonly tools: ToolPolicy;
  readonly approve: readonly ApprovalRule[];
  readonly forbiddenActions: readonly string[];
  readonly noDuplicateExternalActions: boolean;
  readonly network: NetworkPolicy;
  readonly enforcesNetwork: boolean;
  readonly secretKeys: ReadonlySet<string>;
  readonly secrets: readonly Secret[];
  /** Null: the store's own. */
  readonly redactionKey: Uint8Array | null;
};

const POLICY_WORDS = [
  "sideEffectDenylist",
  "readOnlyAllowlist",
  "trustedServers",
  "approve",
  "secretKeys",
  "secrets",
  "redactionKey",
  "allowPrivateAddresses",
  "network",
] as const satisfies (keyof Policy)[];
const CONSTRAINT_WORDS = [
  "forbiddenActions",
  "allowedDomains",
  "noDuplicateExternalActions",
] as const satisfies (keyof Constraints)[];

/** A rule that is misspelt would be no rule, and nobody would notice. */
function assertWords(what: string, rules: unknown, words: readonly string[]): void {
  if (typeof rules !== "object" || rules === null || Array.isArray(rules))
    throw new ConfigurationError(`The runner's ${what} is no object: give one with ${words.join(", ")}.`);
  const unknown = Object.keys(rules).find((word) => !words.includes(word));
  if (unknown === undefined) return;
  throw new ConfigurationError(
    `The runner's ${what} has no ${JSON.stringify(unknown)}: it knows ${words.join(", ")}.`,
  );
}

function secretsOf(given: unknown = []): readonly Secret[] {
  if (Array.isArray(given) && given.every(isSecret)) return given;
  throw new ConfigurationError("policy.secrets is no list of secrets: give secret(…) for each of them.");
}

const LEAST_KEY_LENGTH = 16;

function redactionKeyOf(given: unknown): Uint8Array | null {
  if (given === undefined) return null;
  const text = isSecret(given) ? given.reveal() : given;
  if (typeof text === "string" && text.length >= LEAST_KEY_LENGTH) return Buffer.from(text, "utf8");
  throw new ConfigurationError(
    `policy.redactionKey is no text of at least ${LEAST_KEY_LENGTH} characters: give a random one, or leave it out.`,
  );
}

export function makeRules(policy: Policy = {}, constraints: Constraints = {}): RunRules {
  assertWords("policy", policy, POLICY_WORDS);
  assertWords("constraints", constraints, CONSTRAINT_WORDS);
  const lists = {
    "policy.sideEffectDenylist": policy.sideEffectDenylist,
    "policy.readOnlyAllowlist": policy.readOnlyAllowlist,
    "policy.trustedServers": policy.trustedServers,
    "policy.secretKeys": policy.secretKeys,
    "constraints.forbiddenActions": constraints.forbiddenActions,
  };
  for (const [what, list] of Object.entries(lists)) assertPatterns(list ?? [], what);
  assertAllowedDomains(constraints.allowedDomains ?? [], "constraints.allowedDomains");
  const network: unknown = policy.network;
  if (network !== undefined && network !== "enforce")
    throw new ConfigurationError(
      `policy.network is ${JSON.stringify(network)}: use "enforce", or leave it out.`,
    );
  return {
    tools: policy,
    approve: approvalRules(policy.approve ?? []),
    forbiddenActions: constraints.forbiddenActions ?? [],
    noDuplicateExternalActions: constraints.noDuplicateExternalActions ?? false,
    network: {
      allowedDomains: constraints.allowedDomains ?? [],
      allowPrivateAddresses: policy.allowPrivateAddresses ?? false,
    },
    enforcesNetwork: network === "enforce",
    secretKeys: new Set((policy.secretKeys ?? []).map(normaliseKeyName)),
    secrets: secretsOf(policy.secrets),
    redactionKey: redactionKeyOf(policy.redactionKey),
  };
}
