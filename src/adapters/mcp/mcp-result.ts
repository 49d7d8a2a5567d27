import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import type { Json, JsonObject } from "../../core/json.ts";
import type { ToolOutput } from "../../core/message.ts";
import type { ShownResult } from "../../engine/definition/tool.ts";

/** The content of results that hold more than text: the model sees the content, code gets the result. */
const contentOf = new WeakMap<object, readonly ContentBlock[]>();

/** The result of a call, for code: the structured content if there is any, else the text, else all parts. */
export function resultOf({ content, structuredContent }: CallToolResult): unknown {
  const isText = content.every(({ type }) => type === "text");
  const result: unknown = structuredContent ?? (isText ? textOf(content) : content);
  if (!isText && typeof result === "object" && result !== null) contentOf.set(result, content);
  return result;
}

/** The result as the model sees it: images and the like as such, in the AI SDK's format. */
export function shownResult({ result }: ShownResult): ToolOutput {
  const content = typeof result === "object" && result !== null ? contentOf.get(result) : undefined;
  if (content !== undefined) return { type: "content", value: content.map(shownPart) };
  if (typeof result === "string") return { type: "text", value: result };
  return { type: "json", value: result as Json };
}

/** The message of an error result. */
export function errorTextOf({ content, structuredContent }: CallToolResult): string {
  const text = textOf(content);
  if (text !== "") return text;
  return structuredContent === undefined ? "it gave no details" : JSON.stringify(structuredContent);
}

function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function shownPart(part: ContentBlock): Json {
  switch (part.type) {
    case "text":
      return textPart(part.text);
    case "image":
    case "audio":
      return filePart(part.data, part.mimeType);
    case "resource_link":
      return textPart(`${part.title ?? part.name}: ${part.uri}`);
    case "resource":
      return "text" in part.resource
        ? textPart(part.resource.text)
        : filePart(part.resource.blob, part.resource.mimeType ?? "application/octet-stream");
  }
}

function textPart(text: string): JsonObject {
  return { type: "text", text };
}

function filePart(data: string, mediaType: string): JsonObject {
  return { type: "file", data: { type: "data", data }, mediaType };
}
