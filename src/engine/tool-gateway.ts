import { isControlFlow, ToolCallInDoubtError } from "../core/errors.ts";
import { type Json, throughJson } from "../core/json.ts";
import type { ToolOutput } from "../core/message.ts";
import { stepId, toolCallId } from "../core/step-path.ts";
import { turnKey } from "../core/turn-key.ts";
import { type RunHandle, reach } from "./run-handle.ts";
import type { PreparedTool, ToolCallContext } from "./tool.ts";

/** A call that is `running` in the ledger and about to be dispatched. */
export type ToolDispatch = {
  readonly tool: PreparedTool;
  /** What the model or the code asked for, for people to see. */
  readonly request: Json;
  /** What the tool gets: parsed, with the key in its place. */
  readonly input: unknown;
  readonly stepPath: string;
  readonly stepName: string;
  readonly turnIndex: number;
  readonly callIndex: number;
  readonly attempt: number;
  readonly idempotencyKey: string;
};

export type ToolOutcome = {
  readonly status: "succeeded" | "failed";
  readonly output: ToolOutput;
  readonly errorCode: string | null;
};

/**
 * The one door to the outside: nothing else invokes a tool. The lease is checked right before, and whatever the tool
 * throws or returns becomes an outcome that can be stored; only what steers the run is thrown on.
 */
export async function dispatchTool(run: RunHandle, call: ToolDispatch): Promise<ToolOutcome> {
  const context = callContext(run, call);
  const { toolCallId, attempt } = context;
  run.emit({
    type: "tool.started",
    runId: run.runId,
    toolCallId,
    tool: call.tool.name,
    attempt,
    input: call.request,
  });
  reach(run, "tool:before-execute", call.stepPath, call.turnIndex);
  run.lease.assertHeld();
  const outcome = await execute(run, call, context);
  reach(run, "tool:executed", call.stepPath, call.turnIndex);
  run.emit({
    type: "tool.finished",
    runId: run.runId,
    toolCallId,
    tool: call.tool.name,
    status: outcome.status,
  });
  return outcome;
}

async function execute(run: RunHandle, call: ToolDispatch, context: ToolCallContext): Promise<ToolOutcome> {
  let result: unknown;
  try {
    result = await call.tool.execute(call.input as never, context);
  } catch (error) {
    // An aborted tool may or may not have done its work: its row stays `running`, and its recovery class decides.
    if (isControlFlow(error)) throw error;
    if (run.signal.aborted) throw run.signal.reason;
    return failed("tool_error", errorText(error));
  }
  return succeeded(call.tool.name, result);
}

export function failed(errorCode: string, message: string): ToolOutcome {
  return { status: "failed", output: { type: "error-text", value: message }, errorCode };
}

/** A result goes through JSON, as it would on its way to a model: dates become strings, `undefined` is dropped. */
function succeeded(name: string, result: unknown): ToolOutcome {
  if (typeof result === "string")
    return { status: "succeeded", output: { type: "text", value: result.toWellFormed() }, errorCode: null };
  try {
    return { status: "succeeded", output: { type: "json", value: throughJson(result) }, errorCode: null };
  } catch (error) {
    return failed(
      "result_not_json",
      `${name} ran, but its result cannot be kept (${errorText(error)}). It has had its effect: do not call it again for that.`,
    );
  }
}

/** In words, whatever it was: a receipt depends on it. */
function errorText(error: unknown): string {
  const thrown: unknown =
    error instanceof Error ? (error.message === "" ? error.name : error.message) : error;
  if (typeof thrown === "string") return thrown.toWellFormed();
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  try {
    return JSON.stringify(throughJson(thrown));
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}

function callContext(run: RunHandle, call: ToolDispatch): ToolCallContext {
  return {
    runId: run.runId,
    stepId: stepId(run.runId, call.stepPath),
    stepName: call.stepName,
    turnIndex: call.turnIndex,
    toolCallId: toolCallId(run.runId, call.stepPath, call.turnIndex, call.callIndex),
    attempt: call.attempt,
    idempotencyKey: call.idempotencyKey,
    turnKey: turnKey(run.runId, call.stepPath, call.turnIndex),
    epoch: run.fence.epoch,
    signal: run.signal,
  };
}

export function inDoubt(toolCallId: string, tool: PreparedTool): ToolCallInDoubtError {
  return new ToolCallInDoubtError(
    `Call ${toolCallId} of tool ${tool.name} was running when its worker stopped, and nobody here knows whether it happened. It was not repeated: find out, and declare \`recovery: "keyed"\` or \`"repeat"\` on the tool if running it again is safe.`,
    { toolCallId, tool: tool.name, recovery: tool.recovery },
  );
}
