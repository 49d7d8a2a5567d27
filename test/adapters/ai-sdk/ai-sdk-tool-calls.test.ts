// Calls in a model's response: those that cannot be run, and the ids of all.

import { MockLanguageModelV4 } from "ai/test";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import { toolCallsOf } from "../../../src/core/message.ts";
import { answer, FakeOpenAiServer } from "./fake-openai-server.ts";
import { openAiModel, requestOf, sendMail } from "./model-request.ts";

let server: FakeOpenAiServer;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
});

afterEach(async () => {
  await server.close();
});

const model = () => aiSdkModel(openAiModel(server.baseUrl));

const mockUsage = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 6, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};

describe("a tool call that cannot be run", () => {
  it("with arguments that do not fit is returned with the tool's own message, not as an error", async () => {
    server.next(answer({ toolCalls: [{ id: "c1", name: "send_mail", arguments: { cc: "ann" } }] }));

    const response = await model().respond(requestOf({ tools: [sendMail] }));

    expect(response.invalidCalls).toEqual({
      c1: 'The argument "to" is missing: give the address as a string.',
    });
    // One part: the SDK's own error result is not included.
    expect(response.content).toEqual([
      { type: "tool-call", toolCallId: "c1", toolName: "send_mail", input: { cc: "ann" } },
    ]);
  });

  it("of an unknown tool is returned with the names of the existing ones", async () => {
    server.next(
      answer({
        toolCalls: [
          { id: "c1", name: "send_fax", arguments: {} },
          { id: "c2", name: "send_mail", arguments: { to: "a" } },
        ],
      }),
    );

    const response = await model().respond(requestOf({ tools: [sendMail] }));

    expect(response.invalidCalls).toEqual({ c1: 'There is no tool "send_fax". The tools are: send_mail.' });
    expect(response.content).toHaveLength(2);
  });

  it("without any offered tools is an unknown tool as well", async () => {
    server.next(answer({ toolCalls: [{ id: "c1", name: "send_fax", arguments: {} }] }));
    const response = await model().respond(requestOf());
    expect(response.invalidCalls).toEqual({ c1: 'There is no tool "send_fax". No tools are available.' });
  });

  it("with malformed arguments keeps the model's text, and is sent back to the provider as an object", async () => {
    const broken = '{"to": "ann@x.org", "body": "Dear';
    server.next(answer({ toolCalls: [{ id: "c1", name: "send_mail", arguments: broken }] }), answer("ok"));
    const port = model();

    const { content, invalidCalls } = await port.respond(requestOf({ tools: [sendMail] }));

    expect(content).toEqual([{ type: "tool-call", toolCallId: "c1", toolName: "send_mail", input: broken }]);
    expect(invalidCalls.c1).toMatch(
      /^The arguments of "send_mail" are not valid JSON \(Unterminated string.*\)\. Call it again/,
    );

    await port.respond(
      requestOf({
        tools: [sendMail],
        messages: [
          { role: "user", content: "Hello" },
          { role: "assistant", content },
          {
            role: "tool",
            content: [
              {
                type: "tool-result",
                toolCallId: "c1",
                toolName: "send_mail",
                output: { type: "error-text", value: invalidCalls.c1 ?? "" },
              },
            ],
          },
        ],
      }),
    );

    expect(server.lastMessages.slice(2)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          {
            id: "c1",
            type: "function",
            function: { name: "send_mail", arguments: JSON.stringify({ invalid_arguments: broken }) },
          },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: invalidCalls.c1 },
    ]);
  });

  it("with a name that providers refuse is sent back under one that they accept", async () => {
    server.next(
      answer({ toolCalls: [{ id: "c1", name: "functions.send mail", arguments: {} }] }),
      answer("ok"),
    );
    const port = model();
    const { content } = await port.respond(requestOf({ tools: [sendMail] }));
    expect(content).toMatchObject([{ toolName: "functions.send mail" }]);

    await port.respond(
      requestOf({
        tools: [sendMail],
        messages: [
          { role: "user", content: "Hello" },
          { role: "assistant", content },
          {
            role: "tool",
            content: [
              {
                type: "tool-result",
                toolCallId: "c1",
                toolName: "functions.send mail",
                output: { type: "text", value: "no" },
              },
            ],
          },
        ],
      }),
    );

    expect(server.lastMessages[2]).toMatchObject({
      tool_calls: [{ function: { name: "functions_send_mail" } }],
    });
  });
});

describe("call ids", () => {
  it("that the provider repeats are made unique, and no call is lost", async () => {
    const twice = answer({
      toolCalls: [
        { id: "same", name: "send_mail", arguments: { to: "ann" } },
        { id: "same", name: "send_mail", arguments: { to: "bob" } },
        { id: "same", name: "send_mail", arguments: { cc: "eve" } },
      ],
    });
    server.next(twice, twice);

    const first = await model().respond(requestOf({ tools: [sendMail] }));
    const second = await model().respond(requestOf({ tools: [sendMail] }));

    expect(first.content.map((part) => part.input)).toEqual([{ to: "ann" }, { to: "bob" }, { cc: "eve" }]);
    const ids = toolCallsOf(first.content).map((call) => call.toolCallId);
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe("same");
    expect(ids[1]).toMatch(/^[a-z0-9]{9}$/);
    expect(Object.keys(first.invalidCalls)).toEqual([ids[2]]);
    expect(second.content).toEqual(first.content);
  });

  it("that the provider leaves empty are filled in, always in the same way", async () => {
    const mock = new MockLanguageModelV4({
      doGenerate: async () => ({
        content: ["ann", "bob"].map((to) => ({
          type: "tool-call",
          toolCallId: "",
          toolName: "send_mail",
          input: JSON.stringify({ to }),
        })),
        finishReason: { unified: "tool-calls", raw: "tool_calls" },
        usage: mockUsage,
        warnings: [],
      }),
    });
    const port = aiSdkModel(mock);

    const first = await port.respond(requestOf({ tools: [sendMail] }));
    const ids = first.content.map((part) => part.toolCallId);

    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain("");
    expect(first.usage).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      cachedInputTokens: 6,
      reasoningTokens: 2,
    });
    expect(await port.respond(requestOf({ tools: [sendMail] }))).toEqual(first);
  });
});
