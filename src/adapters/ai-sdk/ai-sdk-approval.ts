import type {
  Tool as AiSdkTool,
  SingleToolApprovalFunction,
  ToolApprovalConfiguration,
  ToolApprovalStatus,
  ToolSet,
} from "ai";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { ApprovalVerdict, Tool } from "../../engine/definition/tool.ts";
import type { ToolSource } from "../../engine/definition/tool-source.ts";

type RuntimeContext = { readonly [name: string]: unknown };
export type ToolApproval = ToolApprovalConfiguration<ToolSet, RuntimeContext>;

type AnyFunction = (...given: never[]) => unknown;

/** A `toolApproval` for these tools: a function for one of them gets its arguments and its context. */
export type ToolApprovalOf<TOOLS> =
  | ApprovalMethod["approve"]
  | (Extract<TOOLS[keyof TOOLS], ToolSource> extends never
      ? { readonly [N in keyof TOOLS]?: OneApproval<TOOLS[N]> }
      : // The names of a source's tools are not known beforehand.
        Exclude<ToolApproval, AnyFunction>);

/** As a method, so that a function that is typed for exactly these tools fits, too. */
type ApprovalMethod = {
  approve(
    ...given: Parameters<Extract<ToolApproval, AnyFunction>>
  ): ReturnType<Extract<ToolApproval, AnyFunction>>;
};

type OneApproval<T> = T extends AiSdkTool
  ? Exclude<ToolApprovalConfiguration<{ tool: T }, RuntimeContext>, AnyFunction>["tool"]
  :
      | ToolApprovalStatus
      | SingleToolApprovalFunction<T extends Tool<infer A> ? A : unknown, unknown, RuntimeContext>;

/** What the SDK's approval functions get besides the arguments. */
export type ApprovalContext = {
  readonly toolsContext: { readonly [tool: string]: unknown };
  readonly runtimeContext: RuntimeContext;
};

/** The call is not dispatched yet, and tools do not get the messages. */
const UNKNOWN = { toolCallId: "", messages: [] };

/** Deprecated in the SDK, but still used by existing tools. */
type Approving = {
  readonly needsApproval?:
    | boolean
    | ((input: unknown, options: typeof UNKNOWN & { context: unknown }) => boolean | PromiseLike<boolean>);
};

/** The approval that a tool itself asks for. */
export function ownApproval(
  name: string,
  { needsApproval }: Approving,
  { toolsContext }: ApprovalContext,
): Tool["approval"] {
  if (typeof needsApproval !== "function") return needsApproval === true;
  return async (input) =>
    Boolean(await needsApproval(input, { ...UNKNOWN, context: ownProperty(toolsContext, name) }));
}

/** Who approves the calls of a tool: `metadata: { pawl: { approver: "user" } }` of a plain tool says so. */
export function ownApprover(name: string, metadata: AiSdkTool["metadata"]): Tool["approver"] {
  const ours = (metadata as JsonObject | undefined)?.pawl ?? null;
  const approver = isJsonObject(ours) ? ours.approver : undefined;
  if (approver === undefined) return "operator";
  if (approver === "user" || approver === "operator") return approver;
  throw new ConfigurationError(
    `Tool ${name} has metadata.pawl.approver ${JSON.stringify(approver)}: use "user" or "operator".`,
  );
}

/** The agent's `toolApproval` for a tool; null if it leaves the decision to the tool. */
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
  // Typed as the tool's context, which is not known for a tool by name.
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
