import type { Output } from "ai";
import type { Agent } from "../../../engine/definition/agent.ts";
import { answerOf } from "../../../engine/definition/agent-output.ts";
import type { AiSdkPackage } from "../ai-sdk-package.ts";

/** The output of an agent for the SDK: a text, or what its schema makes of the last answer, as the run stores it. */
export function mirroredOutput(
  ai: Pick<AiSdkPackage, "Output">,
  agent: Agent,
): Output.Output<unknown, unknown, never> {
  if (agent.output === null) return ai.Output.text();
  return {
    ...ai.Output.json(),
    parseCompleteOutput: async ({ text }) => {
      const { output, problem } = await answerOf({ agent }, { content: [{ type: "text", text }] });
      if (problem === null) return output;
      throw new Error(`The stored answer is not an output of agent ${agent.name}. ${problem}`);
    },
    createElementStreamTransform: () => undefined,
  };
}
