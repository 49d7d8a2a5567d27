// The message that replaces omitted ones, as each provider sends it.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { RequestMessage as Message } from "../../../src/engine/ports/model-port.ts";
import { answer, FakeOpenAiServer, raw } from "./fake-openai-server.ts";
import { API_KEY, openAiModel, requestOf } from "./model-request.ts";

const PLACEHOLDER = "... [Context Truncated: 4 messages omitted] ...";
const MESSAGES: readonly Message[] = [
  { role: "user", content: "Begin" },
  { role: "system", content: PLACEHOLDER },
  { role: "assistant", content: [{ type: "text", text: "Half done." }] },
  { role: "user", content: "Do" },
];

let server: FakeOpenAiServer;
beforeEach(async () => {
  server = await FakeOpenAiServer.start();
  onTestFinished(() => server.close());
});

const openai = () => createOpenAI({ baseURL: server.baseUrl, apiKey: API_KEY });
const anthropic = (modelId: string) => createAnthropic({ baseURL: server.baseUrl, apiKey: API_KEY })(modelId);

/** The body and the headers of the one request. */
async function sent(
  model: Exclude<LanguageModel, string>,
  body: JsonObject | null,
  instructions = "You are a test.",
) {
  server.next(body === null ? answer("ok") : raw(200, JSON.stringify(body)));
  await aiSdkModel(model).respond(requestOf({ messages: MESSAGES, instructions }));
  const [request] = server.requests;
  if (request === undefined) throw new Error("Nothing was sent.");
  return request;
}

const ofAnthropic: JsonObject = {
  type: "message",
  id: "msg-1",
  model: "claude",
  role: "assistant",
  content: [{ type: "text", text: "ok" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 11, output_tokens: 7 },
};
const ofResponses: JsonObject = {
  id: "resp-1",
  object: "response",
  created_at: 1,
  model: "gpt-4o",
  status: "completed",
  output: [
    {
      type: "message",
      id: "msg-1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "ok", annotations: [] }],
    },
  ],
  usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
};

const asText = { role: "user", content: [{ type: "text", text: `Begin\n\n${PLACEHOLDER}` }] };

describe("the placeholder for omitted messages", () => {
  it.each([
    { modelId: "gpt-4o", role: "system" },
    { modelId: "gpt-5", role: "developer" },
  ])("is a $role message in a chat with $modelId of OpenAI", async ({ modelId, role }) => {
    const { body } = await sent(openai().chat(modelId), null);
    expect(body.messages).toEqual([
      { role, content: "You are a test." },
      { role: "user", content: "Begin" },
      { role, content: PLACEHOLDER },
      { role: "assistant", content: "Half done." },
      { role: "user", content: "Do" },
    ]);
  });

  it("is a system message in a response of OpenAI", async () => {
    const { body } = await sent(openai().responses("gpt-4o"), ofResponses);
    expect(body.input).toMatchObject([
      { role: "system", content: "You are a test." },
      { role: "user" },
      { role: "system", content: PLACEHOLDER },
      { role: "assistant" },
      { role: "user" },
    ]);
  });

  it("is text for an OpenAI-compatible server, whose templates may refuse it", async () => {
    const { body } = await sent(openAiModel(server.baseUrl), null);
    expect(body.messages).toEqual([
      { role: "system", content: "You are a test." },
      { role: "user", content: `Begin\n\n${PLACEHOLDER}` },
      { role: "assistant", content: "Half done." },
      { role: "user", content: "Do" },
    ]);
  });

  it("is a system message for the models of Anthropic that accept one", async () => {
    const { body } = await sent(anthropic("claude-opus-4-8"), ofAnthropic);
    expect(body.system).toEqual([{ type: "text", text: "You are a test." }]);
    expect(body.messages).toMatchObject([
      { role: "user" },
      { role: "system", content: [{ type: "text", text: PLACEHOLDER }] },
      { role: "assistant" },
      { role: "user" },
    ]);
  });

  it("is text for the models of Anthropic that do not", async () => {
    const { body, headers } = await sent(anthropic("claude-sonnet-4-5"), ofAnthropic);
    expect(body.messages).toMatchObject([asText, { role: "assistant" }, { role: "user" }]);
    expect(headers["anthropic-beta"] ?? "").not.toContain("mid-conversation");
  });

  it("does not become the instructions of an agent that has none", async () => {
    const { body } = await sent(anthropic("claude-opus-4-8"), ofAnthropic, "");
    expect(body.system).toBeUndefined();
    expect(body.messages).toMatchObject([asText, { role: "assistant" }, { role: "user" }]);
  });
});
