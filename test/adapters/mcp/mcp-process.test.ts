import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import { lastErrorLine } from "../../../src/adapters/mcp/mcp-process.ts";
import { actingServer, call, isAlive, opened, rawServer, until } from "../../mcp/mcp-fixture.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

it("A server's process is started by its first user, and shared by all", async () => {
  const { source, pids } = actingServer("echoes");
  expect(pids()).toEqual([]);
  const [one, two] = await Promise.all([opened(source), opened(source, "other")]);
  expect(await call(one, "raw__act", { a: 1 })).toBe('{"a":1}');
  expect(await call(two, "other__act", { b: 2 })).toBe('{"b":2}');
  expect(pids()).toHaveLength(1);
  await one.close();
  await one.close();
  expect(pids().map(isAlive)).toEqual([true]);
  await two.close();
  expect(pids().map(isAlive)).toEqual([false]);
  await opened(source);
  expect(pids()).toHaveLength(2);
});

it("A server's process ends with all its children, even if they ignore signals", async () => {
  const { server, pids } = rawServer({ act: { does: "echoes" } }, "heeds nothing");
  // As with npx: the real server is the child of a shell.
  const script = [server.command, ...server.args].map((word) => `'${word}'`).join(" ");
  const open = await opened(mcpTools({ command: "sh", args: ["-c", `${script}; true`] }));
  expect(pids().map(isAlive)).toEqual([true]);
  await open.close();
  await until(() => !pids().some(isAlive), "the server is gone");
});

it("A server's process that starts only on the second attempt is used", async () => {
  const { server, pids } = rawServer({ act: { does: "echoes" } }, "ends the first time");
  await opened(mcpTools(server));
  expect(pids().map(isAlive)).toEqual([false, true]);
});

it("A server's process may support only the later revision of the protocol", async () => {
  const server = fileURLToPath(new URL("../../mcp/servers/modern-server.ts", import.meta.url));
  const open = await opened(mcpTools({ command: process.execPath, args: [server] }));
  expect(JSON.parse(String(await call(open, "raw__get_meta")))).toMatchObject({ "pawl/run_id": "run-1" });
});

it("A server's process does not outlive us if we exit without closing it, even if it ignores signals", async () => {
  const { server, pids } = rawServer({ act: { does: "echoes" } }, "heeds nothing");
  const script = `
    import { mcpTools } from "./src/adapters/mcp/mcp.ts";
    const nothing = () => undefined;
    const opening = { signal: new AbortController().signal, warn: nothing, learnSecrets: nothing, hide: (text) => text, hideTexts: (value) => value };
    await mcpTools(${JSON.stringify(server)}).open("raw", opening);
    process.exit(0);
  `;
  await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { cwd: ROOT });
  expect(pids()).toHaveLength(1);
  await until(() => !pids().some(isAlive), "the server is gone");
});

it("A server's process gets the basic environment, its own variables, and nothing else", async () => {
  const { server } = rawServer({ act: { does: "returns its environment" } });
  vi.stubEnv("PAWL_OF_OURS", "hidden");
  onTestFinished(() => void vi.unstubAllEnvs());
  const open = await opened(mcpTools({ ...server, env: { PAWL_GIVEN: "x" } }));
  expect(await call(open, "raw__act")).toBe("PATH,PAWL_GIVEN");
});

it.each([
  ["Error: no\n    at a (b.js:1:1) {\n  code: 'X'\n}\n\nNode.js v24.0.0\n", "Error: no"],
  ["Traceback (most recent call last):\n  File x\nValueError: no\r\n", "ValueError: no"],
  ["one\ntwo", "two"],
  ["\n\n", null],
])("The last error line is the one with the error: %j", (stderr, line) => {
  expect(lastErrorLine(stderr)).toBe(line);
});
