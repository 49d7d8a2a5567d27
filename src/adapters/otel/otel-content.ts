import type { Attributes } from "@opentelemetry/api";
import type { Json } from "../../core/json.ts";
import { type AssistantPart, isTextPart, type Message, type ToolOutput } from "../../core/message.ts";
import type { SpanFacts, SpanStart } from "../../engine/ports/telemetry-port.ts";

/** The maximum length of one attribute: many backends drop a span that is much larger. */
const MOST_CHARACTERS = 32_768;

/** The input of a model or a tool, in the format of the conventions. */
export function inputContent(start: SpanStart): Attributes {
  if (start.kind === "tool") return attributesOf({ "gen_ai.tool.call.arguments": whole(start.input) });
  if (start.kind !== "chat") return {};
  return attributesOf({
    "gen_ai.system_instructions": whole([{ type: "text", content: start.instructions }]),
    "gen_ai.input.messages": newest(start.messages.map(messageOf)),
  });
}

/** The output of a model or a tool. */
export function outputContent(start: SpanStart, { output, finishReason }: SpanFacts): Attributes {
  if (output === undefined) return {};
  if (start.kind === "tool") return attributesOf({ "gen_ai.tool.call.result": whole(output) });
  if (start.kind !== "chat") return {};
  const parts = Array.isArray(output) ? (output as readonly AssistantPart[]).map(partOf) : [output];
  const message = {
    role: "assistant",
    parts,
    ...(finishReason === undefined ? {} : { finish_reason: finishReason }),
  };
  return attributesOf({ "gen_ai.output.messages": whole([message]) });
}

type ContentJson = { readonly json: string; readonly isCut: boolean };

function attributesOf(contents: { readonly [name: string]: ContentJson }): Attributes {
  const texts = Object.entries(contents).map(([name, { json }]) => [name, json] as const);
  const isCut = Object.values(contents).some((content) => content.isCut);
  return { ...Object.fromEntries(texts), ...(isCut ? { "pawl.content.cut": true } : {}) };
}

/** A value that is too long becomes one JSON string with its beginning. */
function whole(value: Json): ContentJson {
  const json = jsonOf(value);
  if (json.length <= MOST_CHARACTERS) return { json, isCut: false };
  const rest = json.length - MOST_CHARACTERS;
  return {
    json: JSON.stringify(`${json.slice(0, MOST_CHARACTERS)}… and ${rest} more characters`),
    isCut: true,
  };
}

/** The last messages, which this turn adds: the earlier ones are in the spans of earlier turns. */
function newest(messages: readonly Json[]): ContentJson {
  const kept: string[] = [];
  let length = 0;
  for (const message of messages.toReversed()) {
    const json = jsonOf(message);
    length += json.length + 1;
    if (length > MOST_CHARACTERS) break;
    kept.unshift(json);
  }
  const last = messages.at(-1);
  if (kept.length === 0 && last !== undefined) return whole([last]);
  return { json: `[${kept.join(",")}]`, isCut: kept.length < messages.length };
}

/** A custom port may return a value that JSON cannot represent. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

function messageOf({ role, content }: Message): Json {
  if (typeof content === "string") return { role, parts: [{ type: "text", content }] };
  return { role, parts: content.map((part) => partOf(part as AssistantPart)) };
}

/** Parts that the conventions do not define are left as they are. */
function partOf(part: AssistantPart): Json {
  if (isTextPart(part)) return { type: "text", content: part.text };
  switch (part.type) {
    case "reasoning":
      return { type: "reasoning", content: part.text ?? "" };
    case "tool-call":
      return {
        type: "tool_call",
        id: part.toolCallId ?? null,
        name: part.toolName ?? "",
        arguments: part.input ?? null,
      };
    case "tool-result":
      return { type: "tool_call_response", id: part.toolCallId ?? null, response: responseOf(part.output) };
    default:
      return part;
  }
}

function responseOf(output: Json | undefined): Json {
  return (output as ToolOutput | undefined)?.value ?? null;
}
