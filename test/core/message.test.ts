import { describe, expect, it } from "vitest";
import {
  type AssistantPart,
  isTextPart,
  isToolCallPart,
  textOf,
  toolCallsOf,
} from "../../src/core/message.ts";

const SEARCH = { type: "tool-call", toolCallId: "1", toolName: "search", input: { query: "pawl" } };
const SEND = { type: "tool-call", toolCallId: "2", toolName: "send", input: {} };
const BY_PROVIDER = { ...SEARCH, toolCallId: "3", providerExecuted: true };
const CONTENT: readonly AssistantPart[] = [
  { type: "reasoning", text: "thinking" },
  { type: "text", text: "One moment" },
  SEARCH,
  BY_PROVIDER,
  { type: "text", text: ", please." },
  SEND,
];

describe("the parts of a response", () => {
  it("textOf joins the model's texts, without its reasoning", () => {
    expect(textOf(CONTENT)).toBe("One moment, please.");
    expect(textOf([])).toBe("");
  });

  it("toolCallsOf returns the calls that Pawl has to run, in order", () => {
    expect(toolCallsOf(CONTENT)).toEqual([SEARCH, SEND]);
  });

  it("a call that the provider runs itself is not included", () => {
    expect(isToolCallPart(BY_PROVIDER)).toBe(false);
    expect(isToolCallPart({ ...SEARCH, providerExecuted: false })).toBe(true);
  });

  it("a text part has a text", () => {
    expect(isTextPart({ type: "text" })).toBe(false);
    expect(isTextPart({ type: "text", text: "" })).toBe(true);
  });
});
