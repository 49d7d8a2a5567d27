import { expect, it, vi } from "vitest";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import { McpConnection } from "../../../src/adapters/mcp/mcp-connection.ts";
import { ConfigurationError, NotApplied } from "../../../src/index.ts";
import { call, failureOf, isAlive, opened, rawServer, until } from "../../mcp/mcp-fixture.ts";

it("A server that does not start is tried several times, and then reported with its last error line", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0); // The shortest pauses between attempts.
  const failing = rawServer({}, "ends");
  const passing = rawServer({ act: { does: "ends" } }, "ends after the first time");
  const source = mcpTools({ ...failing.server, env: { TOKEN: "t-123" } });
  const open = await opened(mcpTools(passing.server));
  await failureOf(call(open, "raw__act"));
  // Concurrently, since each takes seconds.
  const [error, unsent] = await Promise.all([failureOf(opened(source)), failureOf(call(open, "raw__act"))]);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error.message).toMatch(
    /^The MCP server raw \(.*\) exited with code 7 \(stderr: "It cannot start like this\."\)\.$/,
  );
  expect(error.message).not.toContain("t-123");
  expect(failing.pids().length).toBeGreaterThan(2);
  expect(NotApplied.isInstance(unsent)).toBe(true);
  expect(unsent.message).toMatch(
    /^Nothing was sent to the MCP server raw \(.*\): it exited with code 9 \(stderr: /,
  );
  expect(passing.calls()).toHaveLength(1);
});

it("A missing command fails at once, and keys among its arguments are not shown", async () => {
  const args = ["--api-key", "k-123", "--token=t-123", "x"];
  const error = await failureOf(opened(mcpTools({ command: "/no/such/command", args })));
  expect(error.message).toBe(
    "The MCP server raw (command) cannot be started (spawn /no/such/command ENOENT): check the command and its cwd.",
  );
});

it("A server that does not answer is started again until it is no longer needed", async () => {
  const { server, pids } = rawServer({}, "is silent");
  const stop = new AbortController();
  const connection = new McpConnection(server, 500);
  const user = { hide: (text: string) => text, onIgnored: () => undefined };
  connection.join(user);
  const linking = failureOf(connection.link(stop.signal));
  await until(() => pids().length > 1, "it is tried again");
  stop.abort(new Error("The run is over."));
  expect((await linking).message).toBe("The run is over.");
  await connection.leave(user);
  expect(pids().filter(isAlive)).toEqual([]);
});

it("A run that ends while a server starts does not wait for it, and leaves nothing behind", async () => {
  const { server, pids } = rawServer({}, "is silent");
  const stop = new AbortController();
  const opening = failureOf(opened(mcpTools(server), "raw", stop.signal));
  await until(() => pids().length > 0, "it has started");
  stop.abort(new Error("The run is over."));
  expect((await opening).message).toBe("The run is over.");
  expect(pids().map(isAlive)).toEqual([false]);
});
