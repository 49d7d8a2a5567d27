import { connect, createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createClient } from "../../../src/client/client.ts";
import { openStore, type Store } from "../../../src/index.ts";
import { type PawlServer, type ServeOptions, servePawl } from "../../../src/server/http/serve-pawl.ts";

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
    ]);
  });

  it("breaks open streams when it stops, and does not end them", async () => {
    const server = await served();
    const token = await tokenOf(server);
    const response = await fetch(`${server.url}/v1/stream`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const reader = response.body?.getReader();
    await reader?.read();
    const end = (async () => {
      for (;;) if ((await reader?.read())?.done !== false) return "ended";
    })().catch(() => "broken");
    await server.close();
    expect(await end).toBe("broken");
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
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
