import { ConfigurationError } from "../../core/errors.ts";
import { isTool, type Tool } from "./tool.ts";

/** A tool of another library, such as `tool({ … })` of the AI SDK, as far as the types of `ctx.call` need to know it. */
export interface ForeignTool<A = never, O = unknown> {
  readonly inputSchema: unknown;
  readonly execute: (input: A, options: never) => AsyncIterable<O> | PromiseLike<O> | O;
}

/** What a tool of another library does not say itself. */
export type ForeignCall = {
  /** Its name in the ledger; calls with a receipt are found under it. Its effect is derived from it. */
  readonly name: string;
  /** The `context` of an AI SDK tool. */
  readonly context?: unknown;
};

type Converter = (tool: object, call: ForeignCall) => Tool;

let convert: Converter | null = null;

/** Called by the adapter of the library when it is loaded: the engine does not import adapters. */
export function convertForeignTools(converter: Converter): void {
  convert = converter;
}

/** The tool that `ctx.call` calls. */
export function calledTool(given: unknown, { name, context }: Partial<ForeignCall> = {}): Tool {
  if (isTool(given)) return given;
  if (convert === null || typeof given !== "object" || given === null || !("inputSchema" in given))
    throw new ConfigurationError(
      "ctx.call was given something that is not a tool: give it a tool({ … }) of Pawl or of the AI SDK.",
    );
  if (typeof name !== "string" || name === "")
    throw new ConfigurationError(
      'ctx.call was given an AI SDK tool, which has no name for its receipt: call it as ctx.call(tool, input, { name: "…" }).',
    );
  return { ...convert(given, { name, context }), name };
}
