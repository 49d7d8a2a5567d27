import type { Tool as AiSdkTool } from "ai";
import { isJsonObject, type Json } from "../../core/json.ts";
import type { ToolOutput } from "../../core/message.ts";
import { plainJson } from "../../core/plain-json.ts";
import type { ShownResult, Tool } from "../../engine/definition/tool.ts";

type ToModelOutput = NonNullable<AiSdkTool["toModelOutput"]>;
type SdkOutput = Awaited<ReturnType<ToModelOutput>>;

/** Shows a result to the model as the AI SDK tool's `toModelOutput` defines it. */
export function presentationOf(toModelOutput: ToModelOutput): NonNullable<Tool["present"]> {
  return async ({ toolCallId, input, result }: ShownResult) =>
    storedOutput(await toModelOutput({ toolCallId, input, output: result }));
}

/** In the format of a receipt, which has one kind of error; a denial is one. */
function storedOutput(output: SdkOutput): ToolOutput {
  switch (output.type) {
    case "text":
    case "error-text":
      return { type: output.type, value: output.value };
    case "json":
      return { type: "json", value: plainJson(output.value) ?? null };
    case "error-json":
      return { type: "error-text", value: JSON.stringify(output.value) };
    case "execution-denied":
      return { type: "error-text", value: output.reason ?? "It was not allowed to run." };
    case "content":
      return { type: "content", value: output.value.map((part) => plainJson(withTexts(part)) ?? null) };
  }
}

type ContentPart = Extract<SdkOutput, { type: "content" }>["value"][number];
type FilePart = Extract<ContentPart, { type: "file" }>;

/** Bytes and URLs as strings, since a receipt is JSON. */
function withTexts(part: ContentPart): unknown {
  if (!isFile(part)) return part;
  const { data } = part;
  if (data.type === "url") return { ...part, data: { ...data, url: data.url.href } };
  if (data.type === "data") return { ...part, data: { ...data, data: base64(data.data) } };
  return part;
}

function isFile(part: { readonly type: string }): part is FilePart {
  return part.type === "file";
}

function base64(data: string | Uint8Array | ArrayBuffer): string {
  if (typeof data === "string") return data;
  return (data instanceof ArrayBuffer ? Buffer.from(data) : Buffer.from(data)).toString("base64");
}

/** A stored result in the SDK's format, in which a URL is an object. */
export function sendableOutput(output: ToolOutput): unknown {
  if (output.type !== "content" || !Array.isArray(output.value)) return output;
  return { type: "content", value: output.value.map(withAddress) };
}

function withAddress(part: Json): unknown {
  if (!isJsonObject(part) || !isJsonObject(part.data)) return part;
  const { type, url } = part.data;
  return type === "url" && typeof url === "string" ? { ...part, data: { type, url: new URL(url) } } : part;
}
