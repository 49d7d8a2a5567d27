import { describe, expect, it } from "vitest";
import { LongAnswers } from "../../../src/server/http/long-answers.ts";
import { bearer, json, testServer } from "../test-server.ts";

/** A stream that says something at once, and notes that its reader has gone. */
function talking(seen: { left: number } = { left: 0 }) {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
      given.enqueue(new TextEncoder().encode("event: hello\n\n"));
    },
    cancel: () => {
      seen.left += 1;
    },
  });
  const response = new Response(body, { headers: { "content-type": "text/event-stream" } });
  return { response, end: () => controller?.close(), fail: () => controller?.error(new Error("It broke.")) };
}

const STREAMS = [
  ["stream", "/v1/stream", {}],
  ["watchRun", "/v1/runs/q/watch", {}],
  ["streamChat", "/v1/chat/talk/c-1/stream", {}],
  ["chat", "/v1/chat/talk", json({ id: "c-1", messages: [], trigger: "submit-message" })],
] as const;

/** A server in which every stream is the one that a test makes. */
async function served(open: () => Response | Promise<Response>, limits = { streams: 4, downloads: 2 }) {
  const closing = new AbortController();
  const longAnswers = new LongAnswers(closing.signal, limits);
  const handled: string[] = [];
  const handler = (name: string) => async () => {
    handled.push(name);
    return open();
  };
  const server = testServer({
    longAnswers,
    handlers: {
      stream: handler("stream"),
      watchRun: handler("watchRun"),
      streamChat: handler("streamChat"),
      chat: handler("chat"),
      getBlob: handler("getBlob"),
    },
  });
  const { authorization = "" } = bearer(await server.token("operator"));
  const request = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", authorization);
    return server.request(path, { ...init, headers });
  };
  return { longAnswers, closing, handled, request };
}

describe("all streams of a server together", () => {
  it("have one limit, and the one above it is refused before anything is done for it", async () => {
    const { longAnswers, handled, request } = await served(() => talking().response);
    for (const [, path, init] of STREAMS) expect((await request(path, init)).status).toBe(200);
    expect(longAnswers.streams).toBe(4);
    for (const [, path, init] of STREAMS) {
      const refused = await request(path, init);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await refused.json()).toMatchObject({ code: "too_many_streams", recoverable: true });
    }
    expect(handled).toEqual(STREAMS.map(([name]) => name));
  });

  it("are a hundred, and 50 of each person, whichever of their tokens they use", async () => {
    const longAnswers = new LongAnswers(new AbortController().signal);
    const server = testServer({ longAnswers, handlers: { stream: async () => talking().response } });
    const tokens = (name: string) => Promise.all([1, 2].map(() => server.token("viewer", { name })));
    const open = (token = "") => server.request("/v1/stream", { headers: bearer(token) });
    const opened: Response[] = [];
    for (const name of ["ann", "bo"]) {
      const [one, other] = await tokens(name);
      for (let i = 0; i < 50; i++) opened.push(await open(i % 2 === 0 ? one : other));
      for (const token of [one, other]) {
        const refused = await open(token);
        expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
        expect(await refused.json()).toMatchObject({ code: "too_many_own_streams", recoverable: true });
      }
    }
    expect(opened.filter(({ status }) => status === 200)).toHaveLength(100);
    const [another] = await tokens("ed");
    expect((await open(another)).status).toBe(503);
    await opened[0]?.body?.cancel();
    expect((await open(another)).status).toBe(200);
  });

  it("of a person who has closed one leave room for another", async () => {
    const longAnswers = new LongAnswers(new AbortController().signal, { streamsOfOne: 1 });
    const server = testServer({ longAnswers, handlers: { stream: async () => talking().response } });
    const headers = bearer(await server.token("viewer"));
    for (let i = 0; i < 3; i++) {
      const { status, body } = await server.request("/v1/stream", { headers });
      expect(status).toBe(200);
      expect((await server.request("/v1/stream", { headers })).status).toBe(429);
      await body?.cancel();
    }
  });
});

