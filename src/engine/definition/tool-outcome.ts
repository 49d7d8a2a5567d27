import type { ReceiptStatus } from "../../core/call/tool-call-decision.ts";
import { isJsonObject, isStackOverflow, type Json, MAX_PAYLOAD_DEPTH, throughJson } from "../../core/json.ts";
import { sizeOf } from "../../core/json-schema-check.ts";
import type { ToolOutput } from "../../core/message.ts";
import type { SessionEvent } from "../../core/session-event.ts";
import type { ReceiptSource } from "../../store/store.ts";
import type { PreparedTool } from "./prepared-tool.ts";
import type { RunSecrets } from "./run-secrets.ts";

/** The outcome of a call, as its receipt stores it. */
export type ToolOutcome = {
  readonly status: ReceiptStatus;
  readonly output: ToolOutput;
  readonly errorCode: string | null;
  readonly uncertain: boolean;
  readonly source: ReceiptSource;
  readonly correlationId: string | null;
  readonly duplicateOf: string | null;
  /** The session events of the call. */
  readonly sessionEvents: readonly SessionEvent[];
};

const DEFAULTS = { source: "pawl", correlationId: null, duplicateOf: null, sessionEvents: [] } as const;

/** A call that was dispatched and has failed, with no further attempt. */
export function failed(
  errorCode: string,
  message: string,
  details: Pick<ToolOutcome, "uncertain"> & Partial<ToolOutcome>,
): ToolOutcome {
  const output = { type: "error-text", value: message } as const;
  return { ...DEFAULTS, status: "failed", output, errorCode, ...details };
}

/** A call that the provider ran, with the result that the provider reports. */
export function providerOutcome(status: "succeeded" | "failed", output: ToolOutput): ToolOutcome {
  const errorCode = status === "failed" ? "tool_error" : null;
  return { ...DEFAULTS, source: "tool", status, output, errorCode, uncertain: false };
}

/** A call in doubt that is reported to the model, which can look for the effect itself. */
export function unknownOutcome({ name, recovery }: PreparedTool, problem: string | null): ToolOutcome {
  const what =
    problem === null
      ? `${name} was interrupted, and it is unknown whether it happened`
      : `It is unknown whether ${name} happened: ${problem.replace(/\.$/, "")}`;
  const message = `${what}. Look for its effect before you ask for it again.`;
  return failed("unknown_outcome", message, { uncertain: recovery !== "repeat" });
}

/** A call that was never dispatched and never will be. */
export function cancelled(errorCode: string, message: string): ToolOutcome {
  const output = { type: "error-text", value: message } as const;
  return { ...DEFAULTS, status: "cancelled", output, errorCode, uncertain: false };
}

/** A call that succeeded. Its result is converted to JSON as for a model: dates become strings, `undefined` is dropped. */
export function succeeded(
  secrets: RunSecrets,
  tool: PreparedTool,
  result: unknown,
  correlationId: string | null,
  present: Presentation,
): ToolOutcome | Promise<ToolOutcome> {
  if (tool.output === null) return presented(secrets, tool, result, correlationId, present);
  return tool.output.parse(result).then(
    (parsed) =>
      parsed.ok
        ? presented(secrets, tool, parsed.value, correlationId, present)
        : unusable(
            tool,
            "invalid_output",
            `does not fit its schema (${secrets.hideText(parsed.error)})`,
            correlationId,
          ),
    (error: unknown) =>
      unusable(
        tool,
        "invalid_output",
        `cannot be checked (${isStackOverflow(error) ? "it is nested too deep" : secrets.hideText(errorText(error))})`,
        correlationId,
      ),
  );
}

/** Converts a result for the model; null: unchanged. */
export type Presentation = ((result: unknown) => ToolOutput | Promise<ToolOutput>) | null;

