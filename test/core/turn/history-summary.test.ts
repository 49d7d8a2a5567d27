import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/core/message.ts";
import { conversationText, summaryProblem } from "../../../src/core/turn/history-summary.ts";

describe("a conversation as a text", () => {
  it("has every message, call and result, and not the bytes of files", () => {
    const result = (output: Extract<Message, { role: "tool" }>["content"][0]["output"]): Message => ({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "1", toolName: "look", output }],
    });
    const messages: readonly Message[] = [
      { role: "system", content: "... [Context Truncated: 2 messages omitted] ..." },
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "file", blobId: "00", size: 4, mediaType: "image/png", filename: "cat.png" },
          { type: "file", blobId: "01", size: 4, mediaType: "image/png" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm." },
          { type: "text", text: "I look." },
          { type: "tool-call", toolCallId: "1", toolName: "look", input: { at: 1 } },
        ],
      },
      result({ type: "json", value: { seen: true } }),
      result({ type: "error-text", value: "It is dark." }),
      result({
        type: "content",
        value: [{ type: "text", text: "A cat." }, { type: "image-data", data: "AAAA" }, 7],
      }),
    ];
    expect(conversationText(messages).split("\n\n")).toEqual([
      "system: ... [Context Truncated: 2 messages omitted] ...",
      'user: Look.\n[file "cat.png" (image/png)]\n[a file of type image/png]',
      'assistant: I look.\n(calls look with {"at":1})',
      'result of look: {"seen":true}',
      "result of look: It is dark.",
      "result of look: A cat.\n(image-data)\n7",
    ]);
  });
});

describe("a summary", () => {
  const draft = { text: "Sum.", finishReason: "stop", tokens: 5, atTokens: 10 };
  it.each([
    [{}, null],
    [{ finishReason: null }, null],
    [{ finishReason: "unknown" }, null],
    [{ text: "\n" }, /empty/],
    [{ finishReason: "length" }, /maxOutputTokens/],
    [{ finishReason: "error" }, /"error"/],
    [{ tokens: 6 }, /6 tokens, more than half of atTokens \(10\)/],
  ])("with %j is judged", (over, expected) => {
    const problem = summaryProblem({ ...draft, ...over });
    if (expected === null) expect(problem).toBeNull();
    else expect(problem).toMatch(expected);
  });
});
