import type { z } from "zod";
import type { SessionView } from "./session-view.ts";

/**
 * A tool that only reads and changes the session. The engine makes a tool of it: `local`, and free to be repeated, since
 * what it dispatches counts once. It answers with a sentence for the model, and throws one that the model can act on.
 */
export type SessionTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.ZodType;
  run(input: never, session: SessionView): string;
};

/** Ties the input of `run` to the schema. */
export function sessionTool<S extends z.ZodType>(tool: {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: S;
  run(input: z.infer<S>, session: SessionView): string;
}): SessionTool {
  return tool;
}
