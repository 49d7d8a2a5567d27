import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import { canonicalJson } from "../../../src/core/canonical-json.ts";
import { ConfigurationError } from "../../../src/core/errors.ts";
import type { RequestMessage as Message } from "../../../src/engine/ports/model-port.ts";
import { answer, FakeOpenAiServer } from "./fake-openai-server.ts";
import { API_KEY, failureOf, openAiModel, requestOf, sendMail } from "./model-request.ts";

let server: FakeOpenAiServer;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
});

afterEach(async () => {
  await server.close();
  vi.unstubAllEnvs();
  globalThis.AI_SDK_DEFAULT_PROVIDER = undefined;
  globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = undefined;
});

const model = () => aiSdkModel(openAiModel(server.baseUrl));

const mockUsage = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 6, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};

describe("a response", () => {
  it("has the text, the usage and the provider's id", async () => {
    server.next(
      answer({
        text: "Hello",
        id: "chatcmpl-42",
        usage: {
          prompt_tokens: 20,
          completion_tokens: 9,
          prompt_tokens_details: { cached_tokens: 8 },
          completion_tokens_details: { reasoning_tokens: 4 },
        },
      }),
    );

    expect(await model().respond(requestOf())).toEqual({
      content: [{ type: "text", text: "Hello" }],
      finishReason: "stop",
      usage: { inputTokens: 20, outputTokens: 9, cachedInputTokens: 8, reasoningTokens: 4 },
      invalidCalls: {},
      responseId: "chatcmpl-42",
    });
  });

  it("has no usage if the provider reported none, rather than a usage of zero", async () => {
    server.next(answer({ text: "Hello", usage: null }));
    expect((await model().respond(requestOf())).usage).toBeNull();
  });

  it("has zeros for the parts that the provider does not report", async () => {
    server.next(answer({ text: "Hello", usage: { prompt_tokens: 3, completion_tokens: 2 } }));
    expect((await model().respond(requestOf())).usage).toEqual({
      inputTokens: 3,
      outputTokens: 2,
      cachedInputTokens: 0,
      reasoningTokens: 0,
    });
  });

  it("has no id if the provider gave none, rather than one that the SDK made up", async () => {
    server.next(answer({ text: "Hello", id: null }));
    expect((await model().respond(requestOf())).responseId).toBeNull();
  });

  it("has the calls with their parsed input, and is JSON that can be stored", async () => {
    server.next(
      answer({
        text: "On it.",
        toolCalls: [{ id: "c1", name: "send_mail", arguments: { to: " ann@x.org " } }],
      }),
    );

    const response = await model().respond(requestOf({ tools: [sendMail] }));

    expect(response.content).toEqual([
      { type: "text", text: "On it." },
      { type: "tool-call", toolCallId: "c1", toolName: "send_mail", input: { to: "ann@x.org" } },
    ]);
    expect(response).toMatchObject({ finishReason: "tool-calls", invalidCalls: {} });
    expect(() => canonicalJson(response.content)).not.toThrow();
  });

  it("is JSON that can be stored even if the model wrote half a surrogate pair", async () => {
    server.next(
      answer({
        text: "half \ud83d",
        toolCalls: [{ id: "c1", name: "send_mail", arguments: '{"to":"\\ud83d"}' }],
      }),
    );

    const response = await model().respond(requestOf({ tools: [sendMail] }));

    expect(response.content).toHaveLength(2);
    expect(() => canonicalJson(response.content)).not.toThrow();
  });
});

