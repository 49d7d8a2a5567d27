// The messages of a conversation on their way to the provider: converted once, and as the AI SDK converts them.

import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import type { ModelExtras } from "../../../src/adapters/ai-sdk/ai-sdk-call-options.ts";
import { loadAiSdk } from "../../../src/adapters/ai-sdk/ai-sdk-package.ts";
import { plainMessage } from "../../../src/adapters/ai-sdk/ai-sdk-prompt.ts";
import type { AssistantPart } from "../../../src/core/message.ts";
import type { RequestMessage as Message } from "../../../src/engine/ports/model-port.ts";
import { agent, openStore, Runner, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { failureOf, requestOf, sendMail } from "./model-request.ts";
import { figures } from "./streaming-model.ts";

const ai = await loadAiSdk();

/** A model that says "ok" and remembers its requests; `change` is a middleware that changes them. */
function remembering(
  change: (call: LanguageModelV4CallOptions) => void = () => undefined,
  extras: ModelExtras = {},
) {
  const prompts: string[] = [];
  const mock = new MockLanguageModelV4({
    doGenerate: async (call) => {
      prompts.push(JSON.stringify([call.prompt, call.tools, call.headers, call.providerOptions]));
      change(call);
      return {
        content: [{ type: "text", text: "ok" }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: figures,
        warnings: [],
      };
    },
  });
  return { mock, prompts, port: aiSdkModel(mock, extras) };
}

const called = (...ids: string[]): Message => ({
  role: "assistant",
  content: ids.map((toolCallId) => ({
    type: "tool-call",
    toolCallId,
    toolName: "shop.search",
    input: { n: 1 },
  })),
});
const result = (toolCallId: string): Message => ({
  role: "tool",
  content: [
    {
      type: "tool-result",
      toolCallId,
      toolName: "shop.search",
      output: { type: "json", value: { hits: [1] } },
    },
  ],
});
const asked: Message = { role: "user", content: "Search." };
const picture: Message = {
  role: "tool",
  content: [
    {
      type: "tool-result",
      toolCallId: "1",
      toolName: "shop.search",
      output: {
        type: "content",
        value: [
          { type: "file", mediaType: "image/png", data: { type: "url", url: "https://pictures.test/1.png" } },
        ],
      },
    },
  ],
};

afterEach(() => vi.restoreAllMocks());

describe("a message of a conversation", () => {
  it("needs no call of generateText over many turns, beyond one for the settings", async () => {
    const look = tool({
      description: "Looks.",
      inputSchema: z.object({}),
      effect: "read_only",
      execute: () => "seen",
    });
    let calls = 0;
    const standIns = vi.fn();
    const scripted = scriptedModel(() =>
      ++calls === 12 ? { text: "Done." } : { toolCalls: [{ name: "look", input: {} }] },
    );
    // A stand-in has the addresses that the model supports.
    const model = Object.defineProperty(scripted, "supportedUrls", { get: () => (standIns(), {}) });
    const store = await openStore(":memory:");
    await new Runner(agent({ name: "a", model, tools: { look } }), { store }).run("Go.");
    await store.close();

    expect(calls).toBe(12);
    expect(standIns).toHaveBeenCalledTimes(1);
  });

  it("has another form for another set of tool names", async () => {
    const { mock, port } = remembering();
    const messages = [asked, called("1"), result("1")];
    const shop = { ...sendMail, name: "shop.search" };
    const namesSent = async (...tools: (typeof sendMail)[]) => {
      await port.respond(requestOf({ messages, tools }));
      return JSON.stringify(mock.doGenerateCalls.at(-1)?.prompt).match(/shop.search/g);
    };

    expect(await namesSent(shop, sendMail)).toEqual(["shop.search", "shop.search"]);
    expect(await namesSent(sendMail)).toEqual(["shop_search", "shop_search"]);
    expect(await namesSent(sendMail, shop)).toEqual(["shop.search", "shop.search"]);
    expect(await namesSent(sendMail)).toEqual(["shop_search", "shop_search"]);
  });

  it("is refused every time if the AI SDK cannot send it", async () => {
    const { mock, port } = remembering();
    const unknown = { role: "user", content: [{ type: "smell", of: "roses" }] } as unknown as Message;
    for (let turn = 0; turn < 2; turn++) {
      const failure = await failureOf(port, requestOf({ messages: [asked, unknown] }));
      expect(failure.message).toContain("message 2 (user) holds something");
      expect(failure.details.kind).toBe("not_sent");
    }
    expect(mock.doGenerateCalls).toHaveLength(0);
  });

  it("has its file downloaded once, if the model cannot load it", async () => {
    const download = vi.fn(async (files: readonly { url: URL }[]) =>
      files.map(() => ({ data: new Uint8Array([1, 2, 3]), mediaType: "image/png" })),
    );
    const { mock, port } = remembering(() => undefined, { download });
    const request = requestOf({ messages: [asked, called("1"), picture] });
    await port.respond(request);
    await port.respond(request);
    expect(download.mock.calls.filter(([files]) => files.length > 0)).toHaveLength(1);
    for (const { prompt } of mock.doGenerateCalls)
      expect(prompt.at(-1)).toMatchObject({
        content: [{ output: { value: [{ data: { type: "data", data: new Uint8Array([1, 2, 3]) } }] } }],
      });
  });

  it("is not changed for later requests by a middleware that changes the prompt", async () => {
    const { prompts, port } = remembering((call) => {
      deface(call.prompt);
      deface(call.tools);
      deface(call.headers);
      deface(call.providerOptions);
    });
    const messages = [asked, called("1", "2"), result("1"), result("2")];
    const before = JSON.stringify(messages);
    const settings = { maxOutputTokens: 9, providerOptions: { fake: { tier: { n: 1 } } } };
    const request = requestOf({ messages, settings, tools: [sendMail] });
    for (let turn = 0; turn < 3; turn++) await port.respond(request);
    expect(prompts[0]).toContain("Search.");
    expect(new Set(prompts).size).toBe(1);
    expect(JSON.stringify(messages)).toBe(before);
  });
});

/** Changes every list and text in a value. The schema of a tool is left out: the SDK shares it, too. */
function deface(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) deface(item);
    value.push("more");
    return;
  }
  for (const [name, item] of Object.entries(value)) {
    if (name === "inputSchema") continue;
    deface(item);
    if (typeof item !== "object") Reflect.set(value, name, "changed");
  }
  Reflect.set(value, "added", true);
}

