import { z } from "zod";
import type { ReceiptStatus } from "../../core/call/tool-call-decision.ts";
import { isJsonObject, isStackOverflow, type Json, MAX_PAYLOAD_DEPTH, throughJson } from "../../core/json.ts";
import { sizeOf } from "../../core/json-schema-check.ts";
import type { ToolOutput } from "../../core/message.ts";
import type { SessionEvent } from "../../core/session-event.ts";
import type { ReceiptSource } from "../../store/store.ts";
import type { PreparedTool } from "./prepared-tool.ts";
import type { RunSecrets } from "./run-secrets.ts";

/** What becomes a receipt. */
export type ToolOutcome = {
  readonly status: ReceiptStatus;
  readonly output: ToolOutput;
  readonly errorCode: string | null;
  readonly uncertain: boolean;
  readonly source: ReceiptSource;
  readonly correlationId: string | null;
  readonly duplicateOf: string | null;
  /** What the call tells the session. */
  readonly sessionEvents: readonly SessionEvent[];
};

const NOTHING_MORE = { source: "pawl", correlationId: null, duplicateOf: null, sessionEvents: [] } as const;

/** A call that was dispatched and has failed for good. */
export function failed(
  errorCode: string,
  message: string,
  details: Pick<ToolOutcome, "uncertain"> & Partial<ToolOutcome>,
): ToolOutcome {
  const output = { type: "error-text", value: message } as const;
  return { ...NOTHING_MORE, status: "failed", output, errorCode, ...details };
}

/** A call that the provider ran, with the result that the provider reports. */
export function providerOutcome(status: "succeeded" | "failed", output: ToolOutput): ToolOutcome {
  const errorCode = status === "failed" ? "tool_error" : null;
  return { ...NOTHING_MORE, source: "tool", status, output, errorCode, uncertain: false };
}

/** A call in doubt that the model is told of, so that it can look for itself. */
export function unknownOutcome({ name, recovery }: PreparedTool, problem: string | null): ToolOutcome {
  const what =
    problem === null
      ? `${name} was interrupted, and nobody knows whether it happened`
      : `Nobody knows whether ${name} happened: ${problem.replace(/\.$/, "")}`;
  const message = `${what}. Look for its effect before you ask for it again.`;
  return failed("unknown_outcome", message, { uncertain: recovery !== "repeat" });
}

/** A call that never was dispatched, and will not be. */
export function cancelled(errorCode: string, message: string): ToolOutcome {
  const output = { type: "error-text", value: message } as const;
  return { ...NOTHING_MORE, status: "cancelled", output, errorCode, uncertain: false };
}

/** A result goes through JSON, as it would on its way to a model: dates become strings, `undefined` is dropped. */
export function succeeded(
  secrets: RunSecrets,
  tool: PreparedTool,
  result: unknown,
  correlationId: string | null,
  present: Presentation,
): ToolOutcome | Promise<ToolOutcome> {
  if (tool.output === null) return presented(secrets, tool, result, correlationId, present);
  return tool.output.safeParseAsync(result).then(
    (parsed) =>
      parsed.success
        ? presented(secrets, tool, parsed.data, correlationId, present)
        : unusable(
            tool,
            "invalid_output",
            `does not fit its schema (${secrets.hideText(z.prettifyError(parsed.error))})`,
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

/** How a result is to be shown; null: as it is. */
export type Presentation = ((result: unknown) => ToolOutput | Promise<ToolOutput>) | null;

/** As the tool itself shows it to the model. The effect was had by then, so whatever goes wrong here is told, and not thrown. */
function presented(
  secrets: RunSecrets,
  tool: PreparedTool,
  result: unknown,
  correlationId: string | null,
  present: Presentation,
): ToolOutcome | Promise<ToolOutcome> {
  const success = (output: ToolOutput): ToolOutcome => ({
    ...NOTHING_MORE,
    source: "tool",
    correlationId,
    status: "succeeded",
    errorCode: null,
    uncertain: false,
    output,
  });
  const notDone = (errorCode: string, how: string) => (error: unknown) => {
    const isTooLarge = error instanceof TooManyValues;
    const why = isTooLarge ? error.message : `${how} (${secrets.hideText(errorText(error))})`;
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
  if (type === "content") return { type, value: withoutTornFiles(json, hidden) };
  if (type === "json") return { type, value: hidden };
  return { type, value: typeof hidden === "string" ? hidden : JSON.stringify(hidden) };
}

function resultOf(secrets: RunSecrets, value: unknown): ToolOutput | Promise<ToolOutput> {
  const type = typeof value === "string" ? "text" : "json";
  const kept = secrets.hideLarge(typeof value === "string" ? value.toWellFormed() : keptJson(value));
  const output = (hidden: Json) => ({ type, value: hidden }) as ToolOutput;
  return kept instanceof Promise ? kept.then(output) : output(kept);
}

/** Names count as well. More are searched, written and read in more than the tenth of a second that nobody misses. */
const MOST_VALUES = 40_000;

/** The end of a sentence that begins with a result. */
class TooManyValues extends Error {
  constructor() {
    super(`has more than ${MOST_VALUES} names and values, which is the most`);
  }
}

/** Before anything else looks at them. What lies too deep is refused by what does. */
function assertFewValues(value: unknown): void {
  if (sizeOf(value as Json, MOST_VALUES, { levels: MAX_PAYLOAD_DEPTH, withKeys: true }) === null)
    throw new TooManyValues();
}

function keptJson(value: unknown): Json {
  assertFewValues(value);
  return throughJson(value, MAX_PAYLOAD_DEPTH);
}

/** A file with a mark in the middle of it is none, and no model would be asked with it. */
function withoutTornFiles(whole: Json, hidden: Json): Json {
  if (!Array.isArray(hidden) || !Array.isArray(whole)) return hidden;
  return hidden.map((part: Json, index) => {
    const isText = isJsonObject(part) && part.type === "text";
    if (part === whole[index] || isText) return part;
    return { type: "text", text: "[A file that is a part of this result held a secret, and is left out.]" };
  });
}

/** It has had its effect, so the same again needs a person, unless it may be repeated at will. */
function unusable(
  { name, recovery }: PreparedTool,
  errorCode: string,
  why: string,
  correlationId: string | null,
): ToolOutcome {
  return failed(
    errorCode,
    `${name} ran, but its result ${why}. It has had its effect: do not call it again for that.`,
    { uncertain: recovery !== "repeat", source: "tool", correlationId },
  );
}

/** In words, whatever it was: a receipt depends on it. */
export function errorText(error: unknown): string {
  const said: unknown = error instanceof Error ? (error.message === "" ? error.name : error.message) : error;
  if (typeof said === "string") return said.toWellFormed();
  if (typeof said !== "object" || said === null) return String(said);
  try {
    return JSON.stringify(throughJson(said));
  } catch {
    return Object.prototype.toString.call(said);
  }
}
