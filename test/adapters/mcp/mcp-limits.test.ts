// Limits of a server: what may be connected to, and how much it may send.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import { serverFetch } from "../../../src/adapters/mcp/mcp-http.ts";
import { MessageLimit } from "../../../src/adapters/mcp/mcp-message-limit.ts";
import { call, failureOf, opened } from "../../mcp/mcp-fixture.ts";
import { behavingServer } from "../../mcp/servers/behaving-server.ts";
import { handMadeServer, sendForEver } from "../../mcp/servers/hand-made-server.ts";
import { resolveEveryNameToLocalhost } from "../../resolve-to-localhost.ts";

const listing = (...tools: unknown[]) => handMadeServer((_, result) => result({ tools }));
const named = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more });
const largeSchema = {
  type: "object",
  properties: { a: { type: "string", description: "x".repeat(70_000) } },
};

it("A server with more than 200 tools is refused with a clear error", async () => {
  const server = await listing(...Array.from({ length: 201 }, (_, i) => named(`t${i}`)));
  const error = await failureOf(opened(mcpTools({ url: server.url }), "web"));
  expect(error.message).toBe(
    `The MCP server web (http://127.0.0.1:${server.port}) lists 201 tools, and the maximum is 200: have it offer fewer.`,
  );
  expect(server.methods.filter((method) => method === "tools/list")).toHaveLength(1);
});

it("A tool whose schema is too large is refused by name, and the others can be used without it", async () => {
  const server = await listing(named("small"), named("large", { inputSchema: largeSchema }));
  const error = await failureOf(opened(mcpTools({ url: server.url }), "web"));
  expect(error.message).toMatch(
    /^The tool "large" of the MCP server web \(.*\) has an input schema of \d+ bytes, and the maximum is 65536: leave the tool out with `only`/,
  );
  const some = await opened(mcpTools({ url: server.url, only: ["small"] }), "web");
  expect(Object.keys(some.tools)).toEqual(["web__small"]);
});

it("A long description is cut, and an endless name is refused", async () => {
  const wordy = await listing(named("wordy", { description: "d".repeat(20_000) }));
  const open = await opened(mcpTools({ url: wordy.url }), "web");
  expect(open.tools.web__wordy?.description).toBe(`${"d".repeat(16_000)} [4000 more characters were cut]`);
  const endless = await listing(named("n".repeat(5_000)));
  const error = await failureOf(opened(mcpTools({ url: endless.url }), "web"));
  expect(error.message).toMatch(/lists a tool with a name of 5000 characters, and the maximum is 200\.$/);
});

it("An endless list is aborted, and not requested again", async () => {
  const server = await handMadeServer((response) => sendForEver(response, '{"jsonrpc":"2.0","id":1,'));
  const error = await failureOf(opened(mcpTools({ url: server.url }), "web"));
  expect(error.message).toMatch(/^The MCP server web .* sent a message of more than 4 MB\.$/);
  expect(server.methods.filter((method) => method === "tools/list")).toHaveLength(1);
});