describe("a request", () => {
  it("carries instructions, settings, tools and the output cap", async () => {
    server.next(answer("ok"));
    await model().respond(
      requestOf({
        tools: [sendMail],
        settings: {
          maxOutputTokens: 77,
          temperature: 0.5,
          topP: 0.9,
          seed: 7,
          stopSequences: ["END"],
          reasoning: "low",
          providerOptions: { fake: { service_tier: "flex" } },
        },
      }),
    );

    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.path).toBe("/v1/chat/completions");
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${API_KEY}`);
    expect(server.requests[0]?.body).toMatchObject({
      model: "fake-model",
      max_tokens: 77,
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      stop: ["END"],
      reasoning_effort: "low",
      service_tier: "flex",
      messages: [
        { role: "system", content: "You are a test." },
        { role: "user", content: "Hello" },
      ],
      tools: [
        {
          type: "function",
          function: { name: "send_mail", description: "Sends one mail.", parameters: sendMail.inputSchema },
        },
      ],
    });
  });

  it("leaves out instructions, tools and response format if there are none", async () => {
    server.next(answer("ok"));
    await model().respond(requestOf({ instructions: "" }));
    expect(server.lastMessages).toEqual([{ role: "user", content: "Hello" }]);
    expect(server.requests[0]?.body).not.toHaveProperty("tools");
    expect(server.requests[0]?.body).not.toHaveProperty("response_format");
  });

  it("converts a whole conversation to the provider's messages, including results of each kind", async () => {
    const call = (toolCallId: string) => ({
      type: "tool-call",
      toolCallId,
      toolName: "send_mail",
      input: { to: "a" },
    });
    const messages: Message[] = [
      { role: "user", content: "Write to three people" },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm" },
          { type: "text", text: "Yes." },
          call("c1"),
          call("c2"),
          call("c3"),
        ],
      },
      ...(
        [
          ["c1", { type: "json", value: { sent: true } }],
          ["c2", { type: "text", value: "sent" }],
          ["c3", { type: "error-text", value: "no such address" }],
        ] as const
      ).map(
        ([toolCallId, output]): Message => ({
          role: "tool",
          content: [{ type: "tool-result", toolCallId, toolName: "send_mail", output }],
        }),
      ),
      { role: "assistant", content: [{ type: "text", text: "Two of three." }] },
      { role: "user", content: "Thanks" },
    ];
    server.next(answer("ok"));

    await model().respond(requestOf({ messages, tools: [sendMail] }));

    const wireCall = (id: string) => ({
      id,
      type: "function",
      function: { name: "send_mail", arguments: '{"to":"a"}' },
    });
    expect(server.lastMessages).toEqual([
      { role: "system", content: "You are a test." },
      { role: "user", content: "Write to three people" },
      {
        role: "assistant",
        content: "Yes.",
        reasoning_content: "hm",
        tool_calls: [wireCall("c1"), wireCall("c2"), wireCall("c3")],
      },
      { role: "tool", tool_call_id: "c1", content: '{"sent":true}' },
      { role: "tool", tool_call_id: "c2", content: "sent" },
      { role: "tool", tool_call_id: "c3", content: "no such address" },
      { role: "assistant", content: "Two of three." },
      { role: "user", content: "Thanks" },
    ]);
  });

  it("sends back what a provider needs with its reasoning", async () => {
    const signed = { anthropic: { signature: "sig-1" } };
    const mock = new MockLanguageModelV4({
      doGenerate: {
        content: [
          { type: "reasoning", text: "hm", providerMetadata: signed },
          { type: "text", text: "Hello" },
        ],
        finishReason: { unified: "stop", raw: "stop" },
        usage: mockUsage,
        warnings: [],
      },
    });
    const port = aiSdkModel(mock);

    const { content } = await port.respond(requestOf());
    const again: Message[] = [
      { role: "user", content: "Hello" },
      { role: "assistant", content: JSON.parse(JSON.stringify(content)) },
      { role: "user", content: "And?" },
    ];
    await port.respond(requestOf({ messages: again }));

    expect(mock.doGenerateCalls[1]?.prompt[2]).toMatchObject({
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", providerOptions: signed },
        { type: "text", text: "Hello" },
      ],
    });
  });

  it("is not sent if the conversation has a part that the SDK does not know", async () => {
    const messages: Message[] = [
      { role: "user", content: "Hello" },
      { role: "assistant", content: [{ type: "hologram", depth: 3 }] },
    ];
    const failure = await failureOf(model(), requestOf({ messages }));
    expect(failure.details).toMatchObject({ kind: "not_sent", retryable: false });
    expect(failure.message).toContain("message 2 (assistant)");
    expect(server.requests).toHaveLength(0);
  });

  it("is not sent with a reasoning level or provider options that the SDK does not accept", async () => {
    const odd = await failureOf(
      model(),
      requestOf({ settings: { maxOutputTokens: 1, reasoning: "extreme" } }),
    );
    expect(odd.details.kind).toBe("not_sent");
    expect(odd.message).toContain('"extreme"');
    const flat = await failureOf(
      model(),
      requestOf({ settings: { maxOutputTokens: 1, providerOptions: { fake: 1 } } }),
    );
    expect(flat.message).toContain("providerOptions.fake");
    expect(server.requests).toHaveLength(0);
  });

  it("reaches no telemetry of the SDK", async () => {
    const onStart = vi.fn();
    globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = [{ onStart }];
    server.next(answer("ok"));
    await model().respond(requestOf());
    expect(onStart).not.toHaveBeenCalled();
  });
});

describe("structured output", () => {
  const outputSchema = {
    type: "object",
    properties: { n: { type: "number" } },
    required: ["n"],
    additionalProperties: false,
  };

  it("is requested with its schema", async () => {
    server.next(answer('{"n":1}'));
    const { content } = await model().respond(requestOf({ outputSchema }));
    expect(content).toEqual([{ type: "text", text: '{"n":1}' }]);
    expect(server.requests[0]?.body.response_format).toMatchObject({
      type: "json_schema",
      json_schema: { schema: outputSchema },
    });
  });

  it.each(['{"n":"one"}', "I would rather not."])(
    "passes %s through unchecked: the engine validates it",
    async (text) => {
      server.next(answer(text));
      const { content } = await model().respond(requestOf({ outputSchema }));
      expect(content).toEqual([{ type: "text", text }]);
    },
  );
});

describe("the model", () => {
  it("is identified by provider and model id", () => {
    expect(model()).toMatchObject({ provider: "fake.chat", modelId: "fake-model" });
    expect(aiSdkModel("anthropic/some-model")).toMatchObject({
      provider: "gateway",
      modelId: "anthropic/some-model",
    });
  });

  it("may be named by an id of the SDK's default provider", async () => {
    globalThis.AI_SDK_DEFAULT_PROVIDER = createOpenAICompatible({ name: "house", baseURL: server.baseUrl });
    const port = aiSdkModel("house-model");
    expect(port).toMatchObject({ provider: "house.chat", modelId: "house-model" });
    server.next(answer("ok"));
    await port.respond(requestOf());
    expect(server.requests[0]?.body.model).toBe("house-model");
  });

  it("is refused at once if it was made for an older SDK", () => {
    const old = { specificationVersion: "v1", provider: "old", modelId: "m" };
    // @ts-expect-error -- plain JavaScript, or a provider of an older major version, may pass this
    expect(() => aiSdkModel(old)).toThrow(ConfigurationError);
  });
});
