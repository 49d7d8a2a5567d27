import type { Tool as AiSdkTool } from "ai";
import { ConfigurationError } from "../core/errors.ts";
import { makeTool, type Tool } from "../engine/tool.ts";
import { aiSdkToolSchema } from "./ai-sdk-tool-schema.ts";

/**
 * A plain AI SDK tool as one of ours. It says nothing about what it changes, so its name has to; and unless that is
 * clearly a read, a call of it that a crash left unknown is not repeated.
 */
export function aiSdkTool(name: string, tool: AiSdkTool): Tool {
  const { execute, description, inputSchema } = tool;
  if (execute === undefined) {
    throw new ConfigurationError(
      `Tool ${name} has no execute function, and Pawl runs the tools itself: give it one.`,
    );
  }
  const schema = () => aiSdkToolSchema({ inputSchema });
  return makeTool({
    description: typeof description === "string" ? description : "",
    input: {
      jsonSchema: async () => (await schema()).inputSchema,
      parse: async (input) => (await schema()).validate(input),
    },
    execute: (input, call): unknown =>
      execute(input, {
        toolCallId: call.toolCallId,
        messages: [],
        abortSignal: call.signal,
        context: undefined as never,
      }),
  });
}