/** The result as the model sees it. The effect has already happened, so an error here is returned as an outcome, not thrown. */
function presented(
  secrets: RunSecrets,
  tool: PreparedTool,
  result: unknown,
  correlationId: string | null,
  present: Presentation,
): ToolOutcome | Promise<ToolOutcome> {
  const success = (output: ToolOutput): ToolOutcome => ({
    ...DEFAULTS,
    source: "tool",
    correlationId,
    status: "succeeded",
    errorCode: null,
    uncertain: false,
    output,
  });
  const notDone = (errorCode: string, how: string) => (error: unknown) => {
    const isTooLarge = error instanceof TooManyValues;
    const why = isTooLarge ? error.message : `${how} (${secrets.hideText(withoutDrawing(errorText(error)))})`;
    return unusable(tool, isTooLarge ? "result_too_large" : errorCode, why, correlationId);
  };
  if (present !== null)
    return shown(secrets, present, result).then(success, notDone("result_not_shown", "cannot be shown"));
  const notKept = notDone("result_not_json", "cannot be kept");
  try {
    const output = resultOf(secrets, result);
    return output instanceof Promise ? output.then(success, notKept) : success(output);
  } catch (error) {
    return notKept(error);
  }
}

async function shown(
  secrets: RunSecrets,
  present: NonNullable<Presentation>,
  result: unknown,
): Promise<ToolOutput> {
  assertFewValues(result);
  const { type, value } = await present(result);
  const json = keptJson(value);
  const hidden = await secrets.hideLarge(json);
  if (type === "content") return { type, value: withoutRedactedFiles(json, hidden) };
  if (type === "json") return { type, value: hidden };
  return { type, value: typeof hidden === "string" ? hidden : JSON.stringify(hidden) };
}

function resultOf(secrets: RunSecrets, value: unknown): ToolOutput | Promise<ToolOutput> {
  const type = typeof value === "string" ? "text" : "json";
  const kept = secrets.hideLarge(typeof value === "string" ? value.toWellFormed() : keptJson(value));
  const output = (hidden: Json) => ({ type, value: hidden }) as ToolOutput;
  return kept instanceof Promise ? kept.then(output) : output(kept);
}

/** Property names count too. Searching, writing and reading more than this takes noticeably longer than 0.1 seconds. */
const MAX_VALUES = 40_000;

/** The message completes a sentence that begins with "its result". */
class TooManyValues extends Error {
  constructor() {
    super(`has more than ${MAX_VALUES} names and values, which is the limit`);
  }
}

/** Checked before anything else walks the value. Values that are nested too deep are refused later. */
function assertFewValues(value: unknown): void {
  if (sizeOf(value as Json, MAX_VALUES, { levels: MAX_PAYLOAD_DEPTH, withKeys: true }) === null)
    throw new TooManyValues();
}

function keptJson(value: unknown): Json {
  assertFewValues(value);
  return throughJson(value, MAX_PAYLOAD_DEPTH);
}

/** Removes files in which a secret was replaced by a mark: they are corrupt, and no provider would accept them. */
function withoutRedactedFiles(whole: Json, hidden: Json): Json {
  if (!Array.isArray(hidden) || !Array.isArray(whole)) return hidden;
  return hidden.map((part: Json, index) => {
    const isText = isJsonObject(part) && part.type === "text";
    if (part === whole[index] || isText) return part;
    return { type: "text", text: "[A file in this result contained a secret and was removed.]" };
  });
}

/** The effect has happened, so repeating the call needs a person, unless its recovery is `repeat`. */
function unusable(
  { name, recovery }: PreparedTool,
  errorCode: string,
  why: string,
  correlationId: string | null,
): ToolOutcome {
  return failed(
    errorCode,
    `${name} ran, but its result ${why}. Its effect has happened: do not call it again for that.`,
    { uncertain: recovery !== "repeat", source: "tool", correlationId },
  );
}

/** The text of anything that was thrown. Never throws: a receipt depends on it. */
export function errorText(error: unknown): string {
  const content: unknown =
    error instanceof Error ? (error.message === "" ? error.name : error.message) : error;
  if (typeof content === "string") return content.toWellFormed();
  if (typeof content !== "object" || content === null) return String(content);
  try {
    return JSON.stringify(throughJson(content));
  } catch {
    return Object.prototype.toString.call(content);
  }
}

/** V8 draws the circle of a circular structure over several lines. */
function withoutDrawing(text: string): string {
  return text.replace(/\n\s+--> .*$/s, "");
}
