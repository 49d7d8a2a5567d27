import { matchesAction } from "../../core/call/action-pattern.ts";
import type { ModelTool } from "../ports/model-port.ts";
import type { PreparedAgent } from "./agent.ts";
import { approvalNeed } from "./approval-rule.ts";
import type { RunRules } from "./run-rules.ts";
import { makeTool, type Tool } from "./tool.ts";

/** The namespace of tools that the provider itself runs, such as web search. */
export const PROVIDER_NAMESPACE = "provider";

/**
 * A tool that the provider runs while it answers. It is listed, classified and pinned like any other; its calls are read
 * from the response. `setup` describes the tool and its configuration: another setup is another tool.
 */
export function providerTool(name: string, setup: string): Tool {
  const error = `${name} is run by the provider as part of its answer, and cannot be called from here.`;
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
 * The tools that a request offers. A provider's tool cannot be stopped once it was offered, so one that the run forbids, or
 * that needs approval, is not offered.
 */
export function offeredTools({ tools, modelTools }: PreparedAgent, rules: RunRules): readonly ModelTool[] {
  return modelTools.filter(({ name }) => {
    const tool = tools.get(name);
    if (tool === undefined || tool.namespace !== PROVIDER_NAMESPACE) return true;
    return matchesAction(rules.forbiddenActions, tool) === null && approvalNeed(rules.approve, tool) === null;
  });
}
