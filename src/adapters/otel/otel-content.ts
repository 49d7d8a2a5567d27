import type { Attributes } from "@opentelemetry/api";
import type { Json } from "../../core/json.ts";
import { type AssistantPart, isTextPart, type Message, type ToolOutput } from "../../core/message.ts";
import type { SpanFacts, SpanStart } from "../../engine/ports/telemetry-port.ts";

/** The most characters of one attribute: many backends drop a span that is much larger. */
const MOST_CHARACTERS = 32_768;

/** What goes into a model or a tool, as the conventions write it. */
export function inputContent(start: SpanStart): Attributes {
  if (start.kind === "tool") return attributesOf({ "gen_ai.tool.call.arguments": whole(start.input) });
  if (start.kind !== "chat") return {};
  return attributesOf({
    "gen_ai.system_instructions": whole([{ type: "text", content: start.instructions }]),
    "gen_ai.input.messages": newest(start.messages.map(messageOf)),
  });
}

/** What came out of it. */
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

type Content = { readonly json: string; readonly isCut: boolean };

function attributesOf(contents: { readonly [name: string]: Content }): Attributes {
  const texts = Object.entries(contents).map(([name, { json }]) => [name, json] as const);
  const isCut = Object.values(contents).some((content) => content.isCut);
  return { ...Object.fromEntries(texts), ...(isCut ? { "pawl.content.cut": true } : {}) };
}

/** What is too long is a JSON text all the same: one string with the beginning of it. */
function whole(value: Json): Content {
  const json = jsonOf(value);
  if (json.length <= MOST_CHARACTERS) return { json, isCut: false };
  const rest = json.length - MOST_CHARACTERS;
  return {
    json: JSON.stringify(`${json.slice(0, MOST_CHARACTERS)}… and ${rest} more characters`),
    isCut: true,
  };
}

/** A long conversation is in the spans of its earlier turns: the last messages are those that this turn adds. */
function newest(messages: readonly Json[]): Content {
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

/** A port of one's own may bring what JSON has no word for. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

function messageOf({ role, content }: Message): Json {
  if (typeof content === "string") return { role, parts: [{ type: "text", content }] };
  return { role, parts: content.map((part) => partOf(part as AssistantPart)) };
}

/** Parts that the conventions have no word for are left as they are. */
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