describe("a conversation that cannot be sent", () => {
  it.each([
    ["without messages", [], "messages must not be empty"],
    ["with a call that has no result", [asked, called("1", "2"), result("1")], "2"],
    ["with one that has its result too late", [asked, called("1"), asked, result("1")], "1"],
  ])("%s is refused before anything is sent", async (_, messages, problem) => {
    const { mock, port } = remembering();
    const failure = await failureOf(port, requestOf({ messages }));
    expect(failure.details.kind).toBe("not_sent");
    expect(failure.message).toContain(problem);
    expect(mock.doGenerateCalls).toHaveLength(0);
  });
});

describe("what Pawl converts itself", () => {
  const options = fc.option(fc.dictionary(fc.string(), fc.dictionary(fc.string(), fc.jsonValue())), {
    nil: undefined,
  });
  const withOptions = <T extends object>(part: fc.Arbitrary<T>) =>
    fc
      .tuple(part, options)
      .map(([given, providerOptions]) =>
        providerOptions === undefined ? given : { ...given, providerOptions },
      );
  const words = fc.oneof(fc.constant(""), fc.string());
  const parts = fc.array(
    fc.oneof(
      withOptions(fc.record({ type: fc.constantFrom("text", "reasoning"), text: words })),
      withOptions(
        fc.record({
          type: fc.constant("tool-call"),
          toolCallId: fc.constantFrom("a", "b", "c"),
          toolName: fc.constantFrom("search", "no such.tool"),
          input: fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue())),
        }),
      ),
    ),
    { maxLength: 4 },
  );
  const output = fc.oneof(
    fc.record({ type: fc.constant("json"), value: fc.jsonValue() }),
    fc.record({ type: fc.constantFrom("text", "error-text"), value: words }),
  );
  const turn = fc
    .tuple(words, parts, fc.array(output, { minLength: 3, maxLength: 3 }))
    .map(([said, content, outputs]): Message[] => [
      { role: "user", content: said },
      { role: "assistant", content: content as AssistantPart[] },
      ...outputs
        .map((each, index) => ({ toolCallId: ["a", "b", "c"][index] ?? "", each }))
        .filter(({ toolCallId }) =>
          content.some((part) => "toolCallId" in part && part.toolCallId === toolCallId),
        )
        .map(
          ({ toolCallId, each }): Message => ({
            role: "tool",
            content: [{ type: "tool-result", toolCallId, toolName: "search", output: each as never }],
          }),
        ),
    ]);
  const conversation = fc.array(turn, { minLength: 1, maxLength: 3 }).map((turns) => turns.flat());

  /** As `generateText` sends it. */
  async function sentBySdk(messages: readonly Message[]): Promise<LanguageModelV4Prompt> {
    const { mock } = remembering();
    const shown = messages.map((message) => ai.modelMessageSchema.parse(sendable(message)));
    await ai.generateText({ model: mock, instructions: "You are a test.", messages: shown, maxRetries: 0 });
    return mock.doGenerateCalls[0]?.prompt ?? [];
  }

  /** Names and arguments are Pawl's own rule, which the SDK does not have. */
  function sendable(message: Message): unknown {
    if (message.role !== "assistant") return message;
    const content = message.content.map((part) =>
      part.type !== "tool-call"
        ? part
        : {
            ...part,
            toolName: part.toolName === "no such.tool" ? "no_such_tool" : part.toolName,
            input:
              typeof part.input === "object" && part.input !== null && !Array.isArray(part.input)
                ? part.input
                : { invalid_arguments: part.input },
          },
    );
    return { ...message, content };
  }

  it("is what the AI SDK makes of it, and it converts all that a conversation holds", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (messages) => {
        // The SDK's schema drops keys of this name, which no provider has; Pawl sends them as they came.
        fc.pre(!JSON.stringify(messages).includes("__proto__"));
        for (const message of messages) expect(plainMessage(message, new Set(["search"]))).not.toBeNull();
        const { mock, port } = remembering();
        await port.respond(requestOf({ messages, tools: [{ ...sendMail, name: "search" }] }));
        // Without the members that are undefined.
        const own = JSON.parse(JSON.stringify(mock.doGenerateCalls[0]?.prompt));
        expect(own).toEqual(JSON.parse(JSON.stringify(await sentBySdk(messages))));
      }),
      { numRuns: 60 },
    );
  });
});
