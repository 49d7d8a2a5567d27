import { throughJson } from "../core/json.ts";
import type { ToolOutput } from "../core/message.ts";
import type { ReceiptStatus } from "../core/tool-call-decision.ts";
import type { ReceiptSource } from "../store/store.ts";
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
};

const NOTHING_MORE = { source: "pawl", correlationId: null, duplicateOf: null } as const;

/** A call that was dispatched and has failed for good. */
export function failed(
  errorCode: string,
  message: string,
  uncertain: boolean,
  more: Partial<ToolOutcome> = {},
): ToolOutcome {
  const output = { type: "error-text", value: message } as const;
  return { ...NOTHING_MORE, status: "failed", output, errorCode, uncertain, ...more };
}

/** A call that never was dispatched, and will not be. */
export function cancelled(errorCode: string, message: string): ToolOutcome {
  const output = { type: "error-text", value: message } as const;
  return { ...NOTHING_MORE, status: "cancelled", output, errorCode, uncertain: false };
}

/** A result goes through JSON, as it would on its way to a model: dates become strings, `undefined` is dropped. */
export async function succeeded(
  secrets: RunSecrets,
  { name, output, recovery }: PreparedTool,
  result: unknown,
  correlationId: string | null,
): Promise<ToolOutcome> {
  const more = { source: "tool", correlationId } as const;
  // It has had its effect, so the same again needs a person, unless it may be repeated at will.
  const unusable = (code: string, why: string) =>
    failed(
      code,
      `${name} ran, but its result ${why}. It has had its effect: do not call it again for that.`,
      recovery !== "repeat",
      more,
    );
  const done = { ...NOTHING_MORE, ...more, status: "succeeded", errorCode: null, uncertain: false } as const;
  try {
    const parsed = await output?.safeParseAsync(result);
    if (parsed?.success === false)
      return unusable("invalid_output", `does not fit its schema (${parsed.error.message})`);
    const value = parsed === undefined ? result : parsed.data;
    if (typeof value === "string")
      return { ...done, output: { type: "text", value: secrets.hideText(value.toWellFormed()) } };
    return { ...done, output: { type: "json", value: secrets.hide(throughJson(value)) } };
  } catch (error) {
    return unusable("result_not_json", `cannot be kept (${secrets.hideText(errorText(error))})`);
  }
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
