import type { Tool as AiSdkTool, FlexibleSchema } from "ai";
import { canonicalHash } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { ownProperty } from "../../core/own-property.ts";
import { plainJson } from "../../core/plain-json.ts";
import { convertForeignTools } from "../../engine/definition/foreign-tool.ts";
import { providerTool } from "../../engine/definition/provider-tool.ts";
import { makeTool, type Tool } from "../../engine/definition/tool.ts";
import { type ApprovalContext, ownApproval, ownApprover } from "./ai-sdk-approval.ts";
import { presentationOf } from "./ai-sdk-tool-output.ts";
import { aiSdkToolSchema, schemaProblem } from "./ai-sdk-tool-schema.ts";

const NO_CONTEXT: ApprovalContext = { toolsContext: {}, runtimeContext: {} };

/**
 * A plain AI SDK tool as a Pawl tool. It does not declare its effect, so its name decides; unless that is clearly a read,
 * a call in doubt is not repeated.
 */
export function aiSdkTool(name: string, tool: AiSdkTool, given: ApprovalContext = NO_CONTEXT): Tool {
  if (isProviderExecuted(tool)) return providerTool(name, setupOf(tool));
  const { execute, inputSchema, contextSchema, toModelOutput } = tool;
  if (execute === undefined) {
    throw new ConfigurationError(
      `Tool ${name} has no execute function, and Pawl runs the tools itself: add one.`,
    );
  }
  const context: unknown = ownProperty(given.toolsContext, name);
  const schema = () => aiSdkToolSchema({ inputSchema });
  return makeTool({
    description: descriptionOf(tool, context),
    input: {
      jsonSchema: async () => {
        await readContext(name, contextSchema, context);
        return (await schema()).inputSchema;
      },
      parse: async (input) => (await schema()).validate(input),
    },
    approval: ownApproval(name, tool, given),
    approver: ownApprover(name, tool.metadata),
    present: toModelOutput === undefined ? null : presentationOf(toModelOutput),
    execute: async (input, call): Promise<unknown> => {
      const { toolCallId, signal: abortSignal } = call;
      const read = await readContext(name, contextSchema, context);
      const result: unknown = execute(input, {
        toolCallId,
        messages: [],
        abortSignal,
        context: read,
      });
      return isAsyncIterable(result) ? lastOf(result, abortSignal) : result;
    },
  });
}

convertForeignTools((given, { name, context }) => {
  const tool = given as AiSdkTool;
  if (isProviderExecuted(tool))
    throw new ConfigurationError(
      `Tool ${name} is run by the provider, within a model's answer, so code cannot call it: give it to an agent.`,
    );
  return aiSdkTool(name, tool, { ...NO_CONTEXT, toolsContext: { [name]: context } });
});

/** True for a tool that the provider runs itself, within its answer. */
export function isProviderExecuted(tool: AiSdkTool): boolean {
  return tool.type === "provider" && tool.isProviderExecuted;
}

function descriptionOf(tool: AiSdkTool, context: unknown): string {
  if (tool.type === "provider") return setupOf(tool);
  const { description = "" } = tool;
  return typeof description === "string" ? description : description({ context });
}

/**
 * The id of the provider's tool and a hash of its setup, for the fingerprint: the setup itself may hold a token, and
 * pinned values are stored.
 */
function setupOf(tool: AiSdkTool): string {
  const hash = canonicalHash(plainJson(tool.args) ?? {}).toString("hex");
  return `The provider's ${tool.id ?? "tool"}, set up as ${hash.slice(0, 16)}.`;
}

/** Also called before the first turn, so that a context that does not fit fails a run before it starts. */
async function readContext(
  name: string,
  contextSchema: FlexibleSchema<unknown> | undefined,
  context: unknown,
): Promise<unknown> {
  if (contextSchema === undefined) return context;
  const read = await schemaProblem(contextSchema, context);
  if (read.problem === null) return read.value;
  throw new ConfigurationError(
    `The context of tool ${name} does not fit its contextSchema: ${read.problem}. Give it in toolsContext.${name}.`,
  );
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** A generator tool yields its progress; the last value is its result. */
async function lastOf(results: AsyncIterable<unknown>, signal: AbortSignal): Promise<unknown> {
  let last: unknown;
  for await (const result of results) {
    signal.throwIfAborted();
    last = result;
  }
  return last;
}