it("A stream may be endless, but not one of its messages", async () => {
  const event = `data: ${"x".repeat(60_000)}\r\n\r\n`;
  const server = createServer(({ url }, response) => {
    response.setHeader("content-type", "text/event-stream");
    response.end(url === "/long" ? event.replaceAll("\r\n", "").repeat(100) : event.repeat(100));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const get = serverFetch({ url }, { limit: new MessageLimit(), onIgnored: () => undefined });
  const many = await (await get(`${url}/many`)).text();
  expect(many.match(/^data: x+$/gm)).toHaveLength(100);
  await expect((await get(`${url}/long`)).text()).rejects.toThrow("it sent a message of more than 4 MB");
});

it.each([
  ["an error", 500, "POST", '{"id":1,"method":"tools/call"}'],
  ["an answer to nothing", 202, "POST", '{"id":1,"method":"tools/call"}'],
  ["an answer to news", 200, "POST", '{"method":"notifications/initialized"}'],
  ["the end of a session", 200, "DELETE", null],
])(
  "Only a page is read of a body that is not a message, whatever its type: %s",
  async (_, status, method, body) => {
    const server = createServer((_request, response) => {
      response.on("error", () => undefined);
      response.writeHead(status, { "content-type": "text/event-stream" });
      sendForEver(response, "", "data: x\n\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => server.closeAllConnections());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const send = serverFetch({ url }, { limit: new MessageLimit(), onIgnored: () => undefined });
    const response = await send(url, { method, body });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe("(a long page)");
  },
);

it("A short error page is read unchanged", async () => {
  const server = createServer((_request, response) => void response.writeHead(403).end("Not you."));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = serverFetch({ url }, { limit: new MessageLimit(), onIgnored: () => undefined });
  expect(await (await send(url, { method: "POST", body: "{}" })).text()).toBe("Not you.");
});

const answer = (id: number, characters: number) =>
  JSON.stringify({ jsonrpc: "2.0", id, result: { text: "x".repeat(characters) } });

it("Only answers to a list request count as the list, whatever else arrives meanwhile", () => {
  const limit = new MessageLimit();
  limit.beginList();
  limit.recordRequest({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  limit.recordRequest({ jsonrpc: "2.0", id: 2, method: "tools/call" });
  limit.recordRequest({ jsonrpc: "2.0", id: 3, method: "tools/list" });
  expect(limit.admitted(answer(2, 2_000_000))).toHaveLength(answer(2, 2_000_000).length);
  expect(limit.admitted(answer(1, 600_000))).not.toBeNull();
  // The pages of one list are counted together, however their ids are spelled.
  const last = answer(3, 600_000).replace('"id":3', '"id":"3"');
  expect(() => limit.admitted(last)).toThrow("it sent a list of tools of more than 1 MB");
  expect(limit.wasExceeded).toBe(true);
});

it("A large message that was not requested is ignored, and an answer counts once", () => {
  const limit = new MessageLimit();
  limit.recordRequest({ jsonrpc: "2.0", id: 1, method: "tools/call" });
  expect(limit.admitted(answer(2, 100_000))).toBeNull();
  expect(limit.admitted(answer(1, 100_000).replace('"id"', '"method":"x","id"'))).toBeNull();
  expect(limit.admitted(answer(1, 100_000))).not.toBeNull();
  expect(limit.admitted(answer(1, 100_000))).toBeNull();
  expect(limit.admitted("Listening…")).toBe("Listening…");
});

it("A result of too many values is an error that says so, and the next call uses the same connection", async () => {
  const server = behavingServer(`
    let calls = 0;
    on.call = ({ raw }) =>
      calls++ === 0
        ? raw('{"content":[],"structuredContent":{"a":[' + Array(60000).fill("[]").join() + "]}}")
        : raw('{"content":[{"type":"text","text":"call ' + calls + '"}]}');
  `);
  const open = await opened(mcpTools(server));
  const error = await failureOf(call(open, "raw__act"));
  expect(error.message).toMatch(
    /^"act" of the MCP server raw .* failed: it answered with \d+ values, and the maximum is 30000: have it return less at a time$/,
  );
  expect(await call(open, "raw__act")).toBe("call 2");
});

it("A list of too many values is refused, however small it is, and so is a schema", async () => {
  const properties = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, {}]));
  const schema = (count: number) => ({ inputSchema: { type: "object", properties: properties(count) } });
  const many = await listing(...Array.from({ length: 10 }, (_, i) => named(`t${i}`, schema(1_500))));
  const error = await failureOf(opened(mcpTools({ url: many.url }), "web"));
  expect(error.message).toMatch(/^The MCP server web .* sent a list of tools of more than 20000 values\.$/);
  const out = await listing(
    named("act", { outputSchema: { type: "object", properties: properties(20_000) } }),
  );
  expect((await failureOf(opened(mcpTools({ url: out.url }), "web"))).message).toContain("20000 values");
  const one = await listing(named("act", schema(5_000)));
  expect((await failureOf(opened(mcpTools({ url: one.url }), "web"))).message).toMatch(
    /^The tool "act" of the MCP server web .* has an input schema of more than 4000 values, the maximum: leave/,
  );
});

it("A changed list is requested only after the previous one has arrived", async () => {
  const server = behavingServer(`
    let open = 0, most = 0, lists = 0;
    on.list = ({ result }) => {
      most = Math.max(most, ++open);
      lists += 1;
      if (lists === 2) changed();
      setTimeout(() => { open--; result({ tools: [ACT] }); }, lists === 2 ? 500 : 0);
    };
    on.call = ({ result }) => {
      if (lists === 1) changed();
      result({ content: [{ type: "text", text: most + " of " + lists }] });
    };
  `);
  const open = await opened(mcpTools(server));
  expect(await call(open, "raw__act")).toBe("1 of 1");
  const during = call(open, "raw__act");
  await sleep(200);
  expect(await Promise.all([during, call(open, "raw__act")])).toContain("1 of 3");
});

it("A server that refuses to list its tools gets no second handshake", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0); // The shortest pauses between attempts.
  const server = behavingServer('on.list = ({ error }) => error("No tools today");');
  const error = await failureOf(opened(mcpTools(server)));
  expect(error.message).toMatch(/^The MCP server raw .* could not be used \(No tools today\)\.$/);
});

it("A server that sends requests without reading the answers is closed", async () => {
  const server = behavingServer(`
    on.list = ({ result }) => {
      result({ tools: [ACT] });
      process.stdin.pause();
      for (let i = 0; i < 400; i++) send({ id: i + "x".repeat(10000), method: "ping" });
    };
  `);
  const open = await opened(mcpTools(server));
  const error = await failureOf(call(open, "raw__act"));
  expect(error.message).toContain("sends requests without reading the answers");
});

it("The last output of a server that has ended is read to its end", async () => {
  const server = behavingServer(`
    on.call = ({ id }) => {
      const news = JSON.stringify({ jsonrpc: "2.0", method: "notifications/x" }) + "\\n";
      const last = JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "the last" }] } });
      process.stdout.write(news.repeat(2000) + last + "\\n", () => process.exit(0));
    };
  `);
  const open = await opened(mcpTools(server));
  expect(await call(open, "raw__act")).toBe("the last");
});

it("A name that resolves to a private address is not connected to without private: true", async () => {
  resolveEveryNameToLocalhost();
  const server = await listing(named("act"));
  const url = `http://mcp.museum.example:${server.port}/mcp`;
  const error = await failureOf(opened(mcpTools({ url }), "web"));
  expect(error.message).toMatch(
    /may not be connected to \(The host mcp\.museum\.example resolves to 127\.0\.0\.1, which is private or reserved: give it private: true if that is intended\)\.$/,
  );
  expect(server.methods).toEqual([]);
  const open = await opened(mcpTools({ url, private: true }), "web");
  expect(Object.keys(open.tools)).toEqual(["web__act"]);
});
