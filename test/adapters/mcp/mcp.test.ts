import { describe, expect, it } from "vitest";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import { ConfigurationError, FinalFailure, NotApplied } from "../../../src/index.ts";
import { actingServer, call, failureOf, isAlive, opened, rawServer, until } from "../../mcp/mcp-fixture.ts";

describe("the tools of a server", () => {
  it("are named after it, with its descriptions and hints", async () => {
    const inputSchema = { type: "object", properties: { page: { type: "string" } }, required: ["page"] };
    const annotations = { title: "Read", readOnlyHint: true, idempotentHint: false };
    const { server } = rawServer({ read_page: { does: "echoes", inputSchema, annotations } });
    const { tools } = await opened(mcpTools(server), "site");
    expect(Object.keys(tools)).toEqual(["site__read_page"]);
    expect(tools.site__read_page).toMatchObject({
      namespace: "mcp",
      server: "site",
      description: "Does read_page.",
      annotations: { readOnlyHint: true, idempotentHint: false },
      effect: null,
      recovery: null,
    });
    expect(await tools.site__read_page?.input.jsonSchema()).toEqual(inputSchema);
  });

  it("are the chosen ones, with the given options", async () => {
    const { server } = rawServer({
      list_a: { does: "echoes" },
      list_b: { does: "echoes" },
      send: { does: "echoes" },
    });
    const declared = { effect: "read_only", timeoutMs: 5 } as const;
    const source = mcpTools({ ...server, only: ["list_*"], timeoutMs: 4_000, tools: { list_b: declared } });
    const { tools } = await opened(source);
    expect(Object.keys(tools)).toEqual(["raw__list_a", "raw__list_b"]);
    expect(tools.raw__list_a).toMatchObject({ effect: null, timeoutMs: 4_000 });
    expect(tools.raw__list_b).toMatchObject({ effect: "read_only", timeoutMs: 5 });
  });

  it("are refused if an option names one that it does not have", async () => {
    const { server, pids } = rawServer({ send: { does: "echoes" } });
    const source = mcpTools({ ...server, tools: { sned: { approval: true } } });
    const error = await failureOf(opened(source));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toMatch(/has no tool "sned": it has send\.$/);
    expect(pids().map(isAlive)).toEqual([false]);
  });

  it("need either a command or a url, and valid options", () => {
    const nothing = {} as { command: string };
    expect(() => mcpTools(nothing)).toThrow(/command, or its url/);
    expect(() => mcpTools({ url: "file:///tmp" })).toThrow(/begins with http/);
    expect(() => mcpTools({ url: "https://ann:pw@example.com" })).toThrow(/no url with a user name/);
    const wrong = { send: { effect: "harmless" as "local" } };
    expect(() => mcpTools({ command: "x", tools: wrong })).toThrow(/"send" has effect "harmless"/);
  });
});

