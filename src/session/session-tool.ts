import type { z } from "zod";
import type { SessionView } from "./session-view.ts";

/**
 * A tool that only reads and changes the session. The engine wraps it as a tool that is `local` and may be repeated, since
 * the events that it dispatches count once. It returns a sentence for the model, or throws one that the model can act on.
 */
export type SessionTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.ZodType;
  run(input: never, session: SessionView): string;
};

/** Infers the input of `run` from the schema. */
export function sessionTool<S extends z.ZodType>(tool: {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: S;
  run(input: z.infer<S>, session: SessionView): string;
}): SessionTool {
  return tool;
}
