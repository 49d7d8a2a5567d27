// Names that every object inherits, chosen by a provider, a model or a file.

import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { agent, Runner, tool } from "../../../src/index.ts";
import { type Script, scriptedModel } from "../../../src/testing/index.ts";
import { answer, FakeOpenAiServer } from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import { scriptedPort } from "../../testing/scripted-port.ts";
import { memoryStore, toolResults } from "../run-fixture.ts";

const NAMES = ["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf"];

function jotter() {
  const done: string[] = [];
  const jot = tool({
    description: "Writes a line down.",
    inputSchema: z.object({ text: z.string() }),
    recovery: "keyed",
    execute: ({ text }) => {
      done.push(text);
      return `jotted ${text}`;
    },
  });
  return { jot, done };
}

describe.each(NAMES)("a call with the id %s, next to an invalid one", (id) => {
  it("runs when it comes from a provider over HTTP", async () => {
    const server = await FakeOpenAiServer.start();
    onTestFinished(() => server.close());
    const { jot, done } = jotter();
    server.next(
      answer({
        toolCalls: [
          { id: "c-1", name: "jot", arguments: '{"text": "cut of' },
          { id, name: "jot", arguments: { text: "kept" } },
        ],
      }),
      answer("All done."),
    );
    const writer = agent({ name: "writer", model: openAiModel(server.baseUrl), tools: { jot } });
    const store = await memoryStore();

    const result = await new Runner(writer, { store }).run("Go", { runId: "r-1" });

    expect(result.output).toBe("All done.");
    expect(done).toEqual(["kept"]);
    expect((await store.listToolCalls("r-1")).map(({ receipt }) => receipt?.status)).toEqual([
      "cancelled",
      "succeeded",
    ]);
    const results = server.lastMessages.filter((message) => JSON.stringify(message).includes("tool_call_id"));
    expect(results).toEqual([
      { role: "tool", tool_call_id: "c-1", content: expect.stringContaining("not valid JSON") },
      { role: "tool", tool_call_id: id, content: "jotted kept" },
    ]);
  });

  it("runs when it comes from a custom model port", async () => {
    const { jot, done } = jotter();
    const script: Script = [
      {
        toolCalls: [
          { id: "c-1", name: "jot", input: { text: 7 } },
          { id, name: "jot", input: { text: "kept" } },
        ],
      },
      { text: "All done." },
    ];
    const writer = agent({ name: "writer", model: scriptedPort(script), tools: { jot } });

    const result = await new Runner(writer, { store: await memoryStore() }).run("Go");

    expect(result.output).toBe("All done.");
    expect(done).toEqual(["kept"]);
  });
});

describe.each(NAMES)("a tool named %s", (name) => {
  it("is offered and runs if it exists", async () => {
    const { jot, done } = jotter();
    const script: Script = [{ toolCalls: [{ name, input: { text: "kept" } }] }, { text: "All done." }];
    const tools = Object.fromEntries([[name, jot]]);
    const writer = agent({ name: "writer", model: scriptedModel(script), tools });

    await new Runner(writer, { store: await memoryStore() }).run("Go");

    expect(done).toEqual(["kept"]);
  });

  it("is reported to the model as unknown if it does not exist", async () => {
    const { jot, done } = jotter();
    const prompts: unknown[] = [];
    const model = scriptedModel(({ turn, options }) => {
      prompts.push(toolResults(options.prompt));
      return turn === 1 ? { toolCalls: [{ name, input: { text: "kept" } }] } : { text: "All done." };
    });
    const writer = agent({ name: "writer", model, tools: { jot } });

    await new Runner(writer, { store: await memoryStore() }).run("Go");

    expect(done).toEqual([]);
    expect(prompts[1]).toEqual([
      { type: "error-text", value: `There is no tool "${name}". The tools are: jot.` },
    ]);
  });
});

it("a model without a price is unpriced, whatever its name", async () => {
  const model = scriptedModel([{ text: "Done." }], { modelId: "constructor" });
  const pricing = { id: "p", models: { other: { inputPerMillion: 1, outputPerMillion: 1 } } };
  const runner = new Runner(agent({ name: "writer", model }), { store: await memoryStore(), pricing });

  expect((await runner.run("Go")).usage.charged).toEqual({ tokens: 15, microDollars: 0 });
});
