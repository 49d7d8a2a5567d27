import { ConfigurationError } from "../../core/errors.ts";
import { type Agent, isAgent } from "../../engine/definition/agent.ts";
import { conversation, conversationsOf } from "../../engine/definition/conversation-step.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import type { StepNode } from "../../engine/definition/step.ts";

/**
 * The end of the name of a conversation with an agent that is none in the configuration. Under the agent's own name a
 * worker would take the run, and execute it as the agent without a conversation.
 */
const OF_AGENT = " (chat)";

/** A conversation as it is, and an agent as a conversation under a name of its own. Anything else is refused. */
export function chatPipeline(target: Agent | StepNode): Agent | StepNode {
  if (isAgent(target)) return { ...conversation(target), name: `${target.name}${OF_AGENT}` };
  if (conversationsOf(rootOf(target)).length > 0) return target;
  throw new ConfigurationError(
    `${target.name} is a pipeline without a conversation, which nobody can talk to: name an agent, or add Step.conversation to it.`,
  );
}

/** The name of the agent whose conversation is stored under this name; null for the name of any other pipeline. */
export function agentOfChat(pipeline: string): string | null {
  return pipeline.endsWith(OF_AGENT) ? pipeline.slice(0, -OF_AGENT.length) : null;
}

/** True if it is a conversation of the configuration itself, which workers have as well. */
export function isKnownToWorkers(target: Agent | StepNode): boolean {
  return !isAgent(target);
}

/** True if the first thing in it is a conversation: that begins with a message, and needs no input. */
export function beginsWithConversation(target: Agent | StepNode): boolean {
  let step: StepNode | undefined = rootOf(target);
  while (step !== undefined && step.kind !== "conversation") step = step.children?.[0];
  return step !== undefined;
}
