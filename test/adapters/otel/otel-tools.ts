// Tools for traced runs, in a test or in a separate process.

import { z } from "zod";
import { type Tool, type ToolCallContext, tool } from "../../../src/index.ts";

/** A tool that may be repeated any number of times. */
export function readOnlyTool(
  name: string,
  execute: (q: string, call: ToolCallContext) => unknown = (q) => `found ${q}`,
): Tool {
  return tool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.object({ q: z.string() }),
    effect: "read_only",
    execute: async ({ q }, call) => await execute(q, call),
  });
}

/** An answer with these calls. */
export const asking = (...calls: readonly (readonly [name: string, q: string])[]) => ({
  toolCalls: calls.map(([name, q]) => ({ name, input: { q } })),
});
