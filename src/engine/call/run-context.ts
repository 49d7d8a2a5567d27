import { ConfigurationError } from "../../core/errors.ts";
import type { StandardIssue, StandardSchema } from "../../core/standard-schema.ts";
import type { ToolCallContext } from "../definition/tool.ts";

/**
 * Reads `call.run.context`, which the caller of the run has given, with its type. A run whose context does not fit fails the
 * call with a sentence that says where.
 *
 * @example
 * const customer = runContext(z.object({ id: z.string() }));
 * const greet = tool({
 *   description: "Greets the customer.",
 *   inputSchema: z.object({}),
 *   execute: (_, call) => `Hello ${customer(call).id}.`,
 * });
 */
export function runContext<O>(
  schema: StandardSchema<unknown, O>,
): (call: Pick<ToolCallContext, "run" | "runId">) => O {
  return ({ run, runId }) => {
    const result = schema["~standard"].validate(structuredClone(run.context));
    if (result instanceof Promise)
      throw new ConfigurationError(
        "The schema of runContext is checked asynchronously: give one that is not.",
      );
    if (result.issues === undefined) return result.value;
    const problems = result.issues.map(issueText).join("; ");
    throw new ConfigurationError(
      `The context of run ${runId} does not fit (${problems}): start runs with { context: … } as their tools need it.`,
    );
  };
}

function issueText({ message, path = [] }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
  return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
}
