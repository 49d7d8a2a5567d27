import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { inspect } from "node:util";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, LoadAPIKeyError } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import { modelCallFailed } from "../../../src/adapters/ai-sdk/ai-sdk-failure.ts";
import {
  answer,
  type Behaviour,
  cutBody,
  cutBodyOfUnknownLength,
  deadAddress,
  emptyChoices,
  FakeOpenAiServer,
  hang,
  raw,
  refusal,
  reset,
} from "./fake-openai-server.ts";
import {
  API_KEY,
  failureOf,
  openAiModel,
  requestOf,
  sendMail,
  throwingModel,
  timeout,
} from "./model-request.ts";

let server: FakeOpenAiServer;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
});

afterEach(async () => {
  await server.close();
  vi.unstubAllEnvs();
});

const model = () => aiSdkModel(openAiModel(server.baseUrl));

describe("an answer of the provider", () => {
  it.each<[string, Behaviour, object]>([
    [
      "429 is rate limited",
      refusal(429, "slow down"),
      { kind: "rate_limited", status: 429, retryable: true },
    ],
    [
      "500 is the server's error",
      refusal(500, "oops"),
      { kind: "server_error", status: 500, retryable: true },
    ],
    [
      "503 is the server's error",
      raw(503, "<html>busy</html>"),
      { kind: "server_error", status: 503, retryable: true },
    ],
    [
      "529 is the server's error",
      refusal(529, "overloaded"),
      { kind: "server_error", status: 529, retryable: true },
    ],
    [
      "400 is a rejection",
      refusal(400, "no such setting"),
      { kind: "rejected", status: 400, retryable: false },
    ],
    ["401 is a rejection", refusal(401, "who are you"), { kind: "rejected", status: 401, retryable: false }],
    [
      "408 is a rejection that may be retried",
      refusal(408, "late"),
      { kind: "rejected", status: 408, retryable: true },
    ],
    ["a reset is no answer", reset, { kind: "no_answer", status: null, retryable: true }],
    ["a cut body is no answer", cutBody, { kind: "no_answer", status: 200, retryable: true }],
    [
      "a silently truncated body is no answer",
      cutBodyOfUnknownLength,
      { kind: "no_answer", status: 200, retryable: true },
    ],
    [
      "a body that is not JSON is no answer",
      raw(200, "<html>"),
      { kind: "no_answer", status: 200, retryable: true },
    ],
    ["no choices is no answer", emptyChoices, { kind: "no_answer", retryable: true }],
    ["an empty text is no answer", answer(""), { kind: "no_answer", retryable: true }],
    [
      "reasoning that used up all tokens is no answer, and a retry does not help",
      answer({ reasoning: "hm, hm", finishReason: "length" }),
      { kind: "no_answer", retryable: false },
    ],
  ])("%s", async (_name, behaviour, details) => {
    server.next(behaviour, answer("an unwanted retry"));

    const failure = await failureOf(model());

    expect(failure.details).toMatchObject(details);
    expect(failure.recoverable).toBe(failure.details.retryable);
    // An outage is waited out, so its message does not say what to do.
    const waits = [429, 503, 529].includes(failure.details.status ?? 0);
    expect(failure.message).toMatch(
      waits ? /^fake\.chat\/fake-model .+\.$/ : /^fake\.chat\/fake-model .+\. .+\.$/,
    );
    // One request per respond: the SDK and the provider do not retry.
    expect(server.requests).toHaveLength(1);
  });

  it("gives the provider's message and what to do", async () => {
    server.next(refusal(401, "Unknown customer."), refusal(400, "max_tokens is too large"));
    expect((await failureOf(model())).message).toBe(
      "fake.chat/fake-model rejected the request (401): Unknown customer. Check the API key and its permissions, then resume.",
    );
    expect((await failureOf(model())).message).toBe(
      "fake.chat/fake-model rejected the request (400): max_tokens is too large. Fix the request, then resume.",
    );
  });

  it("never contains a key or the request, and shortens a long message", async () => {
    server.next(
      refusal(401, `Incorrect API key provided: ${API_KEY}. You sent "Authorization: Bearer ${API_KEY}"`),
      raw(500, `${"very ".repeat(1000)}long`),
    );
    const withKey = await failureOf(model());
    expect(`${withKey.message} ${JSON.stringify(withKey.details)}`).not.toContain(API_KEY);
    expect(withKey.message).toContain("Incorrect API key provided: [redacted]");

    const long = await failureOf(model(), requestOf({ instructions: "the secret recipe" }));
    expect(long.message.length).toBeLessThan(450);

    expect(inspect(withKey, { depth: 10 })).not.toContain(API_KEY);
    expect(inspect(long, { depth: 10 })).not.toContain("the secret recipe");
  });
});

