import { matchesAction } from "../../core/call/action-pattern.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { checkUrl } from "../../core/network-policy.ts";
import { type ApprovalNeed, ONE_PERSON } from "../../core/person.ts";
import { approvalNeed } from "../definition/approval-rule.ts";
import { keyProblem, type PreparedTool, withKey } from "../definition/prepared-tool.ts";
import type { RunRules } from "../definition/run-rules.ts";
import type { ApprovalVerdict } from "../definition/tool.ts";
import { errorText } from "../definition/tool-outcome.ts";
import { type CallRequest, parseArguments } from "./call-request.ts";

/** The arguments to send, or why they are not sent. */
export type CallPayload =
  | {
      readonly kind: "ready";
      readonly tool: PreparedTool;
      readonly input: unknown;
      /** The approval that it needs; null for none. */
      readonly approval: ApprovalNeed | null;
    }
  /** Nothing is dispatched, and the model or the code gets the error. */
  | { readonly kind: "refused"; readonly errorCode: string; readonly error: string }
  /** The tool and the rules contradict each other: nothing is dispatched, and the turn fails. */
  | { readonly kind: "misconfigured"; readonly error: ConfigurationError };

/** The arguments as the tool will get them, with the key in its place, checked against every rule. */
export async function makePayload(rules: RunRules, request: CallRequest, key: string): Promise<CallPayload> {
  const { tool, name, secretInput, problem, enforceKeys } = request;
  if (tool === null) return refused("unknown_tool", problem ?? `There is no tool ${JSON.stringify(name)}.`);
  const forbidden = matchesAction(rules.forbiddenActions, tool);
  if (forbidden !== null)
    return refused("forbidden", `${name} is forbidden in this run (${forbidden}): continue without it.`);
  if (problem !== null) return refused("invalid_input", problem);
  const parsed = await parseArguments(tool, withKey(tool, secretInput, key));
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
    return `The urls function of ${tool.name} failed, so the hosts that it would connect to are unknown: ${errorText(error)}`;
  }
}

/** If the approval function throws, approval is needed. */
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
