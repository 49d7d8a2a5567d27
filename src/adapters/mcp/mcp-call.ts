import type { CallToolResult } from "@modelcontextprotocol/client";
import { FinalFailure, NeedsHuman, NotApplied } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ToolCallContext } from "../../engine/definition/tool.ts";
import { messageOf } from "../net/error-causes.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { type McpLink, type McpTool, NoLinkError } from "./mcp-link.ts";
import { errorTextOf, resultOf } from "./mcp-result.ts";

/** A tool as a run knows it since it opened the server, and how people call the two. */
export type PinnedTool = McpTool & {
  readonly connection: McpConnection;
  /** For people: `MCP server files (node server.js)`. */
  readonly serverName: string;
  /** Told when the tool is not what it was. */
  readonly onChanged: (what: string) => void;
};

type Call = Pick<
  ToolCallContext,
  "runId" | "stepId" | "toolCallId" | "idempotencyKey" | "attempt" | "traceHeaders" | "signal"
>;

/** Node's timers take no more. The engine's time is the one that counts, and its signal tells when it is over. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** One try of a call. What it throws says whether anything can have happened: see `NotApplied` and `FinalFailure`. */
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
        // Without an output schema: a result that does not fit it is still what came of the call.
        toolDefinition: withoutOutputSchema(tool.listed),
      },
    );
    return valueOf(result);
  } catch (error) {
    if (FinalFailure.isInstance(error)) throw error;
    if (!delivery.mayHaveArrived) {
      link.lose(null);
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

/** The ids, so that a server can tell what it did for whom, and drop a second try; and the trace, as the protocol has it. */
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

/** A link on which the tool is still what it was when the run began. Nothing of the call is sent before that. */
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
  const what = now === undefined ? "has no tool" : "has another tool";
  const name = JSON.stringify(tool.listed.name);
  tool.onChanged(`The ${tool.serverName} ${what} ${name} since the run began: calls of it are refused.`);
  throw new FinalFailure(
    `The tool ${name} of the ${tool.serverName} changed since the run began${now === undefined ? ": it is gone" : ""}. Nothing was sent; a new run takes it as it is now.`,
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

/** The request went out, and no result came back. */
function failureOf(tool: PinnedTool, link: McpLink, error: unknown, signal: AbortSignal): Error {
  const { mcp } = link;
  const which = `${JSON.stringify(tool.listed.name)} of the ${tool.serverName}`;
  if (signal.aborted) return new Error(`${which} was stopped before it answered.`, { cause: error });
  if (mcp.ProtocolError.isInstance(error))
    return new FinalFailure(answerOf(which, error), {}, { cause: error });
  if (mcp.UnauthorizedError.isInstance(error)) return httpFailure(tool, link, 401, error);
  if (mcp.SdkHttpError.isInstance(error)) return httpFailure(tool, link, error.status, error);
  if (mcp.SdkError.isInstance(error)) {
    const { ConnectionClosed, RequestTimeout } = mcp.SdkErrorCode;
    if (error.code === ConnectionClosed)
      return brokenOff(which, link.whyLost ?? "closed the connection", error);
    // The time is not ours: an answer that cannot come any more.
    if (error.code === RequestTimeout) return brokenOff(which, "closed the stream of its answer", error);
    return new FinalFailure(
      `${which} gave an answer that cannot be used: ${error.message}`,
      {},
      { cause: error },
    );
  }
  link.lose(null);
  return brokenOff(which, `broke off (${messageOf(error)})`, error);
}

function brokenOff(which: string, how: string, cause: unknown): Error {
  return new Error(`In the middle of ${which}, the server ${how}: nobody knows whether it happened.`, {
    cause,
  });
}

const INVALID_PARAMS = -32_602;
const METHOD_NOT_FOUND = -32_601;

function answerOf(
  which: string,
  { code, message }: { readonly code: number; readonly message: string },
): string {
  if (code === INVALID_PARAMS) return `${which} did not take the arguments: ${message}`;
  if (code === METHOD_NOT_FOUND) return `There is no ${which}: ${message}`;
  return `${which} failed: ${message}`;
}

/** What an answer without a result says, before a server has looked at the call or after. */
function httpFailure(tool: PinnedTool, link: McpLink, status: number | undefined, error: Error): Error {
  const which = `${JSON.stringify(tool.listed.name)} of the ${tool.serverName}`;
  // What the protocol has for it. Any other status may come from a tool that has done something.
  if (link.hasSession && status === 404) {
    link.lose(null);
    return notSent(tool, "it does not know our session any more", error);
  }
  if (status === 401) {
    const message = `The ${tool.serverName} wants another key (HTTP 401): give it one in its headers, then retry.`;
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
