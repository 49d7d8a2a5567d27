import { hidingInErrors } from "../adapters/tools/hiding-secrets.ts";
import { isJson } from "../core/canonical-json.ts";
import { redact } from "../core/redaction.ts";
import type { Tool, ToolCallContext } from "../engine/tool.ts";
import { makeToolSource, type ToolSource } from "../engine/tool-source.ts";

/**
 * The same source, except that neither a result nor an error of its tools says one of these texts: a server may well send back
 * what it was given, and what a tool says is stored and told to the model.
 */
export function hidingSource(source: ToolSource, secrets: readonly string[]): ToolSource {
  if (secrets.length === 0) return source;
  return makeToolSource({
    name: source.name,
    open: async (name, opening) => {
      const opened = await hidingInErrors(secrets, () => source.open(name, opening));
      const tools = Object.entries(opened.tools).map(
        ([key, tool]) => [key, hidingTool(tool, secrets)] as const,
      );
      return { ...opened, tools: Object.fromEntries(tools) };
    },
  });
}

function hidingTool(tool: Tool, secrets: readonly string[]): Tool {
  return {
    ...tool,
    execute: (input: never, call: ToolCallContext) =>
      hidingInErrors(secrets, async () => {
        const result: unknown = await tool.execute(input, call);
        return isJson(result) ? redact(result, new Set(), secrets) : result;
      }),
  };
}
