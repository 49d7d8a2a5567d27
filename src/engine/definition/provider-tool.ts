import { matchesAction } from "../../core/call/action-pattern.ts";
import type { ModelTool } from "../ports/model-port.ts";
import type { PreparedAgent } from "./agent.ts";
import { approvalNeed } from "./approval-rule.ts";
import type { RunRules } from "./run-rules.ts";
import { makeTool, type Tool } from "./tool.ts";

/** Where the tools stand that a provider runs itself, such as its web search. */
export const PROVIDER_NAMESPACE = "provider";

/**
 * A tool that the provider runs while it answers. It is listed, classified and pinned like any other; what it did is read
 * from the response. `setup` says what it is and how it was set up: another setup is another tool.
 */
export function providerTool(name: string, setup: string): Tool {
  const error = `${name} is run by the provider, within its answer, and not from here.`;
  return makeTool({
    namespace: PROVIDER_NAMESPACE,
    description: setup,
    input: { jsonSchema: () => ({}), parse: () => Promise.resolve({ ok: false, error }) },
    execute: () => {
      throw new Error(error);
    },
  });
}

/**
 * The tools that a request offers. What the provider runs cannot be stopped once it was offered, so a tool of its that the
 * run forbids, or wants a person to be asked about, is not.
 */
export function offeredTools({ tools, modelTools }: PreparedAgent, rules: RunRules): readonly ModelTool[] {
  return modelTools.filter(({ name }) => {
    const tool = tools.get(name);
    if (tool === undefined || tool.namespace !== PROVIDER_NAMESPACE) return true;
    return matchesAction(rules.forbiddenActions, tool) === null && approvalNeed(rules.approve, tool) === null;
  });
}
