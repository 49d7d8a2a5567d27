import { randomBytes } from "node:crypto";
import type { ToolPolicy } from "../../core/call/tool-classification.ts";
import { digestWith } from "../../core/secret/secret-mark.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import {
  agentSteps,
  type KnownTool,
  knownTools,
  stepsOf,
  toolsOf,
} from "../../engine/definition/known-tools.ts";
import { makeRules } from "../../engine/definition/run-rules.ts";
import { RunSecrets } from "../../engine/definition/run-secrets.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import { RunToolSources } from "../../engine/run/run-tool-sources.ts";

export {
  type KnownTool,
  sourceNamesOf,
  suggestedRecovery,
  toolsOf,
} from "../../engine/definition/known-tools.ts";

/** The tools of a pipeline, including those of MCP servers: each server is opened, queried and closed. Failures are reported to `warn`. */
export async function allToolsOf(
  target: Agent | StepNode,
  policy: ToolPolicy,
  warn: (message: string) => void,
): Promise<readonly KnownTool[]> {
  const sources = sourcesOutsideRun(warn);
  try {
    const found: KnownTool[] = [...toolsOf(target, policy)];
    const why = (what: string, error: unknown) =>
      warn(`The tools of ${what} are not known: ${error instanceof Error ? error.message : String(error)}`);
    for (const { name, tools } of stepsOf(target))
      if (tools !== undefined)
        try {
          found.push(...knownTools(await tools(sources), name, policy));
        } catch (error) {
          why(`step ${name}`, error);
        }
    for (const { name, agent } of agentSteps(target))
      for (const [key, source] of Object.entries(agent.sources))
        try {
          found.push(...knownTools(await sources.toolsOf({ [key]: source }), name, policy));
        } catch (error) {
          why(key, error);
        }
    return found;
  } finally {
    await sources.close();
  }
}

/** Tool sources that belong to no run. Their secrets are hidden in warnings. */
function sourcesOutsideRun(warn: (message: string) => void): RunToolSources {
  const key = randomBytes(32);
  const secrets = new RunSecrets(
    new Set(),
    digestWith(() => key),
  );
  return new RunToolSources(
    {
      signal: new AbortController().signal,
      network: makeRules().network,
      warn: (message) => warn(secrets.hideText(message)),
    },
    secrets,
  );
}
