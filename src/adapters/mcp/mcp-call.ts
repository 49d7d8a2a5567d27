import type { CallToolResult } from "@modelcontextprotocol/client";
import { FinalFailure, NeedsHuman, NotApplied } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ToolCallContext } from "../../engine/definition/tool.ts";
import { messageOf } from "../net/error-causes.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { type McpLink, type McpTool, NoLinkError } from "./mcp-link.ts";
import { errorTextOf, resultOf } from "./mcp-result.ts";

/** A tool as it was when the run opened the server. */
export type PinnedTool = McpTool & {
  readonly connection: McpConnection;
  /** For people: `MCP server files (node server.js)`. */
  readonly serverName: string;
  /** Called with a warning when the tool has changed. */
  readonly onChanged: (warning: string) => void;
};

type Call = Pick<
  ToolCallContext,
  "runId" | "stepId" | "toolCallId" | "idempotencyKey" | "attempt" | "traceHeaders" | "signal"
>;

/** The longest that Node's timers accept: the engine's own timeout counts, and it aborts the signal. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** One attempt of a call. The class of the error shows whether it can have happened: see `NotApplied` and `FinalFailure`. */
export async function callMcpTool(tool: PinnedTool, input: JsonObject, call: Call): Promise<unknown> {
  const link = await linkFor(tool, call);
  const { name } = tool.listed;
  const args = { ...input };
  const delivery = link.deliveries.track(args);
  try {
    const result = await link.client.callTool(
      { name, arguments: args, _meta: metaOf(call) },
      {
        signal: AbortSignal.any([call.signal, delivery.lost]),
        timeout: NO_TIMEOUT_MS,
        // Without an output schema: a result that does not fit it is still the result of the call.
        toolDefinition: withoutOutputSchema(tool.listed),
      },
    );
    return valueOf(result);
  } catch (error) {
    if (FinalFailure.isInstance(error)) throw error;
    if (!delivery.mayHaveArrived) {
      link.markLost(null);
      throw notSent(tool, messageOf(error), error);
    }
    throw failureOf(tool, link, error, call.signal);
  } finally {
    delivery.end();
  }
}

function withoutOutputSchema({ outputSchema: _, ...listed }: McpTool["listed"]): McpTool["listed"] {
  return listed;
}

/** The ids, so that a server can attribute the call and drop a second attempt; and the trace headers of the protocol. */
function metaOf(call: Call): JsonObject {
  const trace = Object.entries(call.traceHeaders).filter(([name]) => TRACE_KEYS.has(name));
  return {
    ...Object.fromEntries(trace),
    "pawl/run_id": call.runId,
    "pawl/step_id": call.stepId,
    "pawl/idempotency_key": call.idempotencyKey,
    "pawl/tool_call_id": call.toolCallId,
    "pawl/attempt": call.attempt,
  };
}

const TRACE_KEYS: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage"]);

/** A link on which the tool is unchanged since the run began. Nothing of the call is sent before that is checked. */
async function linkFor(tool: PinnedTool, { signal }: Call): Promise<McpLink> {
  try {
    const link = await tool.connection.link(signal);
    assertUnchanged(tool, (await link.tools(signal)).get(tool.listed.name));
    return link;
  } catch (error) {
    if (FinalFailure.isInstance(error)) throw error;
    throw notSent(tool, error instanceof NoLinkError ? `it ${error.message}` : messageOf(error), error);
  }
}

function assertUnchanged(tool: PinnedTool, now: McpTool | undefined): void {
  if (now?.fingerprint === tool.fingerprint) return;
  const name = JSON.stringify(tool.listed.name);
  const change = now === undefined ? "no longer has the tool" : "has changed the tool";
  tool.onChanged(`The ${tool.serverName} ${change} ${name} since the run began: calls of it are refused.`);
  throw new FinalFailure(
    `The tool ${name} of the ${tool.serverName} ${now === undefined ? "was removed" : "changed"} since the run began. Nothing was sent; a new run uses the tools as they are now.`,
    { applied: false },
  );
}

function valueOf(result: CallToolResult): unknown {
  if (result.isError === true) throw new FinalFailure(errorTextOf(result));
  return resultOf(result);
}

function notSent(tool: PinnedTool, why: string, cause: unknown): NotApplied {
  const reason = why.replace(/\.$/, "");
  return new NotApplied(`Nothing was sent to the ${tool.serverName}: ${reason}.`, {}, { cause });
}

/** The error for a request that was sent and got no result. */
function failureOf(tool: PinnedTool, link: McpLink, error: unknown, signal: AbortSignal): Error {
  const { mcp } = link;
  const which = `${JSON.stringify(tool.listed.name)} of the ${tool.serverName}`;
  if (signal.aborted) return new Error(`${which} was aborted before it answered.`, { cause: error });
  if (mcp.ProtocolError.isInstance(error))
    return new FinalFailure(answerOf(which, error), {}, { cause: error });
  if (mcp.UnauthorizedError.isInstance(error)) return httpFailure(tool, link, 401, error);
  if (mcp.SdkHttpError.isInstance(error)) return httpFailure(tool, link, error.status, error);
  if (mcp.SdkError.isInstance(error)) {
    const { ConnectionClosed, RequestTimeout } = mcp.SdkErrorCode;
    if (error.code === ConnectionClosed)
      return brokenOff(which, link.whyLost ?? "closed the connection", error);
    // Not a timeout of ours: the answer can no longer arrive.
    if (error.code === RequestTimeout) return brokenOff(which, "closed the stream of its answer", error);
    return new FinalFailure(`${which} gave an unusable answer: ${error.message}`, {}, { cause: error });
  }
  link.markLost(null);
  return brokenOff(which, `broke the connection (${messageOf(error)})`, error);
}

function brokenOff(which: string, how: string, cause: unknown): Error {
  return new Error(`During ${which}, the server ${how}: the call may or may not have happened.`, {
    cause,
  });
}

const INVALID_PARAMS = -32_602;
const METHOD_NOT_FOUND = -32_601;

function answerOf(
  which: string,
  { code, message }: { readonly code: number; readonly message: string },
): string {
  if (code === INVALID_PARAMS) return `${which} rejected the arguments: ${message}`;
  if (code === METHOD_NOT_FOUND) return `There is no ${which}: ${message}`;
  return `${which} failed: ${message}`;
}

/** The error for an HTTP status without a result. */
function httpFailure(tool: PinnedTool, link: McpLink, status: number | undefined, error: Error): Error {
  const which = `${JSON.stringify(tool.listed.name)} of the ${tool.serverName}`;
  // The protocol's status for a lost session. Any other status may be from a tool that has done something.
  if (link.hasSession && status === 404) {
    link.markLost(null);
    return notSent(tool, "it no longer knows the session", error);
  }
  if (status === 401) {
    const message = `The ${tool.serverName} refused the credentials (HTTP 401): correct its headers, then retry.`;
    return new NeedsHuman("auth_failure", message, { cause: error });
  }
  if (status === 429) return notSent(tool, "it is busy (HTTP 429)", error);
  if (status !== undefined && status >= 400 && status < 500)
    return new FinalFailure(
      `${which} was refused with HTTP ${status}: ${error.message}`,
      {},
      { cause: error },
    );
  return brokenOff(which, `answered with HTTP ${status}`, error);
}
