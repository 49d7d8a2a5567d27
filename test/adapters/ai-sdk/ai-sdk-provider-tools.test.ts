import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../../src/core/json.ts";
import { agent, Runner, tool } from "../../../src/index.ts";
import { crashAt } from "../../engine/call/call-fixture.ts";
import { databaseFile, failureOf, fileStore, memoryStore } from "../../engine/run-fixture.ts";
import { FakeOpenAiServer, raw } from "./fake-openai-server.ts";

let server: FakeOpenAiServer;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
});

afterEach(() => server.close());

const openai = () => createOpenAI({ apiKey: "sk-test", baseURL: server.baseUrl });

/** A response of OpenAI's Responses API. */
function responses(...output: readonly JsonObject[]) {
  return raw(
    200,
    JSON.stringify({
      id: "resp_1",
      object: "response",
      created_at: 1_700_000_000,
      status: "completed",
      model: "gpt-5.2",
      output,
      usage: { input_tokens: 20, output_tokens: 9 },
    }),
  );
}

const searched: JsonObject = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "pawl", sources: [{ type: "url", url: "https://example.com/" }] },
};
const noteCall: JsonObject = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "note",
  arguments: '{"text":"found it"}',
};
const message = (text: string): JsonObject => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

const note = tool({
  description: "Writes a line down.",
  inputSchema: z.object({ text: z.string() }),
  recovery: "repeat",
  execute: ({ text }) => ({ noted: text }),
});

function searcher() {
  const provider = openai();
  return agent({
    name: "searcher",
    model: provider.responses("gpt-5.2"),
    instructions: "You search.",
    providerOptions: { openai: { store: false } },
    tools: { note, web_search: provider.tools.webSearch({ searchContextSize: "low" }) },
  });
}

const items = (request: number) => server.requests[request]?.body.input as readonly JsonObject[];

describe("OpenAI's web search", () => {
  it("is sent as the provider's tool, is in the ledger, and is sent back unchanged, once, after a kill", async () => {
    const file = databaseFile();
    server.next(responses(searched, noteCall));
    const dying = await fileStore(file);
    const first = new Runner(searcher(), { store: dying, probe: crashAt("tool:executed") });
    await failureOf(first.run("Find pawls.", { runId: "r-1" }));
    await dying.close();
    expect(server.requests[0]?.path).toBe("/v1/responses");
    expect(server.requests[0]?.body.tools).toMatchObject([
      { type: "function", name: "note" },
      { type: "web_search", search_context_size: "low" },
    ]);

    server.next(responses(message("Found it.")));
    const store = await fileStore(file);
    const { output } = await new Runner(searcher(), { store }).resume("r-1");
    expect(output).toBe("Found it.");
    expect(server.requests).toHaveLength(2);
    expect(items(1).filter(({ type }) => type === "web_search_call")).toEqual([searched]);
    expect(items(1).filter(({ type }) => type === "function_call_output")).toHaveLength(1);
    expect(
      (await store.listToolCalls("r-1")).map(({ namespace, tool: name, effect, status }) => [
        namespace,
        name,
        effect,
        status,
      ]),
    ).toEqual([
      ["local", "note", "external", "succeeded"],
      ["provider", "web_search", "read_only", "succeeded"],
    ]);
  });

  it("that failed has a failed receipt", async () => {
    const store = await memoryStore();
    server.next(responses({ ...searched, status: "failed" }, message("No luck.")));
    await new Runner(searcher(), { store }).run("Find pawls.", { runId: "r-1" });
    expect((await store.listToolCalls("r-1"))[0]).toMatchObject({ tool: "web_search", status: "failed" });
  });
});

describe("a tool that a provider defines and Pawl runs", () => {
  it("is sent as the provider defines it, and runs here", async () => {
    const store = await memoryStore();
    const commands: string[] = [];
    const anthropic = createAnthropic({ apiKey: "none", baseURL: server.baseUrl });
    const bash = anthropic.tools.bash_20250124({
      execute: ({ command }) => {
        commands.push(command);
        return Promise.resolve("ok");
      },
    });
    const answer = (stop: string, ...content: readonly JsonObject[]) =>
      raw(
        200,
        JSON.stringify({
          type: "message",
          id: "msg_1",
          role: "assistant",
          model: "claude",
          content,
          stop_reason: stop,
          usage: { input_tokens: 3, output_tokens: 2 },
        }),
      );
    server.next(
      answer("tool_use", { type: "tool_use", id: "tu_1", name: "bash", input: { command: "ls" } }),
      answer("end_turn", { type: "text", text: "Listed." }),
    );
    const lister = agent({ name: "lister", model: anthropic.messages("claude"), tools: { bash } });
    const { output } = await new Runner(lister, { store }).run("List.", { runId: "r-1" });

    expect(output).toBe("Listed.");
    expect(commands).toEqual(["ls"]);
    expect(server.requests[0]?.body.tools).toEqual([{ name: "bash", type: "bash_20250124" }]);
    expect((await store.listToolCalls("r-1"))[0]).toMatchObject({ namespace: "local", status: "succeeded" });
  });

  it("is refused without an execute function, like any other", () => {
    const provider = openai();
    const shell = provider.tools.localShell({});
    expect(() => agent({ name: "a", model: provider.responses("gpt-5.2"), tools: { shell } })).toThrow(
      "Tool shell has no execute function, and Pawl runs the tools itself: add one.",
    );
  });
});
