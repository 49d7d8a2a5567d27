// What a streamed answer becomes, and what is heard of it on the way.

import type {
  LanguageModelV2,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import type { LivePart } from "../../../src/core/turn/live-part.ts";
import { answer, FakeOpenAiServer } from "./fake-openai-server.ts";
import { failureOf, openAiModel, requestOf, sendMail } from "./model-request.ts";
import { call, figures, finish, heard, streaming, streamOf, text } from "./streaming-model.ts";

const tools = [sendMail];
const signed = { anthropic: { signature: "sig-1" } };
const reasoning: LanguageModelV4StreamPart[] = [
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: "Mail " },
  { type: "reasoning-delta", id: "r", delta: "Ann." },
  { type: "reasoning-end", id: "r", providerMetadata: signed },
];

/** The texts of all parts, put together from what was heard. */
function together(live: readonly LivePart[]): string[] {
  const texts: string[] = [];
  for (const { part, delta } of live) texts[part] = (texts[part] ?? "") + delta;
  return texts;
}

describe("a streamed answer", () => {
  it("is the answer that a whole request would have had", async () => {
    const { port } = streaming([
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", id: "resp-1" },
      ...reasoning,
      ...text("On", " it."),
      ...call("c1", "send_mail", '{"to":', '" ann@x.org "}'),
      finish("tool-calls"),
    ]);
    const { response, live } = await heard(port, { tools });

    expect(response).toEqual({
      content: [
        { type: "reasoning", text: "Mail Ann.", providerOptions: signed },
        { type: "text", text: "On it." },
        { type: "tool-call", toolCallId: "c1", toolName: "send_mail", input: { to: "ann@x.org" } },
      ],
      finishReason: "tool-calls",
      usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 6, reasoningTokens: 2 },
      invalidCalls: {},
      responseId: "resp-1",
    });
    expect(live).toEqual([
      { part: 0, kind: "reasoning", delta: "Mail " },
      { part: 0, kind: "reasoning", delta: "Ann." },
      { part: 0, kind: "reasoning", delta: "", end: true },
      { part: 1, kind: "text", delta: "On" },
      { part: 1, kind: "text", delta: " it." },
      { part: 1, kind: "text", delta: "", end: true },
      { part: 2, kind: "tool_input", tool: "send_mail", toolCallId: "c1", delta: '{"to":' },
      { part: 2, kind: "tool_input", tool: "send_mail", toolCallId: "c1", delta: '" ann@x.org "}' },
      { part: 2, kind: "tool_input", tool: "send_mail", toolCallId: "c1", delta: "", end: true },
    ]);
  });

  it("is put together from texts that come in turns, in the order in which they began", async () => {
    const delta = (id: string, piece: string) => ({ type: "text-delta", id, delta: piece }) as const;
    const { port } = streaming([
      { type: "text-start", id: "a" },
      { type: "text-start", id: "b" },
      delta("b", "2"),
      delta("a", "1"),
      delta("b", "2"),
      finish(),
    ]);
    const { response, live } = await heard(port);
    expect(response.content.map((part) => part.text)).toEqual(["1", "22"]);
    expect(together(live)).toEqual(["1", "22"]);
  });

  it("has calls with unique ids, and they are the ones that were heard", async () => {
    const { port } = streaming([
      ...call("same", "send_mail", '{"to":"ann"}'),
      ...call("same", "send_mail", '{"to":', '"bob"}'),
      { type: "tool-call", toolCallId: "", toolName: "send_mail", input: '{"to":"eve"}' },
      finish("tool-calls"),
    ]);
    const { response, live } = await heard(port, { tools });
    const ids = response.content.map(({ toolCallId }) => toolCallId);
    expect(new Set(ids).size).toBe(3);
    expect(ids).not.toContain("");
    expect([...new Set(live.map(({ toolCallId }) => toolCallId))]).toEqual(ids);
    expect(together(live)).toEqual(['{"to":"ann"}', '{"to":"bob"}', '{"to":"eve"}']);
  });

  it("has the calls that cannot be run, for the model", async () => {
    const { port } = streaming([...call("c1", "send_mail", '{"cc":', '"ann"}'), finish("tool-calls")]);
    const { response } = await heard(port, { tools });
    expect(response.invalidCalls).toEqual({
      c1: 'The argument "to" is missing: give the address as a string.',
    });
  });

  it("has the call that was cut off with it, for the model", async () => {
    const { port } = streaming([...call("c1", "send_mail", '{"to":"a'), finish("length")]);
    const { response } = await heard(port, { tools });
    expect(response.invalidCalls.c1).toContain("were cut off");
  });

  it("has the files and the results of the provider's own tools", async () => {
    const { port } = streaming([
      { type: "tool-input-start", id: "s", toolName: "search", providerExecuted: true, dynamic: true },
      {
        type: "tool-call",
        toolCallId: "s",
        toolName: "search",
        input: "{}",
        providerExecuted: true,
        dynamic: true,
      },
      { type: "tool-result", toolCallId: "s", toolName: "search", result: { hits: 0 }, preliminary: true },
      { type: "tool-result", toolCallId: "s", toolName: "search", result: { hits: 2 } },
      { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2]) } },
      { type: "source", sourceType: "url", id: "1", url: "https://example.com/" },
      ...text("Two."),
      finish(),
    ]);
    expect((await heard(port)).response.content).toEqual([
      { type: "tool-call", toolCallId: "s", toolName: "search", input: {}, providerExecuted: true },
      {
        type: "tool-result",
        toolCallId: "s",
        toolName: "search",
        output: { type: "json", value: { hits: 2 } },
      },
      { type: "file", data: "AQI=", mediaType: "image/png" },
      { type: "text", text: "Two." },
    ]);
  });

  it("is not used if it exceeds the limit of one answer, and is not read to its end", async () => {
    const megabyte = "x".repeat(1_000_000);
    const { port } = streaming(text(megabyte, megabyte, megabyte).slice(0, -1), "open");
    const failure = await failureOf(port, requestOf(), () => undefined);
    expect(failure.message).toContain("more than 2000000 characters");
  });

  it("is empty if it has only the news that it began, as Anthropic sends it", async () => {
    const { port } = streaming([
      { type: "custom", kind: "anthropic.message_start", providerMetadata: { anthropic: { id: "msg_1" } } },
      finish(),
    ]);
    const failure = await failureOf(port, requestOf(), () => undefined);
    expect(failure.message).toContain("answered with neither text nor a tool call");
  });

  it("does not depend on who listens: an error there is the end of the listening only", async () => {
    const live = vi.fn(() => {
      throw new Error("The disk is full.");
    });
    const { port } = streaming([...text("Hel", "lo"), finish()]);
    const { content } = await port.respond(requestOf(), live);
    expect(content).toEqual([{ type: "text", text: "Hello" }]);
    expect(live).toHaveBeenCalledTimes(1);
  });
});

