import type { SessionTool } from "../../session/session-tool.ts";
import { makeTool, type Tool } from "./tool.ts";
import { zodInput } from "./tool-schema.ts";

/**
 * Tools that read and change the session and nothing else. They run one after the other, so that each finds what the one
 * before it told; and never meet a receipt of a turn left behind, since what that told the session is gone with it.
 */
export function sessionTools(definitions: readonly SessionTool[]): { readonly [name: string]: Tool } {
  return Object.fromEntries(definitions.map((definition) => [definition.name, toolOf(definition)]));
}

function toolOf(definition: SessionTool): Tool {
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
