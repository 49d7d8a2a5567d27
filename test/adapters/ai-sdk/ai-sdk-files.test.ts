// Files of users through the packages of real providers, against a server on this machine: what arrives there.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "../../../src/core/json.ts";
import { agent, conversation, Runner, type UserMessage } from "../../../src/index.ts";
import { memoryStore } from "../../engine/run-fixture.ts";
import { FakeOpenAiServer, raw } from "./fake-openai-server.ts";
import { API_KEY, openAiModel } from "./model-request.ts";

const PICTURE = Buffer.from("\x89PNG\r\n\x1a\n a small cat", "latin1");
const PDF = Buffer.from("%PDF-1.4 a small invoice");
const [picture, pdf] = [PICTURE.toString("base64"), PDF.toString("base64")];

const MESSAGE: UserMessage = {
  parts: [
    { type: "text", text: "What is this?" },
    { type: "file", mediaType: "image/png", data: PICTURE, filename: "cat.png" },
    { type: "file", mediaType: "application/pdf", data: pdf, filename: "invoice.pdf" },
  ],
};

type Provider = {
  readonly name: string;
  readonly modelAt: (baseUrl: string) => Exclude<LanguageModel, string>;
  readonly answer: JsonObject;
  /** Where the messages are in a request. */
  readonly field: "messages" | "input";
  readonly sent: readonly JsonObject[];
};

const PROVIDERS: readonly Provider[] = [
  {
    name: "an OpenAI-compatible server",
    modelAt: (baseUrl) => openAiModel(baseUrl),
    answer: {
      id: "c-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "A cat." }, finish_reason: "stop" }],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    },
    field: "messages",
    sent: [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } },
      { type: "file", file: { filename: "invoice.pdf", file_data: `data:application/pdf;base64,${pdf}` } },
    ],
  },
  {
    name: "Anthropic",
    modelAt: (baseURL) => createAnthropic({ baseURL, apiKey: API_KEY })("claude-sonnet-4-5"),
    answer: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude",
      content: [{ type: "text", text: "A cat." }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 2 },
    },
    field: "messages",
    sent: [
      { type: "text", text: "What is this?" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: picture } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf } },
    ],
  },
  {
    name: "OpenAI",
    modelAt: (baseURL) => createOpenAI({ baseURL, apiKey: API_KEY })("gpt-5.2"),
    answer: {
      id: "resp_1",
      created_at: 1,
      model: "m",
      output: [
        {
          type: "message",
          id: "m-1",
          role: "assistant",
          content: [{ type: "output_text", text: "A cat.", annotations: [] }],
        },
      ],
      usage: { input_tokens: 5, output_tokens: 2 },
    },
    field: "input",
    sent: [
      { type: "input_text", text: "What is this?" },
      { type: "input_image", image_url: `data:image/png;base64,${picture}` },
      { type: "input_file", filename: "invoice.pdf", file_data: `data:application/pdf;base64,${pdf}` },
    ],
  },
];

describe.each(PROVIDERS)("a picture and a PDF for $name", ({ modelAt, answer, field, sent }) => {
  it("arrive as base64, and again with the next message", async () => {
    const server = await FakeOpenAiServer.start();
    onTestFinished(() => server.close());
    const ok = raw(200, JSON.stringify(answer), { "content-type": "application/json" });
    server.next(ok, ok);
    const clerk = agent({ name: "clerk", model: modelAt(server.baseUrl), instructions: "Look." });
    const runner = new Runner(conversation(clerk), { store: await memoryStore() });
    await runner.send("chat", MESSAGE, { orStart: {} });
    const { conversation: first } = await runner.resume("chat", { wait: true });
    expect(first?.answer).toBe("A cat.");
    await runner.send("chat", "Sure?");
    await runner.resume("chat", { wait: true });
    expect(server.requests).toHaveLength(2);
    for (const { body } of server.requests) {
      const messages = body[field] as readonly { readonly role: string; readonly content: unknown }[];
      expect(messages.find(({ role }) => role === "user")?.content).toMatchObject(sent);
    }
  });
});