describe("a call", () => {
  it("carries its ids and its trace", async () => {
    const { source, calls } = actingServer("echoes");
    const open = await opened(source);
    const traceHeaders = { traceparent: "00-a-b-01", tracestate: "x=y", baggage: "run=1", cookie: "no" };
    await call(open, "raw__act", { a: 1 }, { traceHeaders });
    const [seen] = calls();
    expect(seen?.params?.arguments).toEqual({ a: 1 });
    expect(seen?.params?._meta).toEqual({
      "pawl/run_id": "run-1",
      "pawl/step_id": "step-1",
      "pawl/tool_call_id": expect.stringMatching(/^call-\d+$/),
      "pawl/idempotency_key": expect.stringMatching(/^key-\d+$/),
      "pawl/attempt": 1,
      traceparent: "00-a-b-01",
      tracestate: "x=y",
      baggage: "run=1",
    });
  });

  it("fails permanently if the server answers with an error, with its message", async () => {
    const { server } = rawServer({
      errs: { does: "errs" },
      refuses: { does: "refuses" },
      lacks: { does: "says no such method" },
      answers: { does: "answers rubbish" },
    });
    const open = await opened(mcpTools(server));
    const failures = await Promise.all(
      ["errs", "refuses", "lacks", "answers"].map((name) => failureOf(call(open, `raw__${name}`))),
    );
    expect(failures.every((error) => FinalFailure.isInstance(error))).toBe(true);
    expect(failures.map(({ message }) => message)).toEqual([
      "There is no such page.",
      expect.stringMatching(/^"refuses" of the MCP server raw .* rejected the arguments: .*No such colour/),
      expect.stringMatching(/^There is no "lacks" of the MCP server raw/),
      expect.stringMatching(/^"answers" of the MCP server raw .* gave an unusable answer/),
    ]);
  });

  it("during which the server ends has an unknown outcome, with its last error line", async () => {
    const { source } = actingServer("ends");
    const error = await failureOf(call(await opened(source), "raw__act"));
    expect(error.name).toBe("Error");
    expect(error.message).toMatch(
      /^During "act" of the MCP server raw \(.*\), the server exited with code 3 \(stderr: "Error: the disk is full"\): the call may or may not have happened/,
    );
  });

  it("is distinguished from another one with the same id, which a run in another store may have", async () => {
    const { source, calls, pids } = actingServer("hangs");
    const open = await opened(source);
    const both = [1, 2].map(() => failureOf(call(open, "raw__act", {}, { toolCallId: "daily/worker#1.1" })));
    await until(() => calls().length === 2, "both have arrived");
    for (const pid of pids()) process.kill(pid, "SIGKILL");
    const errors = await Promise.all(both);
    expect(errors.map((error) => NotApplied.isInstance(error))).toEqual([false, false]);
  });

  it("after the server has ended gets a new one", async () => {
    const { source, pids, calls } = actingServer("ends the first time");
    const open = await opened(source);
    expect(NotApplied.isInstance(await failureOf(call(open, "raw__act")))).toBe(false);
    expect(await call(open, "raw__act")).toBe("at last");
    expect(pids()).toHaveLength(2);
    expect(calls()).toHaveLength(2);
  });

  it("during which the server closes its output has an unknown outcome", async () => {
    const { source, pids } = actingServer("closes its output");
    const open = await opened(source);
    const error = await failureOf(call(open, "raw__act"));
    expect(error.name).toBe("Error");
    expect(error.message).toMatch(/the server closed its output: the call may or may not have happened/);
    await open.close();
    expect(pids().map(isAlive)).toEqual([false]);
  });

  it("whose answer is too long has an unknown outcome, and the next one gets a new server", async () => {
    const { server, pids } = rawServer({ big: { does: "sends too much" }, small: { does: "echoes" } });
    const open = await opened(mcpTools(server));
    const error = await failureOf(call(open, "raw__big"));
    expect(error.name).toBe("Error");
    expect(error.message).toContain("sent a message of more than 4 MB");
    expect(await call(open, "raw__small")).toBe("{}");
    expect(pids().map(isAlive)).toEqual([false, true]);
  });

  it("works despite invalid output, with one warning", async () => {
    const { source } = actingServer("writes invalid lines");
    const open = await opened(source);
    expect(await call(open, "raw__act")).toBe("in spite of that");
    expect(await call(open, "raw__act")).toBe("in spite of that");
    expect(open.warnings).toEqual([expect.stringMatching(/not a message; it was ignored: "Listening…"$/)]);
  });

  it("that is aborted is cancelled at the server, and the connection stays open", async () => {
    const { server, seen, calls, pids } = rawServer({ act: { does: "hangs" }, other: { does: "echoes" } });
    const open = await opened(mcpTools(server));
    const stop = new AbortController();
    const stopped = failureOf(call(open, "raw__act", {}, { signal: stop.signal }));
    await until(() => calls().length === 1, "the call has arrived");
    stop.abort(new Error("It took too long."));
    expect(await stopped).toMatchObject({ name: "Error", message: expect.stringContaining("was aborted") });
    expect(await call(open, "raw__other")).toBe("{}");
    expect(seen("notifications/cancelled")).toHaveLength(1);
    expect(pids()).toHaveLength(1);
  });

  it("that is aborted before anything was sent has not happened", async () => {
    const { source, calls } = actingServer("echoes");
    const open = await opened(source);
    const signal = AbortSignal.abort(new Error("It is too late."));
    const error = await failureOf(call(open, "raw__act", {}, { signal }));
    expect(NotApplied.isInstance(error)).toBe(true);
    expect(error.message).toMatch(/^Nothing was sent to the MCP server raw .*: It is too late\.$/);
    expect(calls()).toEqual([]);
  });
});

describe("a tool that changed since the run began", () => {
  it("is no longer called, with one warning", async () => {
    const { server, calls } = rawServer({ act: { does: "changes its tools" }, other: { does: "echoes" } });
    const source = mcpTools(server);
    const open = await opened(source);
    expect(await call(open, "raw__act")).toBe("changed");
    const errors = [await failureOf(call(open, "raw__act")), await failureOf(call(open, "raw__other"))];
    expect(errors.every((error) => FinalFailure.isInstance(error))).toBe(true);
    expect(errors[1]?.message).toMatch(
      /^The tool "other" of the MCP server raw .* changed since the run began\./,
    );
    expect(open.warnings).toEqual([expect.stringContaining("since the run began")]);
    expect(calls()).toHaveLength(1);
    expect(open.tools.raw__other?.description).toBe("Does other.");
    // A later run uses them as they are now.
    const later = await opened(source);
    expect(later.tools.raw__other?.description).toBe("Does other. In another way.");
    expect(await call(later, "raw__other")).toBe("{}");
  });
});
