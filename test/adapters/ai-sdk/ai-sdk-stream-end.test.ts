// A streamed answer counts only with the provider's own end.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import type { ModelPort } from "../../../src/engine/ports/model-port.ts";
import { bundlePatched, makeBundleFolder } from "../../patched-sources.ts";
import { CuttingServer } from "./cutting-server.ts";
import { failureOf, openAiModel, requestOf, timeout } from "./model-request.ts";
import { call, finish, heard, streaming, streamOf, text } from "./streaming-model.ts";

const half = text("Refund of 10").slice(0, -1);
const error = (value: unknown): LanguageModelV4StreamPart => ({ type: "error", error: value });
const liveFailure = (port: ModelPort, given = {}) => failureOf(port, requestOf(given), () => undefined);

describe("a stream is no answer", () => {
  it.each([
    ["that closes before its end", half],
    ["that closes after a whole call", call("c1", "send_mail", '{"to":"ann"}')],
    ["that closes at once", []],
    [
      "whose end is an interruption, as the packages of providers call a cut",
      [...half, finish("interrupted")],
    ],
    ["whose end has no reason of the provider", [...half, finish("other", null)]],
    ["whose end is an error", [...half, finish("error")]],
    ["with an error in it, even if an end follows", [...half, error("oops"), finish()]],
    [
      "with an error before its first word, even if an answer follows",
      [error("oops"), ...text("Hi"), finish()],
    ],
  ])("%s", async (_, parts) => {
    expect((await liveFailure(streaming(parts).port)).details.kind).toBe("no_answer");
  });

  it("that breaks, and it may be asked for again", async () => {
    const reset = Object.assign(new TypeError("terminated"), {
      cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
    });
    const { details } = await liveFailure(streaming(half, reset).port);
    expect(details).toMatchObject({ kind: "no_answer", retryable: true });
  });

  it("and neither is a cut one of which the provider gave figures: they are not the charge", async () => {
    const { details } = await liveFailure(streaming([...half, finish("interrupted")]).port);
    expect(details.usage).toBeUndefined();
  });
});

it("a stream with the provider's own end is an answer, even if the connection breaks after it", async () => {
  const { port } = streaming([...text("Refund of 1000"), finish()], new Error("reset"));
  expect((await heard(port)).response.content).toEqual([{ type: "text", text: "Refund of 1000" }]);
});

it("an end for another reason is one if the provider named the reason", async () => {
  const { port } = streaming([...text("Hm."), finish("other", "pause_turn")]);
  expect((await heard(port)).response.finishReason).toBe("other");
});

describe("an error in a stream", () => {
  it.each([
    [
      { type: "rate_limit_error", message: "slow down" },
      { kind: "rate_limited", status: 429, retryable: true },
    ],
    [
      { code: 429, message: "slow down" },
      { kind: "rate_limited", status: 429 },
    ],
    [
      { code: "insufficient_quota", message: "no credit" },
      { kind: "rejected", account: true },
    ],
    [
      { type: "overloaded_error", message: "busy" },
      { kind: "server_error", status: 529 },
    ],
    [
      { type: "invalid_request_error", message: "no" },
      { kind: "rejected", status: 400 },
    ],
    [
      { type: "server_error", code: null, message: "The server had an error" },
      { kind: "server_error", status: 500, retryable: true },
    ],
    [
      Object.assign(new Error("no credit"), { code: "insufficient_quota" }),
      { kind: "rejected", account: true },
    ],
    [
      { type: "service_unavailable", message: "later" },
      { kind: "server_error", status: 503 },
    ],
    [
      { type: "timeout_error", message: "slow" },
      { kind: "server_error", status: 504, retryable: true },
    ],
    [
      Object.assign(new Error("no"), { statusCode: 401 }),
      { kind: "rejected", account: true, retryable: false },
    ],
    [
      Object.assign(new Error("no"), { type: "invalid_request_error" }),
      { kind: "rejected", status: 400, retryable: false },
    ],
  ])("before the first word counts as what it says: %j", async (value, details) => {
    const start: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
    expect((await liveFailure(streaming([...start, error(value)]).port)).details).toMatchObject(details);
  });

  it("of a real provider's package, as the first event of a response 200, counts as what it says", async () => {
    const event = { error: { message: "The server had an error", type: "server_error", code: null } };
    const body = Buffer.from(`data: ${JSON.stringify(event)}\n\n`);
    const server = await CuttingServer.start(body, () => ({ by: "end", bytes: body.length }));
    onTestFinished(() => server.close());
    const { details } = await liveFailure(aiSdkModel(openAiModel(server.url)));
    expect(details).toMatchObject({ kind: "server_error", status: 500, retryable: true });
  });

  it.each([
    ["a text", "oops", "oops"],
    ["an error without a status", new Error("boom"), "boom"],
    ["an object of a type that is not known", { type: "strange_error", message: "hm" }, "hm"],
  ])("before the first word may pass if it names no status: %s", async (_, value, message) => {
    const failure = await liveFailure(streaming([error(value)]).port);
    expect(failure.details).toMatchObject({ kind: "no_answer", status: null, retryable: true });
    expect(failure.message).toContain(`the provider reported an error instead of an answer: ${message}`);
  });

  it("before the first word of a connection that was refused is a request that was not sent", async () => {
    const refusal = Object.assign(new Error("connect"), { code: "ECONNREFUSED", syscall: "connect" });
    const { details } = await liveFailure(streaming([error(refusal)]).port);
    expect(details).toMatchObject({ kind: "not_sent", retryable: true });
  });

  it("after the first word is no answer, whatever it says: the words may be charged", async () => {
    const failure = await liveFailure(streaming([...half, error({ code: 429, message: "slow down" })]).port);
    expect(failure.details).toMatchObject({ kind: "no_answer", status: null, retryable: true });
    expect(failure.message).toContain("slow down");
  });
});