describe("an abort while the provider's answer is being read", () => {
  it("does not hide the provider's message", () => {
    const error = new APICallError({
      message: "slow down",
      url: "x",
      requestBodyValues: {},
      statusCode: 429,
    });
    const progress = { began: true, network: "sent", signal: AbortSignal.abort(timeout()) } as const;
    expect(modelCallFailed("fake/m", error, progress).details.kind).toBe("rate_limited");
  });
});

describe("the time to wait", () => {
  it.each([
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 350130 tokens.",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
  ])("a request that is too long names the settings to lower: %s", async (message) => {
    server.next(refusal(400, message));
    const failure = await failureOf(model());
    expect(failure.details).toMatchObject({ kind: "rejected", status: 400, retryable: false });
    expect(failure.message).toContain("lower maxResultTokens of the agent or its step");
    expect(failure.message).toContain("lower historyMaxTokens of its step");
  });

  it.each([
    ["seconds", { "retry-after": "2" }, 2000],
    ["a fraction of a second", { "retry-after": "0.25" }, 250],
    [
      "milliseconds, which are more exact than seconds",
      { "retry-after-ms": "1500", "retry-after": "9" },
      1500,
    ],
    [
      "a date, by the server's own clock",
      { "retry-after": "Wed, 21 Oct 2065 07:28:30 GMT", date: "Wed, 21 Oct 2065 07:28:00 GMT" },
      30_000,
    ],
    ["a date that is over", { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, 0],
    ["nonsense", { "retry-after": "soon" }, null],
    ["nothing", {}, null],
  ])("is read from %s", async (_name, headers, retryAfterMs) => {
    server.next(refusal(429, "slow down", headers));
    expect((await failureOf(model())).details.retryAfterMs).toBe(retryAfterMs);
  });

  it("is read from a 503 as well", async () => {
    server.next(refusal(503, "busy", { "retry-after": "3" }));
    expect((await failureOf(model())).details).toMatchObject({ kind: "server_error", retryAfterMs: 3000 });
  });
});

describe("a request that was not sent", () => {
  it("a refused connection is not sent, and may be retried", async () => {
    const failure = await failureOf(aiSdkModel(openAiModel(await deadAddress())));
    expect(failure.details).toEqual({ kind: "not_sent", status: null, retryAfterMs: null, retryable: true });
    expect(failure.message).toMatch(/cannot be reached, nothing was sent: .*ECONNREFUSED/);
  });

  it.each([
    ["a port that fetch blocks", "http://127.0.0.1:6000/v1", "bad port"],
    ["another scheme", "ftp://127.0.0.1/v1", "unknown scheme"],
    ["no address", "not an address", "Failed to parse URL"],
  ])("an address that fetch refuses is not sent: %s", async (_name, baseURL, why) => {
    const failure = await failureOf(aiSdkModel(createOpenAI({ baseURL, apiKey: API_KEY }).chat("gpt-5")));
    expect(failure.details).toEqual({ kind: "not_sent", status: null, retryAfterMs: null, retryable: false });
    expect(failure.message).toContain(`was not called, nothing was sent`);
    expect(failure.message).toContain(why);
    expect(failure.message).toContain("Check the provider's address (baseURL)");
  });

  /** What `fetch` throws when a host name is not found. */
  const notResolved = (code: string) => {
    const cause = Object.assign(new Error(`getaddrinfo ${code} api.example.com`), {
      code,
      syscall: "getaddrinfo",
    });
    return throwingModel(new TypeError("fetch failed", { cause }));
  };

  it("a host that does not exist is not sent, and not retried: its name may be wrong", async () => {
    const failure = await failureOf(notResolved("ENOTFOUND"));
    expect(failure.details).toEqual({ kind: "not_sent", status: null, retryAfterMs: null, retryable: false });
    expect(failure.message).toContain("Check the provider's address (baseURL)");
  });

  it("a host whose name cannot be looked up now may be retried", async () => {
    const failure = await failureOf(notResolved("EAI_AGAIN"));
    expect(failure.details).toMatchObject({ kind: "not_sent", retryable: true });
  });

  it("a call that was aborted before it began sends nothing", async () => {
    const failure = await failureOf(
      model(),
      requestOf({ signal: AbortSignal.abort(new Error("cancelled by ann")) }),
    );
    expect(failure.details).toMatchObject({ kind: "not_sent", retryable: false });
    expect(failure.message).toContain("cancelled by ann");
    expect(server.requests).toHaveLength(0);
  });

  it("a call that is aborted while the SDK still prepares it sends nothing", async () => {
    const controller = new AbortController();
    const pending = failureOf(model(), requestOf({ signal: controller.signal }));
    controller.abort(new Error("cancelled"));
    expect((await pending).details).toMatchObject({ kind: "not_sent", retryable: false });
    expect(server.requests).toHaveLength(0);
  });

  it("a time limit reached while still connecting is not sent, and may be retried", async () => {
    // Accepts connections and never answers, so the TLS handshake does not end.
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket.on("error", () => {})));
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const port = (silent.address() as AddressInfo).port;
    const controller = new AbortController();

    const pending = failureOf(
      aiSdkModel(openAiModel(`https://127.0.0.1:${port}/v1`)),
      requestOf({ signal: controller.signal }),
    );
    await once(silent, "connection");
    controller.abort(timeout());

    expect((await pending).details).toEqual({
      kind: "not_sent",
      status: null,
      retryAfterMs: null,
      retryable: true,
    });
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it("a missing key is not sent, and the message names it", async () => {
    const failure = await failureOf(
      throwingModel(new LoadAPIKeyError({ message: "The FAKE_API_KEY variable is missing." })),
    );
    expect(failure.details).toEqual({ kind: "not_sent", status: null, retryAfterMs: null, retryable: false });
    expect(failure.message).toContain("FAKE_API_KEY");
  });

  // In production the SDK replaces the gateway's error by one without a recognizable name.
  it.each(["test", "production"])("a gateway model without a key is not sent (%s)", async (environment) => {
    vi.stubEnv("NODE_ENV", environment);
    for (const name of ["AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"]) vi.stubEnv(name, "");
    const failure = await failureOf(aiSdkModel("anthropic/some-model"));
    expect(failure.details).toMatchObject({ kind: "not_sent", retryable: false });
    expect(failure.message).toContain("AI_GATEWAY_API_KEY");
    expect(failure.message).not.toContain("\n");
  });

  it("a file of a type that the provider's library does not know is refused for its contents", async () => {
    const file = {
      type: "file",
      mediaType: "audio/x-odd",
      blobId: "0",
      size: 1,
      data: Buffer.from("x"),
    } as const;
    const failure = await failureOf(model(), requestOf({ messages: [{ role: "user", content: [file] }] }));
    expect(failure.details).toMatchObject({ kind: "not_sent", retryable: false, contents: true });
    expect(server.requests).toHaveLength(0);
  });

  it("a conversation that the SDK refuses is not sent", async () => {
    const empty = await failureOf(model(), requestOf({ messages: [] }));
    expect(empty.details).toMatchObject({ kind: "not_sent", retryable: false });
    const unanswered = await failureOf(
      model(),
      requestOf({
        messages: [
          { role: "user", content: "Hello" },
          {
            role: "assistant",
            content: [{ type: "tool-call", toolCallId: "c1", toolName: "send_mail", input: {} }],
          },
        ],
        tools: [sendMail],
      }),
    );
    expect(unanswered.details).toMatchObject({ kind: "not_sent", retryable: false });
    expect(unanswered.details.contents).toBeUndefined();
    expect(server.requests).toHaveLength(0);
  });
});

describe("a request that was sent and cut short", () => {
  it("by the engine's time limit is a timeout", async () => {
    server.next(hang);
    const controller = new AbortController();
    const pending = failureOf(model(), requestOf({ signal: controller.signal }));
    await server.received(1);
    controller.abort(timeout());
    expect((await pending).details).toMatchObject({ kind: "timeout", status: null, retryable: false });
    // The provider is notified: it may stop working on an answer that is no longer awaited.
    await vi.waitFor(() => expect(server.abandoned).toBe(1));
  });

  it("by anything else is no answer, and is not retried", async () => {
    server.next(hang);
    const controller = new AbortController();
    const pending = failureOf(model(), requestOf({ signal: controller.signal }));
    await server.received(1);
    controller.abort(new Error("cancelled by ann"));
    const failure = await pending;
    expect(failure.details).toMatchObject({ kind: "no_answer", status: null, retryable: false });
    expect(failure.message).toContain("cancelled by ann");
  });

  it("by Node's own timeout is a timeout", async () => {
    const cause = Object.assign(new Error("Headers Timeout Error"), { code: "UND_ERR_HEADERS_TIMEOUT" });
    const failure = await failureOf(throwingModel(new TypeError("fetch failed", { cause })));
    expect(failure.details).toMatchObject({ kind: "timeout", retryable: false });
  });

  it("keeps an answer that arrived before the abort", async () => {
    const controller = new AbortController();
    const mock = new MockLanguageModelV4({
      doGenerate: async () => ({
        // Invalid, since the SDK would check the signal again for an invalid call.
        content: [{ type: "tool-call", toolCallId: "c1", toolName: "send_fax", input: "{}" }],
        finishReason: { unified: "tool-calls", raw: "tool_calls" },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
        // Read right after the answer is accepted.
        get warnings() {
          queueMicrotask(() => controller.abort(new Error("too late")));
          return [];
        },
      }),
    });
    const response = await aiSdkModel(mock).respond(
      requestOf({ signal: controller.signal, tools: [sendMail] }),
    );
    expect(controller.signal.aborted).toBe(true);
    expect(Object.keys(response.invalidCalls)).toEqual(["c1"]);
  });
});