describe.each(STREAMS)("a slot of %s is freed", (_, path, init) => {
  it("when it ends, when it fails, and when its reader cancels it", async () => {
    const seen = { left: 0 };
    const streams: ReturnType<typeof talking>[] = [];
    const { longAnswers, request } = await served(() => {
      const stream = talking(seen);
      streams.push(stream);
      return stream.response;
    });
    const [ended, failed, cancelled] = await Promise.all([1, 2, 3].map(() => request(path, init)));
    expect(longAnswers.streams).toBe(3);
    streams[0]?.end();
    expect(await ended?.text()).toContain("hello");
    expect(longAnswers.streams).toBe(2);
    streams[1]?.fail();
    await expect(failed?.text()).rejects.toThrow("It broke.");
    expect(longAnswers.streams).toBe(1);
    await cancelled?.body?.cancel();
    expect([longAnswers.streams, seen.left]).toEqual([0, 1]);
  });

  it("when its client leaves while it is being opened, and the stream is ended that nobody reads", async () => {
    const seen = { left: 0 };
    const opened = Promise.withResolvers<Response>();
    const { longAnswers, handled, request } = await served(() => opened.promise);
    const leaving = new AbortController();
    const answer = request(path, { ...init, signal: leaving.signal });
    await expect.poll(() => handled.length).toBe(1);
    expect(longAnswers.streams).toBe(1);
    leaving.abort();
    expect(longAnswers.streams).toBe(0);
    opened.resolve(talking(seen).response);
    await answer;
    expect([longAnswers.streams, seen.left]).toEqual([0, 1]);
  });

  it("when its client leaves without a word about the body", async () => {
    const seen = { left: 0 };
    const { longAnswers, request } = await served(() => talking(seen).response);
    const leaving = new AbortController();
    const { body } = await request(path, { ...init, signal: leaving.signal });
    leaving.abort();
    expect([longAnswers.streams, seen.left]).toEqual([0, 1]);
    await expect(body?.getReader().read()).rejects.toThrow();
  });

  it("when it cannot be opened, and when the answer is a problem", async () => {
    const answers = [() => Promise.reject(new Error("No.")), () => Response.json({}, { status: 404 })];
    const { longAnswers, request } = await served(() => (answers.shift() ?? (() => Response.error()))());
    expect((await request(path, init)).status).toBe(500);
    expect((await request(path, init)).status).toBe(404);
    expect(longAnswers.streams).toBe(0);
  });

  it("when the server stops: the stream is broken then, and not ended", async () => {
    const { longAnswers, closing, request } = await served(() => talking().response);
    const { body } = await request(path, init);
    const reader = body?.getReader();
    await reader?.read();
    const next = reader?.read();
    closing.abort(new Error("The server stops."));
    await expect(next).rejects.toThrow("The server stops.");
    expect(longAnswers.streams).toBe(0);
  });
});

it("a stream that is only asked about takes no slot", async () => {
  const seen = { left: 0 };
  const { longAnswers, request } = await served(() => talking(seen).response);
  expect((await request("/v1/stream", { method: "HEAD" })).status).toBe(200);
  expect([longAnswers.streams, seen.left]).toEqual([0, 1]);
});

describe("downloads", () => {
  const bytes = () => new Response(new Uint8Array(100_000));
  const PATH = "/v1/runs/q/blobs/b";

  it("are limited while they are read, and not only while they are answered", async () => {
    const { longAnswers, handled, request } = await served(bytes);
    const first = await request(PATH);
    const second = await request(PATH);
    const refused = await request(PATH);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await refused.json()).toMatchObject({ code: "too_many_downloads" });
    expect(handled.length).toBe(2);
    expect((await first.arrayBuffer()).byteLength).toBe(100_000);
    expect(longAnswers.downloads).toBe(1);
    await second.body?.cancel();
    expect(longAnswers.downloads).toBe(0);
    expect((await request(PATH)).status).toBe(200);
  });

  it("free their slot when the client has left, and are finished when the server stops", async () => {
    const { longAnswers, closing, request } = await served(bytes);
    const leaving = new AbortController();
    await request(PATH, { signal: leaving.signal });
    const read = await request(PATH);
    leaving.abort();
    expect(longAnswers.downloads).toBe(1);
    closing.abort();
    expect((await read.arrayBuffer()).byteLength).toBe(100_000);
  });
});