describe("a stream that stops arriving", () => {
  const idleTimeoutMs = 20;

  it("while the model writes is a timeout", async () => {
    const failure = await liveFailure(streaming(half, "open").port, { idleTimeoutMs });
    expect(failure.details).toMatchObject({ kind: "timeout", retryable: true });
    expect(failure.message).toContain("modelIdleTimeoutMs");
  });

  it.each<[string, LanguageModelV4StreamPart[]]>([
    ["before the first word", [{ type: "stream-start", warnings: [] }]],
    ["while the model reasons", [...half, { type: "reasoning-start", id: "r" }]],
    [
      "while the provider runs a tool",
      [
        ...half,
        { type: "tool-call", toolCallId: "s", toolName: "search", input: "{}", providerExecuted: true },
      ],
    ],
  ])(
    "%s is waited for until the time limit, whether or not the provider obeys its signal",
    async (_, parts) => {
      const controller = new AbortController();
      const pending = liveFailure(streaming(parts, "open").port, {
        signal: controller.signal,
        idleTimeoutMs: 1,
      });
      await new Promise((resolve) => setTimeout(resolve, 20));
      controller.abort(timeout());
      expect((await pending).details.kind).toBe("timeout");
    },
  );

  it("ends the provider's request", async () => {
    const { mock, port } = streaming(half, "open");
    await liveFailure(port, { idleTimeoutMs });
    expect(mock.doStreamCalls[0]?.abortSignal?.aborted).toBe(true);
  });
});

it("an aborted request is not waited for, even before its stream has begun", async () => {
  const controller = new AbortController();
  const late = Promise.withResolvers<{ stream: ReadableStream<LanguageModelV4StreamPart> }>();
  const port = aiSdkModel(new MockLanguageModelV4({ doStream: () => late.promise }));
  const pending = liveFailure(port, { signal: controller.signal });
  await new Promise(setImmediate);
  controller.abort(new Error("stop"));
  expect((await pending).details.kind).toBe("no_answer");
  let isCancelled = false;
  late.resolve({ stream: new ReadableStream({ cancel: () => void (isCancelled = true) }) });
  await new Promise(setImmediate);
  expect(isCancelled).toBe(true);
});

describe("these tests notice an adapter", () => {
  const { folder, remove } = makeBundleFolder();
  afterAll(remove);

  it.each([
    {
      that: "takes the close of a stream for its end",
      file: "adapters/ai-sdk/ai-sdk-stream.ts",
      right: 'if (done) throw new UnfinishedAnswerError("the stream ended in the middle of the answer");',
      wrong: "if (done) return { ...NO_FIGURES, ...about, content: content.content, excess: null };",
      parts: half,
    },
    {
      that: "reads on after an error",
      file: "adapters/ai-sdk/ai-sdk-stream.ts",
      right: 'if (part.type === "error") throw errorIn(part.error, content);',
      wrong: 'if (part.type === "error") continue;',
      parts: [...half, error("oops"), finish()],
    },
    {
      that: "takes an interruption for an end",
      file: "adapters/ai-sdk/ai-sdk-stream.ts",
      right: "if (problem !== null) throw new UnfinishedAnswerError(problem);",
      wrong: "void problem;",
      parts: [...half, finish("interrupted")],
    },
  ])("that $that", async ({ file, right, wrong, parts }) => {
    const bundle = join(folder, `${wrong.length}.mjs`);
    await bundlePatched("src/adapters/ai-sdk/ai-sdk.ts", bundle, [{ file, right, wrong }]);
    const patched = (await import(pathToFileURL(bundle).href)) as { readonly aiSdkModel: typeof aiSdkModel };
    const port = patched.aiSdkModel(
      new MockLanguageModelV4({ doStream: async () => ({ stream: streamOf(parts) }) }),
    );
    const { response } = await heard(port);
    expect(response.content).toEqual([{ type: "text", text: "Refund of 10" }]);
  });
});
