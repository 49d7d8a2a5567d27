import { describe, expect, it } from "vitest";
import { createClient, PawlProblem, pages } from "../../../src/client/client.ts";
import { type Route, routes } from "../../../src/server/api/routes.ts";
import { ORIGIN, type TestServer, testServer } from "../test-server.ts";

const AS_OF = "2026-01-01T00:00:00.000Z";
const aborted = () => AbortSignal.abort();

function clientOf(server: TestServer, token: string) {
  const fetch = (url: string, init: RequestInit) => server.request(url.slice(ORIGIN.length), init);
  return createClient({ baseUrl: `${ORIGIN}/`, token, fetch });
}

function streamed(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** A stream that breaks after its text. */
function broken(text: string): Response {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    pull: (controller) => controller.error(new Error("broken")),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

describe("the client", () => {
  it("sends ids as one segment, lists as repeated names, and a body as JSON", async () => {
    const seen: unknown[] = [];
    const server = testServer({
      handlers: {
        listWaits: async ({ query }) => {
          seen.push(query);
          return { status: 200, body: { items: [], nextCursor: null, asOf: AS_OF } };
        },
        cancelRun: async ({ params }) => {
          seen.push(params);
          return { status: 202, body: { runId: params.runId, outcome: "requested" } };
        },
        startRun: async ({ headers, body }) => {
          seen.push([headers, body]);
          return { status: 201, body: { runId: "r", existed: false } };
        },
      },
    });
    const client = clientOf(server, await server.token("operator"));
    await client.listWaits({ kind: ["approval", "question"], limit: 7 });
    expect(await client.cancelRun({ runId: "q-1/a#2~3" })).toEqual({
      runId: "q-1/a#2~3",
      outcome: "requested",
    });
    const started = await client.startRun({ idempotencyKey: "k" }, { pipeline: "report", input: { a: 1 } });
    expect(started.runId).toBe("r");
    expect(seen).toEqual([
      { status: "open", kind: ["approval", "question"], limit: 7 },
      { runId: "q-1/a#2~3" },
      [{ "idempotency-key": "k" }, { pipeline: "report", input: { a: 1 } }],
    ]);
  });

  it("throws what the server refuses, with its code, status and what is wrong", async () => {
    const server = testServer();
    const client = clientOf(server, await server.token("viewer"));
    const refused = await client.cancelRun({ runId: "q" }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(PawlProblem);
    expect(refused).toMatchObject({ code: "role_too_low", status: 403, recoverable: false });
    const misfit = await client.listWaits({ limit: 0 }).catch((error: unknown) => error);
    expect(misfit).toMatchObject({ status: 400, errors: [{ pointer: "/query/limit" }] });
    const proxy = createClient({ fetch: async () => new Response("<h1>Bad gateway</h1>", { status: 502 }) });
    await expect(proxy.getMe()).rejects.toMatchObject({ code: "http_502", recoverable: true });
  });

  it("makes no request without an id: its address would be that of another operation", async () => {
    const client = createClient({ fetch: async () => Response.json({}) });
    await expect(client.getRun({ runId: "" })).rejects.toThrow("getRun needs a runId.");
  });

  it("gives nothing for an empty answer, and the response itself for bytes", async () => {
    const server = testServer({
      handlers: {
        revokeToken: async () => new Response(null, { status: 204 }),
        getArtifact: async () =>
          new Response("{}", {
            headers: { "content-type": "application/json", "content-disposition": "attachment" },
          }),
      },
    });
    const client = clientOf(server, await server.token("admin"));
    expect(await client.revokeToken({ tokenId: "t" })).toBeUndefined();
    const bytes = await client.getArtifact({ runId: "q", name: "a/b.json" });
    expect(await bytes.text()).toBe("{}");
  });

  it("says of an answer that is not Pawl's that no Pawl server is there", async () => {
    const html = () => new Response("<h1>Hello</h1>", { headers: { "content-type": "text/html" } });
    const client = createClient({ fetch: async () => html() });
    const other = { code: "not_pawl", status: 200, recoverable: false };
    await expect(client.listRuns()).rejects.toMatchObject(other);
    await expect(client.listRuns()).rejects.toThrow("That is not a Pawl server: it answered text/html.");
    await expect(client.getBlob({ runId: "r", blobId: "b" })).rejects.toMatchObject(other);
    await expect(client.stream().next()).rejects.toMatchObject(other);
    // Behind an event it is a page of a proxy, which may pass.
    const events = new Response("id: 1\nevent: hello\ndata: {}\n\n", {
      headers: { "content-type": "text/event-stream" },
    });
    const answers = [events, html(), events.clone()];
    const watching = createClient({ fetch: async () => answers.shift() ?? html() }).stream();
    expect([await watching.next(), await watching.next()]).toMatchObject([{ done: false }, { done: false }]);
    await watching.return();
    const plain = createClient({ fetch: async () => new Response("OK") });
    await expect(plain.getMe()).rejects.toBeInstanceOf(PawlProblem);
  });

  it("gives the response itself for every operation that answers with bytes or a stream", async () => {
    const fetch = async () => new Response("x", { headers: { "content-type": "application/octet-stream" } });
    const client = createClient({ fetch }) as unknown as {
      readonly [id: string]: (params: object) => Promise<unknown>;
    };
    const ids = { runId: "r", name: "n", blobId: "b", pipeline: "p", chatId: "c", waitId: "w", callId: "c" };
    const params = { ...ids, tokenId: "t", webhookId: "w", deliveryId: "d" };
    const isBytes = ([id, { answers }]: [string, Route]) =>
      !["stream", "watchRun"].includes(id) &&
      Object.values(answers).some((kind) => kind === "bytes" || kind === "stream");
    const expected = Object.entries<Route>(routes).filter(isBytes);
    expect(expected.length).toBeGreaterThan(4);
    for (const id of Object.keys(routes)) {
      if (["stream", "watchRun"].includes(id)) continue;
      const answer = await client[id]?.(params).catch((error: unknown) => error);
      const isResponse = expected.some(([name]) => name === id);
      expect([id, answer instanceof (isResponse ? Response : PawlProblem)]).toEqual([id, true]);
    }
  });

  it("ends a request with its signal", async () => {
    const server = testServer();
    const client = clientOf(server, await server.token("viewer"));
    const fetching = createClient({ baseUrl: ORIGIN, fetch: (url, init) => fetch(url, init) });
    await expect(fetching.getMe({ signal: aborted() })).rejects.toThrow(/abort/i);
    await expect(client.getMe()).resolves.toMatchObject({ role: "viewer" });
  });

  it("walks all pages of a list", async () => {
    const server = testServer({
      handlers: {
        listWaits: async ({ query: { cursor = "0" } }) => ({
          status: 200,
          body: { items: [], nextCursor: cursor === "2" ? null : String(Number(cursor) + 1), asOf: AS_OF },
        }),
      },
      checksAnswers: false,
    });
    const client = clientOf(server, await server.token("viewer"));
    const asked: (string | undefined)[] = [];
    const numbered = async (params: { readonly cursor?: string }) => {
      asked.push(params.cursor);
      const page = await client.listWaits(params);
      return { ...page, items: [asked.length] };
    };
    const items: number[] = [];
    for await (const item of pages(numbered, {})) items.push(item);
    expect(items).toEqual([1, 2, 3]);
    expect(asked).toEqual([undefined, "1", "2"]);
  });
});

describe("a stream of the client", () => {
  it("is made again behind the last event when it breaks, ends, or a proxy answers in its place", async () => {
    const asked: (string | null)[] = [];
    const answers = [
      () => broken('id: 1\nevent: gone\ndata: {"runId":"a"}\n\nevent: gone\ndata: {"ru'),
      () => new Response("Bad gateway", { status: 502 }),
      () => streamed(': ping\n\nid: 2\nevent: gone\ndata: {"runId":"b"}\n\n'),
      () => streamed('id: 3\r\nevent: gone\r\ndata: {"runId":\r\ndata: "c"}\r\n\r\n'),
    ];
    const client = createClient({
      baseUrl: ORIGIN,
      fetch: async (_, init) => {
        asked.push(new Headers(init.headers).get("last-event-id"));
        return answers.shift()?.() ?? new Response(null, { status: 401 });
      },
    });
    const seen: unknown[] = [];
    for await (const { data } of client.stream({ run: "q" })) {
      seen.push(data);
      if (seen.length === 3) break;
    }
    expect(seen).toEqual([{ runId: "a" }, { runId: "b" }, { runId: "c" }]);
    expect(asked).toEqual([null, "1", "1", "2"]);
  });

  it("throws what the server refuses, and ends with its signal", async () => {
    const refused = createClient({
      fetch: async () => new Response('{"code":"sign_in_first"}', { status: 401 }),
    });
    await expect(refused.stream().next()).rejects.toMatchObject({ code: "sign_in_first" });
    expect(await refused.stream({ signal: aborted() }).next()).toEqual({ done: true, value: undefined });
  });

  it("of one run ends when the run has ended", async () => {
    const text =
      'event: run.claimed\ndata: {"type":"run.claimed"}\n\nevent: run.ended\ndata: {"type":"run.ended"}\n\n';
    const client = createClient({ fetch: async () => streamed(text) });
    const types: string[] = [];
    for await (const { type } of client.watchRun({ runId: "q" })) types.push(type);
    expect(types).toEqual(["run.claimed", "run.ended"]);
  });
});
