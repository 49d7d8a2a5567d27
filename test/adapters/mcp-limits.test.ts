// What a server may send: who it is connected to, and how much of it is taken.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { mcpTools } from "../../src/adapters/mcp.ts";
import { serverFetch } from "../../src/adapters/mcp-http.ts";
import { MessageLimit } from "../../src/adapters/mcp-message-limit.ts";
import { everyNameIsHere } from "../every-name-is-here.ts";
import { failureOf, opened } from "../mcp/mcp-fixture.ts";
import { handMadeServer, sendForEver } from "../mcp/servers/hand-made-server.ts";

const listing = (...tools: unknown[]) => handMadeServer((_, result) => result({ tools }));
const named = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more });
const largeSchema = {
  type: "object",
  properties: { a: { type: "string", description: "x".repeat(70_000) } },
};

it("A server with more than 200 tools is refused, in a sentence that says so", async () => {
  const server = await listing(...Array.from({ length: 201 }, (_, i) => named(`t${i}`)));
  const error = await failureOf(opened(mcpTools({ url: server.url }), "web"));
  expect(error.message).toBe(
    `The MCP server web (http://127.0.0.1:${server.port}) lists 201 tools, and 200 is the most: have it offer fewer.`,
  );
  expect(server.methods.filter((method) => method === "tools/list")).toHaveLength(1);
});

it("A tool whose schema is too large is refused by name, and the others can be had without it", async () => {
  const server = await listing(named("small"), named("large", { inputSchema: largeSchema }));
  const error = await failureOf(opened(mcpTools({ url: server.url }), "web"));
  expect(error.message).toMatch(
    /^The tool "large" of the MCP server web \(.*\) has an input schema of \d+ bytes, and 65536 is the most: leave the tool out with `only`/,
  );
  const some = await opened(mcpTools({ url: server.url, only: ["small"] }), "web");
  expect(Object.keys(some.tools)).toEqual(["web__small"]);
});

it("A long description is cut, and a name without end refused", async () => {
  const wordy = await listing(named("wordy", { description: "d".repeat(20_000) }));
  const open = await opened(mcpTools({ url: wordy.url }), "web");
  expect(open.tools.web__wordy?.description).toBe(`${"d".repeat(16_000)} [4000 more characters were cut]`);
  const endless = await listing(named("n".repeat(5_000)));
  const error = await failureOf(opened(mcpTools({ url: endless.url }), "web"));
  expect(error.message).toMatch(/lists a tool with a name of 5000 characters, and 200 is the most\.$/);
});

it("A list without an end is broken off, and not asked for again", async () => {
  const server = await handMadeServer((response) => sendForEver(response, '{"jsonrpc":"2.0","id":1,'));
  const error = await failureOf(opened(mcpTools({ url: server.url }), "web"));
  expect(error.message).toMatch(/^The MCP server web .* sent a list of tools of more than 1 MB\.$/);
  expect(server.methods.filter((method) => method === "tools/list")).toHaveLength(1);
});

it("A stream may go on for ever, but none of its messages", async () => {
  const event = `data: ${"x".repeat(4 * 1024 * 1024)}\r\n\r\n`;
  const server = createServer(({ url }, response) => {
    response.setHeader("content-type", "text/event-stream");
    response.end(url === "/long" ? event.replaceAll("\r\n", "").repeat(3) : event.repeat(3));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const get = serverFetch({ url }, new MessageLimit());
  expect((await (await get(`${url}/many`)).text()).length).toBe(3 * event.length);
  await expect((await get(`${url}/long`)).text()).rejects.toThrow("it sent a message of more than 10 MB");
});

it("A name that resolves to a private address is not connected to, unless that is said to be meant", async () => {
  everyNameIsHere();
  const server = await listing(named("act"));
  const url = `http://mcp.museum.example:${server.port}/mcp`;
  const error = await failureOf(opened(mcpTools({ url }), "web"));
  expect(error.message).toMatch(
    /may not be connected to \(The host mcp\.museum\.example resolves to 127\.0\.0\.1, which is private or reserved: give it private: true if that is meant\)\.$/,
  );
  expect(server.methods).toEqual([]);
  const open = await opened(mcpTools({ url, private: true }), "web");
  expect(Object.keys(open.tools)).toEqual(["web__act"]);
});
