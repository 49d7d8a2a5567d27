import { connect, createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { createAdaptorServer } from "@hono/node-server";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createClient } from "../../../src/client/client.ts";
import { agent, conversation, openStore, type Store } from "../../../src/index.ts";
import { OpenStreams } from "../../../src/server/http/open-streams.ts";
import { type PawlServer, type ServeOptions, servePawl } from "../../../src/server/http/serve-pawl.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function memoryStore(): Promise<Store> {
  const store = await openStore(":memory:");
  opened.push(() => store.close());
  return store;
}

async function served(options: Partial<ServeOptions> = {}): Promise<PawlServer> {
  const server = await servePawl({
    store: await memoryStore(),
    port: 0,
    checksAnswers: true,
    dashboard: false,
    ...options,
  });
  opened.push(() => server.close());
  return server;
}

/** The cookie of whoever follows the address that is printed. */
async function signedIn(server: PawlServer): Promise<string> {
  const address = new URL(await server.loginUrl({ name: "ana" }));
  expect(address.origin).toBe(server.url);
  const response = await fetch(`${server.url}/v1/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: address.hash.replace("#code=", "") }),
  });
  expect(response.status).toBe(200);
  return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

async function tokenOf(server: PawlServer): Promise<string> {
  const response = await fetch(`${server.url}/v1/tokens`, {
    method: "POST",
    headers: { "content-type": "application/json", cookie: await signedIn(server), origin: server.url },
    body: JSON.stringify({ name: "ci", role: "admin" }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { readonly secret: string }).secret;
}

const CHAT = JSON.stringify({
  id: "c-1",
  messages: [{ id: "u-1", role: "user", parts: [{ type: "text", text: "Hello" }] }],
  trigger: "submit-message",
});

/** All that a raw request is answered. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.end(text);
  let answer = "";
  for await (const piece of socket) answer += String(piece);
  return answer;
}

describe("a server", () => {
  it("is signed in to by the address that it prints, and used with the token that is made there", async () => {
    const server = await served();
    const client = createClient({ baseUrl: server.url, token: await tokenOf(server) });
    expect(await client.getMe()).toMatchObject({ name: "ci", role: "admin" });
    expect((await client.listRuns()).items).toEqual([]);
    const { items } = await client.listAudit();
    expect(items.map(({ who, act }) => [who.name, act])).toEqual([
      ["ana", "createToken"],
      ["ana", "createSession"],
      ["ana", "token.login"],
    ]);
    // The code that was printed, the session that it became, and what was made in that.
    const [made, signedIn, printed] = items;
    expect(printed?.target).toMatch(/^[0-9a-f]{16}$/);
    expect([signedIn?.target, made?.who.id]).toEqual([printed?.target, printed?.target]);
  });

  it.each([
    ["the stream of all runs", "/v1/stream", null],
    ["a watched run", "/v1/runs/run-1/watch", null],
    ["an answer of a chat", "/v1/chat/talk", CHAT],
    ["a chat that is read again", "/v1/chat/talk/c-1/stream", null],
  ])("breaks %s when it stops, and does not end it", async (_, path, body) => {
    const store = await memoryStore();
    await SampleRun.create(store, "run-1");
    const talker = agent({ name: "talk", instructions: "Talk.", model: scriptedModel([]) });
    const server = await served({ store, pipelines: { talk: conversation(talker) } });
    const headers = {
      authorization: `Bearer ${await tokenOf(server)}`,
      "content-type": "application/json",
    };
    const open = (at: string, sent: string | null) =>
      fetch(`${server.url}${at}`, { headers, ...(sent === null ? {} : { method: "POST", body: sent }) });
    if (path.startsWith("/v1/chat/talk/")) await (await open("/v1/chat/talk", CHAT)).body?.cancel();
    const response = await open(path, body);
    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    await reader?.read();
    const end = (async () => {
      for (;;) if ((await reader?.read())?.done !== false) return "ended";
    })().catch(() => "broken");
    await server.close();
    expect(await end).toBe("broken");
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });

  it("does not wait for connections on which nothing was asked", async () => {
    const server = await served();
    const socket = connect(server.port, "127.0.0.1");
    await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
    const asked = await raw(
      server.port,
      `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\nconnection: close\r\n\r\n`,
    );
    expect(asked).toContain("200 OK");
    const isClosed = new Promise<string>((resolve) => socket.once("close", () => resolve("at once")));
    const late = setTimeout(2_000, "after its grace");
    void server.close();
    expect(await Promise.race([isClosed, late])).toBe("at once");
  });

  it("keeps nothing of the streams that ended on a connection which is used again", async () => {
    const streams = new OpenStreams();
    const done = () => new Response("data: 1\n\n", { headers: { "content-type": "text/event-stream" } });
    const warned = vi.fn();
    process.on("warning", warned);
    const node = createAdaptorServer({ fetch: (_, { outgoing }) => streams.over(outgoing, done()) });
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
    opened.push(() => new Promise((resolve) => node.close(resolve)));
    const address = node.address();
    const port = typeof address === "object" ? address?.port : 0;
    for (let i = 0; i < 15; i++) await (await fetch(`http://127.0.0.1:${port}/`)).text();
    process.off("warning", warned);
    expect(warned).not.toHaveBeenCalled();
  });

  it("says in one sentence that its port is in use", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    opened.push(() => new Promise((resolve) => other.close(resolve)));
    const address = other.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    await expect(served({ port })).rejects.toThrow(`Port ${port} of 127.0.0.1 is in use`);
  });

  it("does not listen beyond this machine without a token and TLS in front of it", async () => {
    await expect(served({ host: "0.0.0.0" })).rejects.toThrow("--public-url");
    const publicUrl = "https://pawl.example.com";
    await expect(served({ host: "0.0.0.0", publicUrl })).rejects.toThrow("no token");
    const store = await memoryStore();
    await tokenOf(await served({ store }));
    const server = await served({ store, host: "0.0.0.0", publicUrl });
    expect(server.url).toBe(publicUrl);
    const asked = (host: string) =>
      raw(server.port, `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    expect(await asked("pawl.example.com")).toContain("200 OK");
    expect(await asked("evil.example")).toContain("421");
  });

  it("answers to its own port only, whatever the request line says", async () => {
    const server = await served();
    const get = (target: string, host: string) =>
      raw(server.port, `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    expect(await get("/healthz", `127.0.0.1:${server.port}`)).toContain("200 OK");
    expect(await get("/healthz", "127.0.0.1:1")).toContain("421");
    expect(await get("http://evil.example/healthz", "evil.example")).not.toContain("200 OK");
    expect(await get("/v1/runs/../../healthz", `127.0.0.1:${server.port}`)).not.toContain("500");
    expect(await raw(server.port, "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n")).toContain("400");
  });

  it("keeps its sessions when it starts again", async () => {
    const store = await memoryStore();
    const first = await served({ store });
    const cookie = await signedIn(first);
    await first.close();
    const second = await served({ store });
    expect((await fetch(`${second.url}/v1/me`, { headers: { cookie } })).status).toBe(200);
  });
});
