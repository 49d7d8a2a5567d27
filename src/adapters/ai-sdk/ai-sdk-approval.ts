import type { ToolApprovalConfiguration, ToolApprovalStatus, ToolSet } from "ai";
import { ownProperty } from "../../core/own-property.ts";
import type { ApprovalVerdict, Tool } from "../../engine/definition/tool.ts";

type RuntimeContext = { readonly [name: string]: unknown };
export type ToolApproval = ToolApprovalConfiguration<ToolSet, RuntimeContext>;

/** What the functions of the SDK that decide about approvals are told beside the arguments. */
export type ApprovalContext = {
  readonly toolsContext: { readonly [tool: string]: unknown };
  readonly runtimeContext: RuntimeContext;
};

/** Nobody has dispatched the call yet, and what the model was sent is not handed to tools. */
const UNKNOWN = { toolCallId: "", messages: [] };

/** What the SDK calls deprecated, and tools that are in use still have. */
type Approving = {
  readonly needsApproval?:
    | boolean
    | ((input: unknown, options: typeof UNKNOWN & { context: unknown }) => boolean | PromiseLike<boolean>);
};

/** A tool's own wish. */
export function ownApproval(
  name: string,
  { needsApproval }: Approving,
  { toolsContext }: ApprovalContext,
): Tool["approval"] {
  if (typeof needsApproval !== "function") return needsApproval === true;
  return async (input) =>
    Boolean(await needsApproval(input, { ...UNKNOWN, context: ownProperty(toolsContext, name) }));
}

/** What the agent's `toolApproval` says of a tool; null where it leaves that to the tool. */
export function agentApproval(
  name: string,
  toolApproval: ToolApproval | undefined,
  { toolsContext, runtimeContext }: ApprovalContext,
): Tool["approval"] | null {
  if (toolApproval === undefined) return null;
  if (typeof toolApproval === "function")
    return async (input) =>
      verdictOf(
        await toolApproval({
          toolCall: { type: "tool-call", toolCallId: "", toolName: name, input, dynamic: true },
          tools: undefined,
          toolsContext,
          runtimeContext,
          messages: [],
        }),
      );
  const ofTool = ownProperty(toolApproval, name);
  if (ofTool === undefined || ofTool === null) return null;
  if (typeof ofTool !== "function") return () => verdictOf(ofTool);
  // Its type is that of the tool's context, which is not known of a tool by name.
  const toolContext = ownProperty(toolsContext, name) as never;
  return async (input) => verdictOf(await ofTool(input, { ...UNKNOWN, toolContext, runtimeContext }));
}

function verdictOf(status: ToolApprovalStatus): ApprovalVerdict {
  const { type, reason } = typeof status === "object" ? { reason: undefined, ...status } : { type: status };
  switch (type) {
    case undefined:
    case "not-applicable":
    case "approved":
      return false;
    case "denied":
      return { denied: reason ?? "the agent's toolApproval denies it." };
    case "user-approval":
      return true;
  }
}