const earlier = { provider: "earlier", modelId: "m", supportedUrls: {} };

/** A model of AI SDK 5, which streams this text. */
function version2(said: string, finishReason: "stop" | "unknown"): LanguageModelV2 {
  const parts: LanguageModelV2StreamPart[] = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: said },
    { type: "text-end", id: "t" },
    { type: "finish", finishReason, usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } },
  ];
  return {
    ...earlier,
    specificationVersion: "v2",
    doGenerate: () => Promise.reject(new Error("It streams.")),
    doStream: async () => ({
      stream: ReadableStream.from(parts),
    }),
  };
}

describe("a model", () => {
  beforeEach(() => {
    globalThis.AI_SDK_LOG_WARNINGS = false;
  });
  afterEach(() => {
    globalThis.AI_SDK_LOG_WARNINGS = undefined;
  });

  it("is asked for a whole answer if nobody listens", async () => {
    const { mock, port } = streaming([]);
    mock.doGenerate = async () => ({
      content: [{ type: "text", text: "Whole." }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: figures,
      warnings: [],
    });
    expect((await port.respond(requestOf())).content).toEqual([{ type: "text", text: "Whole." }]);
    expect(mock.doStreamCalls).toHaveLength(0);
  });

  it("of an earlier version streams too", async () => {
    const v3: LanguageModelV3 = {
      ...earlier,
      specificationVersion: "v3",
      doGenerate: () => Promise.reject(new Error("It streams.")),
      // Its parts are the same for texts.
      doStream: async () => ({ stream: streamOf([...text("Hello"), finish()]) as ReadableStream<never> }),
    };
    for (const model of [version2("Hello", "stop"), v3])
      expect((await heard(aiSdkModel(model))).response).toMatchObject({
        content: [{ type: "text", text: "Hello" }],
        finishReason: "stop",
      });
  });

  it("of version 2 has no answer in a stream that ends for an unknown reason, as one that was cut does", async () => {
    const failure = await failureOf(aiSdkModel(version2("Hel", "unknown")), requestOf(), () => undefined);
    expect(failure.details).toMatchObject({ kind: "no_answer", retryable: true });
  });

  it("gets the same request in a stream as without one, with the SDK's user agent", async () => {
    const server = await FakeOpenAiServer.start();
    server.next(answer("ok"), answer("ok"));
    const port = aiSdkModel(openAiModel(server.baseUrl), { headers: { "x-team": "ops" } });
    const request = requestOf({
      tools,
      settings: { maxOutputTokens: 7, providerOptions: { fake: { tier: 1 } } },
    });
    await port.respond(request);
    await failureOf(port, request, () => undefined);
    await server.close();
    const [whole, streamed] = server.requests.map(({ body }) => body);
    expect(streamed).toEqual({ ...whole, stream: true });
    for (const { headers } of server.requests) {
      expect(headers["user-agent"]).toMatch(/^ai\/7\.\d+\.\d+ /);
      expect(headers["x-team"]).toBe("ops");
    }
  });
});

describe("a warning of the provider", () => {
  it("is reported as the SDK reports it, once and not in every turn", async () => {
    const log = vi.fn();
    globalThis.AI_SDK_LOG_WARNINGS = log;
    const warnings = [{ type: "unsupported", feature: "seed" }] as const;
    const port = aiSdkModel(
      new MockLanguageModelV4({
        provider: "p",
        modelId: "m",
        doGenerate: async () => ({
          content: [{ type: "text", text: "ok" }],
          finishReason: { unified: "stop", raw: "stop" },
          usage: figures,
          warnings: [...warnings],
        }),
      }),
    );
    await port.respond(requestOf());
    await port.respond(requestOf());
    globalThis.AI_SDK_LOG_WARNINGS = undefined;
    expect(log).toHaveBeenCalledExactlyOnceWith({ warnings, provider: "p", model: "m" });
  });
});
