import type { CallToolResult } from "@modelcontextprotocol/client";
import { modelMessageSchema } from "ai";
import { expect, it } from "vitest";
import { errorTextOf, resultOf, shownResult } from "../../../src/adapters/mcp/mcp-result.ts";

const shown = (result: unknown) => shownResult({ toolCallId: "c", input: {}, result });
const text = (content: string) => ({ type: "text", text: content }) as const;

it("Texts become one text, and structured content stays unchanged", () => {
  expect(resultOf({ content: [text("a"), text("b")] })).toBe("a\nb");
  expect(shown("a\nb")).toEqual({ type: "text", value: "a\nb" });
  expect(resultOf({ content: [] })).toBe("");
  const structured = resultOf({ content: [text('{"a":1}')], structuredContent: { a: 1 } });
  expect(structured).toEqual({ a: 1 });
  expect(shown(structured)).toEqual({ type: "json", value: { a: 1 } });
});

const MIXED: CallToolResult["content"] = [
  text("Look:"),
  { type: "image", data: "aW1n", mimeType: "image/png" },
  { type: "audio", data: "YXVk", mimeType: "audio/wav" },
  { type: "resource", resource: { uri: "file:///a.txt", text: "inside" } },
  { type: "resource", resource: { uri: "file:///a.bin", blob: "Ymlu" } },
  { type: "resource_link", uri: "file:///b.txt", name: "b" },
];

it("Images, audio and resources are shown as such, in the AI SDK's format", () => {
  const result = resultOf({ content: MIXED });
  expect(result).toEqual(MIXED);
  const output = shown(result);
  const file = (data: string, mediaType: string) => ({
    type: "file",
    data: { type: "data", data },
    mediaType,
  });
  expect(output).toEqual({
    type: "content",
    value: [
      text("Look:"),
      file("aW1n", "image/png"),
      file("YXVk", "audio/wav"),
      text("inside"),
      file("Ymlu", "application/octet-stream"),
      text("b: file:///b.txt"),
    ],
  });
  const part = { type: "tool-result", toolCallId: "c", toolName: "look", output };
  expect(modelMessageSchema.safeParse({ role: "tool", content: [part] }).success).toBe(true);
});

it("Code gets the structured content of an image, and the model sees the image", () => {
  const result = resultOf({ content: MIXED.slice(0, 2), structuredContent: { width: 1 } });
  expect(result).toEqual({ width: 1 });
  expect(shown(result)).toMatchObject({ type: "content", value: [text("Look:"), { type: "file" }] });
});

it("An error has the text or the structured content of the result", () => {
  expect(errorTextOf({ content: [text("No"), text("way")] })).toBe("No\nway");
  expect(errorTextOf({ content: [], structuredContent: { code: 7 } })).toBe('{"code":7}');
  expect(errorTextOf({ content: [] })).toBe("it gave no details");
});
