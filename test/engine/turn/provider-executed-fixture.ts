// A model whose provider runs a web search, and readers of what is stored and shown of it.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Content } from "@ai-sdk/provider";
import { agent, type Store } from "../../../src/index.ts";
import { must } from "../run-fixture.ts";

export const openai = createOpenAI({ apiKey: "none", baseURL: "http://127.0.0.1:9/v1" });
export const anthropic = createAnthropic({ apiKey: "none", baseURL: "http://127.0.0.1:9/v1" });
export const webSearch = openai.tools.webSearch({});

export type Prompt = LanguageModelV4CallOptions["prompt"];

/** A model whose answers are given part by part, as by a provider. */
function partsModel(script: readonly (readonly LanguageModelV4Content[])[]) {
  const asked: LanguageModelV4CallOptions[] = [];
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "parts",
    modelId: "parts-1",
    supportedUrls: {},
    doGenerate: (options) => {
      const { abortSignal: _, ...rest } = options;
      asked.push(structuredClone(rest));
      const turn = options.prompt.filter(({ role }) => role === "assistant").length;
      const content = [...must(script[turn])];
      const isAsking = content.some((part) => part.type === "tool-call" && part.providerExecuted !== true);
      return Promise.resolve({
        content,
        finishReason: { unified: isAsking ? "tool-calls" : "stop", raw: undefined },
        usage: {
          inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: 5, text: undefined, reasoning: undefined },
        },
        warnings: [],
      });
    },
    doStream: () => Promise.reject(new Error("Streaming is not used here.")),
  };
  return { model, asked };
}

export const searchCall: LanguageModelV4Content = {
  type: "tool-call",
  toolCallId: "ws_1",
  toolName: "web_search",
  input: JSON.stringify({ query: "pawl" }),
  providerExecuted: true,
};
export const found = { sources: [{ url: "https://example.com/" }] };
export const searchResult = (result: object, isError = false): LanguageModelV4Content => ({
  type: "tool-result",
  toolCallId: "ws_1",
  toolName: "web_search",
  result: result as never,
  ...(isError ? { isError } : {}),
});
export const search = [searchCall, searchResult(found)];
export const noting = (text: string): LanguageModelV4Content => ({
  type: "tool-call",
  toolCallId: `n-${text}`,
  toolName: "note",
  input: JSON.stringify({ text }),
});
export const says = (text: string): LanguageModelV4Content => ({ type: "text", text });

export function searcher(
  script: readonly (readonly LanguageModelV4Content[])[],
  tools: NonNullable<Parameters<typeof agent>[0]["tools"]> = { web_search: webSearch },
) {
  const { model, asked } = partsModel(script);
  return { asked, searcher: agent({ name: "searcher", instructions: "You search.", model, tools }) };
}

/** A store that keeps no receipts with a response. */
export function withoutReceipts(store: Store): Store {
  return new Proxy(store, {
    get: (target, name: keyof Store) => {
      if (name === "journalResponse")
        return (...[fence, journal]: Parameters<Store["journalResponse"]>) =>
          target.journalResponse(fence, { ...journal, receipts: [] });
      const member: unknown = target[name];
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

/** The tool result parts of a request, in any message. */
export function resultsIn(prompt: Prompt | undefined) {
  return must(prompt).flatMap(({ role, content }) =>
    typeof content === "string"
      ? []
      : content.filter(({ type }) => type === "tool-result").map((part) => ({ role, part })),
  );
}
