import { expect, it } from "vitest";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import { FinalFailure, NeedsHuman, NotApplied, Runner } from "../../../src/index.ts";
import { memoryStore, scriptedAgent, toolResults } from "../../engine/run-fixture.ts";
import { call, failureOf, opened, until } from "../../mcp/mcp-fixture.ts";
import { httpServer, type Interference } from "../../mcp/servers/http-server.ts";

const PARIS = { city: "Paris" };

it.each(["stateless", "sessions", "modern"] as const)("An HTTP server can be used: %s", async (kind) => {
  const { url, requests, calls } = await httpServer(kind);
  const open = await opened(mcpTools({ url, headers: { authorization: "Bearer t-123" } }), "web");
  expect(Object.keys(open.tools)).toEqual(["web__get_weather"]);
  const traceHeaders = { traceparent: "00-a-b-01" };
  expect(await call(open, "web__get_weather", PARIS, { traceHeaders })).toBe("Sun in Paris");
  expect(calls()).toHaveLength(1);
  expect(calls()[0]?.body.params?._meta).toMatchObject({
    "pawl/run_id": "run-1",
    traceparent: "00-a-b-01",
  });
  await open.close();
  expect(new Set(requests.map(({ headers }) => headers.authorization))).toEqual(new Set(["Bearer t-123"]));
  // The session is ended, and not left for the server to expire.
  expect(requests.some(({ method }) => method === "DELETE")).toBe(kind === "sessions");
});

it("A server that no longer knows the session gets a new handshake, and the call is retried", async () => {
  const server = await httpServer("sessions");
  const open = await opened(mcpTools({ url: server.url }), "web");
  server.forget();
  const error = await failureOf(call(open, "web__get_weather", PARIS));
  expect(NotApplied.isInstance(error)).toBe(true);
  expect(error.message).toMatch(/^Nothing was sent to the MCP server web .*no longer knows the session/);
  expect(await call(open, "web__get_weather", PARIS)).toBe("Sun in Paris");
});

it("A call to an address that no longer listens has not happened", async () => {
  const server = await httpServer("stateless");
  const open = await opened(mcpTools({ url: server.url }), "web");
  await server.stop();
  await untilRefused(server.url);
  const error = await failureOf(call(open, "web__get_weather", PARIS));
  expect(NotApplied.isInstance(error)).toBe(true);
});

it("A call that waits for its answer gets it even if another one finds that the session is gone", async () => {
  const server = await httpServer("sessions");
  const open = await opened(mcpTools({ url: server.url }), "web");
  let answer: () => void = () => undefined;
  server.interfere(({ body }, response) => {
    if (body.method !== "tools/call") return false;
    const result = { content: [{ type: "text", text: "Late, but here" }] };
    answer = () =>
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ jsonrpc: "2.0", id: body.id, result }));
    server.interfere(() => false);
    return true;
  });
  const slow = call(open, "web__get_weather", PARIS);
  await until(() => server.calls().length === 1, "the call has arrived");
  server.forget();
  await failureOf(call(open, "web__get_weather", PARIS));
  expect(await call(open, "web__get_weather", PARIS)).toBe("Sun in Paris");
  answer();
  expect(await slow).toBe("Late, but here");
});

/** Until the sockets of earlier requests are known to be closed, a request on one may have arrived. */
async function untilRefused(url: string): Promise<void> {
  for (;;) {
    const error = await failureOf(fetch(url));
    if (error.cause instanceof Error && "code" in error.cause && error.cause.code === "ECONNREFUSED") return;
  }
}

/** Interferes with calls only. */
const onCall =
  (act: (response: Parameters<Interference>[1]) => void): Interference =>
  ({ body }, response) => {
    if (body.method !== "tools/call") return false;
    act(response);
    return true;
  };

it("A call that was sent and whose answer breaks off has an unknown outcome", async () => {
  const server = await httpServer("sessions");
  const open = await opened(mcpTools({ url: server.url }), "web");
  const failures: Error[] = [];
  for (const act of [
    onCall((response) => response.destroy()),
    onCall((response) => response.writeHead(200, { "content-type": "text/event-stream" }).end(": bye\n\n")),
    onCall((response) => response.writeHead(200, { "content-type": "application/json" }).end("{ broken")),
    onCall((response) => response.writeHead(502).end("bad gateway")),
  ]) {
    server.interfere(act);
    failures.push(await failureOf(call(open, "web__get_weather", PARIS)));
  }
  expect(failures.map(({ name }) => name)).toEqual(["Error", "Error", "Error", "Error"]);
  expect(failures.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^During "get_weather" of the MCP server web .* broke the connection/),
    expect.stringMatching(/closed the stream of its answer: the call may or may not have happened/),
    expect.stringMatching(/the call may or may not have happened\.$/),
    expect.stringMatching(/answered with HTTP 502: the call may or may not have happened/),
  ]);
  expect(server.calls()).toHaveLength(4);
  server.interfere(() => false);
  expect(await call(open, "web__get_weather", PARIS)).toBe("Sun in Paris");
});

