import { expect, it } from "vitest";
import { mcpTools } from "../../src/adapters/mcp/mcp.ts";
import { Runner, Step } from "../../src/index.ts";
import { memoryStore, scriptedAgent, toolResults } from "../engine/run-fixture.ts";
import { isAlive, rawServer } from "./mcp-fixture.ts";

const asking = (name: string, input: unknown = {}) => ({ toolCalls: [{ name, input }] });

it("A key that the server's schema has a field for is filled in, and the model does not see it", async () => {
  const inputSchema = {
    type: "object",
    properties: { to: { type: "string" }, idempotency_key: { type: "string" } },
    required: ["to", "idempotency_key"],
  };
  const raw = rawServer({ send_mail: { does: "echoes", inputSchema } });
  const source = mcpTools({ ...raw.server, tools: { send_mail: { requiresIdempotencyKey: true } } });
  let schema: unknown;
  const { agent } = scriptedAgent(
    ({ turn, options }) => {
      schema = options.tools?.[0];
      return turn === 1 ? asking("mail__send_mail", { to: "ann" }) : { text: "Sent." };
    },
    { tools: { mail: source } },
  );
  const store = await memoryStore();
  await new Runner(agent, { store }).run("Send it.", { runId: "r-1" });
  expect(schema).toMatchObject({
    name: "mail__send_mail",
    inputSchema: { properties: { to: {} }, required: ["to"] },
  });
  expect(JSON.stringify(schema)).not.toContain("idempotency_key");
  const [seen] = raw.calls();
  const key = seen?.params?._meta?.["pawl/idempotency_key"];
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(seen?.params?.arguments).toEqual({ to: "ann", idempotency_key: key });
  expect(seen?.params?._meta).toMatchObject({ "pawl/run_id": "r-1", "pawl/tool_call_id": "r-1/worker#1.1" });
  expect(raw.pids().map(isAlive)).toEqual([false]);
});

it("Concurrent runs share one server, which runs until the last of them is done", async () => {
  const raw = rawServer({ get_time: { does: "echoes" } });
  const source = mcpTools(raw.server);
  const store = await memoryStore();
  let arrived = 0;
  let go: () => void = () => undefined;
  const both = new Promise<void>((resolve) => {
    go = resolve;
  });
  const runs = ["one", "two"].map((name) => {
    const { agent } = scriptedAgent(
      async ({ turn }) => {
        if (turn === 1) {
          arrived += 1;
          if (arrived === 2) go();
          await both;
        }
        return turn === 1 ? asking("clock__get_time", { name }) : { text: name };
      },
      { name, tools: { clock: source } },
    );
    return new Runner(agent, { store }).run("What time is it?", { runId: name });
  });
  const results = await Promise.all(runs);
  expect(results.map(({ output }) => output)).toEqual(["one", "two"]);
  expect(raw.pids()).toHaveLength(1);
  expect(raw.calls()).toHaveLength(2);
  expect(raw.pids().map(isAlive)).toEqual([false]);
});

it("A call that times out is cancelled at the server, and a write is then in doubt", async () => {
  const raw = rawServer({ send_mail: { does: "hangs" } });
  const { agent } = scriptedAgent([asking("mail__send_mail"), { text: "No." }], {
    tools: { mail: mcpTools({ ...raw.server, tools: { send_mail: { timeoutMs: 200 } } }) },
  });
  const store = await memoryStore();
  const result = await new Runner(agent, { store }).run("Send it.", { runId: "r-1" });
  expect(result).toMatchObject({ status: "waiting", waits: [{ kind: "in_doubt" }] });
  expect(raw.seen("notifications/cancelled")).toHaveLength(1);
  expect(raw.calls()).toHaveLength(1);
});

it("A read during which the server ends is repeated with a new server; a write is not, and the model gets the error", async () => {
  const raw = rawServer({ get_page: { does: "ends the first time" }, send_page: { does: "ends" } });
  const { agent, prompts } = scriptedAgent(
    [asking("site__get_page"), asking("site__send_page"), { text: "Done." }],
    { tools: { site: mcpTools(raw.server) } },
  );
  const store = await memoryStore();
  const policy = { trustedServers: ["site"] };
  await new Runner(agent, { store, policy }).run("Go.", { runId: "r-1" });
  expect(toolResults(prompts.at(-1))).toEqual([
    { type: "text", value: "at last" },
    {
      type: "error-text",
      value: expect.stringMatching(/exited with code 3.*the call may or may not have happened/),
    },
  ]);
  const calls = await store.listToolCalls("r-1");
  expect(calls.map(({ tool, attempt, status }) => ({ tool, attempt, status }))).toEqual([
    { tool: "site__get_page", attempt: 2, status: "succeeded" },
    { tool: "site__send_page", attempt: 1, status: "failed" },
  ]);
});

it("A hint that a tool changes something counts; a hint that it does not counts only from a trusted server", async () => {
  const raw = rawServer({
    get_page: { does: "echoes", annotations: { readOnlyHint: false } },
    frobnicate: { does: "echoes", annotations: { readOnlyHint: true } },
  });
  const source = mcpTools(raw.server);
  const effects = async (policy: { trustedServers?: readonly string[] }) => {
    const { agent } = scriptedAgent(
      [
        {
          toolCalls: [
            { name: "site__get_page", input: {} },
            { name: "site__frobnicate", input: {} },
          ],
        },
        { text: "Done." },
      ],
      { tools: { site: source } },
    );
    const store = await memoryStore();
    await new Runner(agent, { store, policy }).run("Go.", { runId: "r-1" });
    return (await store.listToolCalls("r-1")).map(({ effect }) => effect);
  };
  expect(await effects({})).toEqual(["external", "external"]);
  expect(await effects({ trustedServers: ["site"] })).toEqual(["external", "read_only"]);
});

it("A code step can call them too", async () => {
  const raw = rawServer({ get_page: { does: "echoes" } });
  const source = mcpTools({ ...raw.server, name: "site" });
  const step = Step.run("look", async (_, ctx) => {
    const { site__get_page: getPage } = await ctx.tools(source);
    if (getPage === undefined) throw new Error("There is no such tool.");
    return ctx.call(getPage, { page: 1 });
  });
  const store = await memoryStore();
  const { output } = await new Runner(step, { store }).run("Go.", { runId: "r-1" });
  expect(output).toBe('{"page":1}');
  expect(raw.pids().map(isAlive)).toEqual([false]);
});
