import type { SessionTool } from "../../session/session-tool.ts";
import { makeTool, type Tool } from "./tool.ts";
import { zodInput } from "./value-schema.ts";

/**
 * Tools that read and change the session and nothing else. They run one at a time, so that each sees the events of the
 * one before it. They never reuse a receipt of an abandoned turn, since its session events were rolled back.
 */
export function sessionTools(definitions: readonly SessionTool[]): { readonly [name: string]: Tool } {
  return Object.fromEntries(definitions.map((definition) => [definition.name, sessionTool(definition)]));
}

function sessionTool(definition: SessionTool): Tool {
  return makeTool({
    name: definition.name,
    namespace: "pawl",
    description: definition.description,
    input: zodInput(definition.inputSchema),
    effect: "local",
    recovery: "repeat",
    dedupe: "call",
    exclusive: true,
    isSessionTool: true,
    execute: (input, call) => definition.run(input, call.session),
  });
}
