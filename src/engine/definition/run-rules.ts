import { assertPatterns } from "../../core/call/action-pattern.ts";
import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import type { ToolPolicy } from "../../core/call/tool-classification.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { normaliseKeyName } from "../../core/naming/key-name.ts";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import { assertAllowedDomains, type NetworkPolicy } from "../../core/network-policy.ts";
import { isSecret, type Secret } from "../../core/secret/secret.ts";
import { type ApprovalRule, approvalRules } from "./approval-rule.ts";
import { type TimeLimits, timeLimitsOf, type WaitClocks } from "./waiting/time-limits.ts";

/** Rules for tools, secrets and the network in all runs of a runner. */
export type Policy = ToolPolicy & {
  /** Calls of these classes, and calls that these rules match, run only once people have approved them. By default none. */
  readonly approve?: readonly (SideEffectClass | ApprovalRule)[];
  /** What happens to questions that nobody answers in time, by their kind; by default they stay open. */
  readonly timeLimits?: TimeLimits;
  /** Values under these property names never reach the store, an event, a log or an error text. */
  readonly secretKeys?: readonly string[];
  /**
   * Texts that are hidden everywhere in a run, from its first step on and in every process. A secret that a step passes to
   * a call is hidden only from then on, and not by a process that resumes after that step.
   */
  readonly secrets?: readonly Secret[];
  /**
   * The key for the digests of hidden values, at least 16 characters. By default each store has a key of its own; with the
   * same key, digests of several stores can be compared.
   */
  readonly redactionKey?: string | Secret;
  /** Lets tools connect to loopback, private and link-local addresses; false by default. */
  readonly allowPrivateAddresses?: boolean;
  /**
   * `enforce`: `allowedDomains` also applies to requests that tools make with `fetch`, or otherwise through the process's
   * undici dispatcher. It does not apply to a tool with its own dispatcher, socket or process.
   */
  readonly network?: "enforce";
};

/** Limits on the actions of a run. Enforced where tools are called, not in the prompt. */
export type Constraints = {
  /** Tools that are never called, by name or pattern: `send_email`, `delete_*`, `files/delete_file`, `github:*`. */
  readonly forbiddenActions?: readonly string[];
  /**
   * The only hosts that `guardedFetch`, and tools that declare their `urls`, may connect to; all public hosts by default.
   * For tools that call `fetch` themselves, set `policy.network: "enforce"` as well.
   */
  readonly allowedDomains?: readonly string[];
  /** Every tool that is known to be external has each effect at most once in a run. */
  readonly noDuplicateExternalActions?: boolean;
};

/** Policy and constraints, checked, in the form that the engine uses. */
export type RunRules = {
  readonly tools: ToolPolicy;
  readonly approve: readonly ApprovalRule[];
  readonly timeLimits: WaitClocks;
  readonly forbiddenActions: readonly string[];
  readonly noDuplicateExternalActions: boolean;
  readonly network: NetworkPolicy;
  readonly enforcesNetwork: boolean;
  readonly secretKeys: ReadonlySet<string>;
  readonly secrets: readonly Secret[];
  /** Null: the store's own key. */
  readonly redactionKey: Uint8Array | null;
};

const POLICY_NAMES = {
  sideEffectDenylist: true,
  readOnlyAllowlist: true,
  trustedServers: true,
  approve: true,
  timeLimits: true,
  secretKeys: true,
  secrets: true,
  redactionKey: true,
  allowPrivateAddresses: true,
  network: true,
} satisfies OptionNames<Policy>;
const CONSTRAINT_NAMES = {
  forbiddenActions: true,
  allowedDomains: true,
  noDuplicateExternalActions: true,
} satisfies OptionNames<Constraints>;

const POLICY_OTHER_NAMES = {
  approval: "approve",
  timeLimit: "timeLimits",
  allowedDomains: "constraints.allowedDomains",
  forbiddenActions: "constraints.forbiddenActions",
};

function secretsOf(given: unknown = []): readonly Secret[] {
  if (Array.isArray(given) && given.every(isSecret)) return given;
  throw new ConfigurationError("policy.secrets is not a list of secrets: wrap each of them in secret(…).");
}

const MIN_KEY_LENGTH = 16;

function redactionKeyOf(given: unknown): Uint8Array | null {
  if (given === undefined) return null;
  const text = isSecret(given) ? given.reveal() : given;
  if (typeof text === "string" && text.length >= MIN_KEY_LENGTH) return Buffer.from(text, "utf8");
  throw new ConfigurationError(
    `policy.redactionKey is not a text of at least ${MIN_KEY_LENGTH} characters: give a random one, or leave it out.`,
  );
}

export function makeRules(policy: Policy = {}, constraints: Constraints = {}): RunRules {
  assertOptions("The runner's policy", policy, POLICY_NAMES, POLICY_OTHER_NAMES);
  assertOptions("The runner's constraints", constraints, CONSTRAINT_NAMES);
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
    timeLimits: timeLimitsOf(policy.timeLimits),
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
