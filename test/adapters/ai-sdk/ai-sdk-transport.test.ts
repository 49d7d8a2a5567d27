// How a failed call counts on a transport that is not Node's fetch, and with other calls beside it.

import { request as httpRequest } from "node:http";
import { APICallError } from "ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import { answer, deadAddress, FakeOpenAiServer, hang, refusal, reset } from "./fake-openai-server.ts";
import { failureOf, openAiModel, requestOf, throwingModel, timeout } from "./model-request.ts";

let server: FakeOpenAiServer;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
});

afterEach(async () => {
  await server.close();
});

const model = () => aiSdkModel(openAiModel(server.baseUrl));

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
