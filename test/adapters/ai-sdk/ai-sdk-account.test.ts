// Refusals that are about the account of the user, not about the request.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import { FakeOpenAiServer, raw, refusal } from "./fake-openai-server.ts";
import { failureOf, openAiModel } from "./model-request.ts";

let server: FakeOpenAiServer;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
});

afterEach(() => server.close());

const model = () => aiSdkModel(openAiModel(server.baseUrl));

describe("an account without quota or credit", () => {
  const openAi = (type: string, code: string) =>
    JSON.stringify({ error: { message: "You exceeded your current quota.", type, param: null, code } });

  it.each([
    ["OpenAI", 429, openAi("insufficient_quota", "insufficient_quota")],
    ["OpenAI, prepaid", 429, openAi("insufficient_quota", "credit_balance_exhausted")],
    [
      "Anthropic",
      400,
      '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}',
    ],
    ["DeepSeek", 402, '{"error":{"message":"Insufficient Balance","type":"unknown_error"}}'],
  ])("of %s is rejected (%d), and waiting does not help", async (_name, status, body) => {
    server.next(raw(status, body));
    const failure = await failureOf(model());
    const why = { kind: "rejected", status, retryAfterMs: null, retryable: false, account: true };
    const { advice, ...details } = failure.details;
    expect(details).toEqual(why);
    expect(advice).toMatch(/^Waiting does not help: .*, then resume\.$/);
    expect(failure.message.endsWith(` ${advice}`)).toBe(true);
  });

  it.each([
    ["Gemini's limit per minute", { error: { message: "You exceeded your current quota.", code: 429 } }, {}],
    ["Azure's", { error: { message: "Slow down.", code: "insufficient_quota" } }, { "retry-after": "7" }],
  ])("is not confused with %s, which is waited out", async (_name, body, headers) => {
    server.next(raw(429, JSON.stringify(body), headers));
    expect((await failureOf(model())).details).toMatchObject({ kind: "rate_limited", retryable: true });
  });
});

describe("a key that is not valid", () => {
  const gemini = {
    error: { code: 400, message: "API key not valid.", details: [{ reason: "API_KEY_INVALID" }] },
  };

  it.each([
    ["401", 401, { error: { message: "Incorrect API key provided." } }],
    ["403", 403, { error: { message: "No access." } }],
    ["Gemini's 400", 400, gemini],
  ])("is a problem of the account (%s), not of the request", async (_name, status, body) => {
    server.next(raw(status, JSON.stringify(body)));
    const failure = await failureOf(model());
    expect(failure.details).toMatchObject({ kind: "rejected", status, account: true });
    expect(failure.message).toContain("Check the API key");
  });

  it("is not suspected behind any other 400", async () => {
    server.next(refusal(400, "The history is not valid."));
    expect((await failureOf(model())).details.account).toBeUndefined();
  });
});