it("A refused call names the HTTP status", async () => {
  const server = await httpServer("stateless");
  const open = await opened(mcpTools({ url: server.url }), "web");
  const refusedWith = (status: number) => {
    server.interfere(onCall((response) => response.writeHead(status).end("no")));
    return failureOf(call(open, "web__get_weather", PARIS));
  };
  expect(NeedsHuman.isInstance(await refusedWith(401))).toBe(true);
  expect(FinalFailure.isInstance(await refusedWith(403))).toBe(true);
  expect(NotApplied.isInstance(await refusedWith(429))).toBe(true);
});

it("A server that refuses the credentials is not retried, and the credentials are not shown", async () => {
  const server = await httpServer("stateless");
  server.interfere((_, response) => {
    response.writeHead(401).end("no");
    return true;
  });
  const source = mcpTools({ url: `${server.url}?key=k-123`, headers: { authorization: "Bearer t-123" } });
  const error = await failureOf(opened(source, "web"));
  const { origin } = new URL(server.url);
  expect(error.message).toBe(`The MCP server web (${origin}) answered with HTTP 401: check the headers.`);
  expect(server.requests).toHaveLength(1);
});

it("A run that may not connect to the server's address sends it nothing", async () => {
  const server = await httpServer("stateless");
  const script = [{ toolCalls: [{ name: "web__get_weather", input: PARIS }] }, { text: "Done." }];
  const shownUnder = async (constraints: { allowedDomains: readonly string[] }) => {
    const { agent, prompts } = scriptedAgent(script, { tools: { web: mcpTools({ url: server.url }) } });
    await new Runner(agent, { store: await memoryStore(), constraints }).run("Go.");
    return toolResults(prompts.at(-1));
  };
  expect(await shownUnder({ allowedDomains: [] })).toEqual([{ type: "text", value: "Sun in Paris" }]);
  expect(await shownUnder({ allowedDomains: ["127.0.0.1:*"] })).toEqual([
    { type: "text", value: "Sun in Paris" },
  ]);
  expect(server.calls()).toHaveLength(2);
  const seen = server.requests.length;
  const error = await failureOf(shownUnder({ allowedDomains: ["example.com"] }));
  expect(error.message).toMatch(
    /^Nothing was sent to the MCP server web .*: the host 127\.0\.0\.1:\d+ is not in allowedDomains/,
  );
  expect(server.requests).toHaveLength(seen);
});

it("A call is checked against the run's allowed domains even after the server was opened", async () => {
  const server = await httpServer("stateless");
  const open = await opened(mcpTools({ url: server.url }), "web");
  const network = { allowedDomains: ["example.com"], allowPrivateAddresses: false };
  const error = await failureOf(call(open, "web__get_weather", PARIS, { network }));
  expect(error).toMatchObject({
    name: "FinalFailure",
    message: expect.stringContaining("not in allowedDomains"),
  });
  expect(server.calls()).toEqual([]);
});

it("An answer that only mentions a session is an answer: the call may have done something, and is not retried", async () => {
  const server = await httpServer("sessions");
  const open = await opened(mcpTools({ url: server.url }), "web");
  server.interfere(
    onCall((response) => response.writeHead(400).end("Checkout session 17 has no mail address.")),
  );
  const error = await failureOf(call(open, "web__get_weather", PARIS));
  expect(error).toMatchObject({ name: "FinalFailure", message: expect.stringContaining("HTTP 400") });
  expect(error).not.toMatchObject({ details: { applied: false } });
  expect(server.calls()).toHaveLength(1);
});

it("A call whose second request cannot be sent may have happened with the first", async () => {
  const server = await httpServer("modern");
  const open = await opened(mcpTools({ url: server.url }), "web");
  server.interfere(({ body: { id, method } }, response) => {
    if (method !== "tools/call") return false;
    const result = { resultType: "input_required", requestState: "half-done" };
    response.writeHead(200, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    void server.stop();
    return true;
  });
  const error = await failureOf(call(open, "web__get_weather", PARIS));
  expect(server.calls()).toHaveLength(1);
  expect(error.message).toMatch(/the call may or may not have happened/);
  expect(NotApplied.isInstance(error)).toBe(false);
});
