import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { inspect } from "node:util";
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
  emptyChoices,
  FakeOpenAiServer,
  hang,
  raw,
  refusal,
  reset,
} from "./fake-openai-server.ts";
import { API_KEY, failureOf, openAiModel, requestOf, sendMail, timeout } from "./model-request.ts";

let server: FakeOpenAiServer;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
});

afterEach(async () => {
  await server.close();
  vi.unstubAllEnvs();
});

const model = () => aiSdkModel(openAiModel(server.baseUrl));

/** An address that nothing listens at any more. */
async function deadAddress(): Promise<string> {
  const gone = await FakeOpenAiServer.start();
  await gone.close();
  return gone.baseUrl;
}

/** A model whose provider throws without any transport. */
function throwingModel(error: Error) {
  return aiSdkModel(new MockLanguageModelV4({ doGenerate: async () => Promise.reject(error) }));
}

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
    expect(failure.message).toMatch(/^fake\.chat\/fake-model .+\. .+\.$/);
    // One request per respond: the SDK and the provider do not retry.
    expect(server.requests).toHaveLength(1);
  });

  it("gives the provider's message and what to do", async () => {
    server.next(refusal(401, "Unknown customer."), refusal(400, "max_tokens is too large"));
    expect((await failureOf(model())).message).toBe(
      "fake.chat/fake-model rejected the request (401): Unknown customer. Check the API key and its permissions.",
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
  ])("a request that is too long names the setting to lower: %s", async (message) => {
    server.next(refusal(400, message));
    const failure = await failureOf(model());
    expect(failure.details).toMatchObject({ kind: "rejected", status: 400, retryable: false });
    expect(failure.message).toContain("lower maxResultTokens of the agent or its step");
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

  it("is read from a 503 as well, and shown in seconds", async () => {
    server.next(
      refusal(503, "busy", { "retry-after": "3" }),
      refusal(429, "slow down", { "retry-after": "3" }),
    );
    expect((await failureOf(model())).details).toMatchObject({ kind: "server_error", retryAfterMs: 3000 });
    expect((await failureOf(model())).message).toContain("Try again in 3 s.");
  });
});

describe("a request that was not sent", () => {
  it.each([
    ["a refused connection", deadAddress],
    ["an unknown host", async () => "http://no-such-host.invalid/v1"],
  ])("%s is not sent, and may be retried", async (_name, address) => {
    const failure = await failureOf(aiSdkModel(openAiModel(await address())));
    expect(failure.details).toEqual({ kind: "not_sent", status: null, retryAfterMs: null, retryable: true });
    expect(failure.message).toMatch(/ECONNREFUSED|ENOTFOUND|EAI_AGAIN/);
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

describe("a provider on another transport", () => {
  /** `fetch` over node:http: nothing of it passes through undici. */
  const viaHttp: typeof fetch = async (input, init) =>
    new Promise((resolve, reject) => {
      const outgoing = httpRequest(new Request(input).url, {
        method: "POST",
        headers: init?.headers as Record<string, string>,
      });
      outgoing.on("error", reject);
      outgoing.on("response", (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("end", () =>
          resolve(new Response(Buffer.concat(chunks), { status: incoming.statusCode ?? 0 })),
        );
      });
      outgoing.end(init?.body);
    });

  it("is called like any other", async () => {
    server.next(answer("Hello"), refusal(429, "slow down"));
    const port = aiSdkModel(openAiModel(server.baseUrl, viaHttp));
    expect((await port.respond(requestOf())).content).toEqual([{ type: "text", text: "Hello" }]);
    expect((await failureOf(port)).details.kind).toBe("rate_limited");
  });

  it("counts as called once the call began", async () => {
    server.next(reset);
    const port = aiSdkModel(openAiModel(server.baseUrl, viaHttp));
    expect((await failureOf(port)).details).toMatchObject({ kind: "no_answer", retryable: true });
  });

  it("counts as called if its error proves nothing", async () => {
    expect((await failureOf(throwingModel(new Error("out of cheese")))).details).toMatchObject({
      kind: "no_answer",
      retryable: false,
    });
  });

  it("does not count as called if its error proves that there was no connection", async () => {
    const port = aiSdkModel(openAiModel(await deadAddress(), viaHttp));
    expect((await failureOf(port)).details).toMatchObject({ kind: "not_sent", retryable: true });
  });

  it("is abandoned at the time limit even if it ignores the signal", async () => {
    server.next(hang);
    const controller = new AbortController();
    const port = aiSdkModel(openAiModel(server.baseUrl, viaHttp));
    const pending = failureOf(port, requestOf({ signal: controller.signal }));
    await server.received(1);
    controller.abort(timeout());
    expect((await pending).details.kind).toBe("timeout");
  });

  it("is believed about a status, but not about one that means a broken connection", async () => {
    const teapot = Object.assign(new Error("I am a teapot"), { statusCode: 418 });
    expect((await failureOf(throwingModel(teapot))).details).toMatchObject({ kind: "rejected", status: 418 });

    // The error of AI Gateway for a broken connection: a status of 500 that was never sent.
    const cause = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
    const wrapped = new APICallError({ message: "Cannot connect", url: "x", requestBodyValues: {}, cause });
    const gateway = Object.assign(new Error("Gateway request failed", { cause: wrapped }), {
      statusCode: 500,
    });
    expect((await failureOf(throwingModel(gateway))).details).toMatchObject({
      kind: "no_answer",
      status: null,
    });
  });
});

describe("calls at the same time", () => {
  it("do not mix up their network activity", async () => {
    const dead = aiSdkModel(openAiModel(await deadAddress()));
    const live = model();
    const controller = new AbortController();
    const rounds = 10;
    server.next(...Array.from({ length: rounds }, () => hang));

    const sent = Array.from({ length: rounds }, () =>
      failureOf(live, requestOf({ signal: controller.signal })),
    );
    const notSent = Array.from({ length: rounds }, () => failureOf(dead));
    await server.received(rounds);
    const refusedKinds = (await Promise.all(notSent)).map((failure) => failure.details.kind);
    controller.abort(timeout());
    const sentKinds = (await Promise.all(sent)).map((failure) => failure.details.kind);

    expect(refusedKinds).toEqual(Array(rounds).fill("not_sent"));
    expect(sentKinds).toEqual(Array(rounds).fill("timeout"));
  });

  it("see their own request on a socket that another call opened", async () => {
    server.next(answer("first"), reset);
    await model().respond(requestOf());
    await new Promise(setImmediate); // undici releases the socket a moment after the answer was read
    expect((await failureOf(model())).details.kind).toBe("no_answer");
    expect(server.connections).toBe(1);
  });
});
