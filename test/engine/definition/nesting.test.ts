// Values that are nested too deep, from every source that can pass a value in.

import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { agent, ConfigurationError, type Json, Runner, Step, tool } from "../../../src/index.ts";
import { type Script, scriptedModel } from "../../../src/testing/index.ts";
import { answer, FakeOpenAiServer } from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import { scriptedPort } from "../../testing/scripted-port.ts";
import { failureAs, memoryStore, must, toolResults } from "../run-fixture.ts";

const lists = (levels: number) => `${"[".repeat(levels)}1${"]".repeat(levels)}`;
const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const parsed = (text: string) => JSON.parse(text) as Json;

const OF_MODEL =
  'The arguments of "keep" are nested deeper than 400 levels. Call it again with flatter ones.';

function keeper() {
  const kept: unknown[] = [];
  const keep = tool({
    description: "Keeps anything.",
    inputSchema: z.looseObject({}),
    recovery: "keyed",
    execute: (given) => {
      kept.push(given);
      return "kept";
    },
  });
  return { keep, kept };
}

describe.each([401, 3_000, 100_000])("%i levels", (levels) => {
  it("in the arguments of a call are invalid: the model gets the reason, and its usage is charged", async () => {
    const server = await FakeOpenAiServer.start();
    onTestFinished(() => server.close());
    const { keep, kept } = keeper();
    server.next(
      answer({
        toolCalls: [
          { id: "c-1", name: "keep", arguments: objects(levels) },
          { id: "c-2", name: "keep", arguments: objects(400) },
        ],
      }),
      answer("All done."),
    );
    const store = await memoryStore();
    const worker = agent({ name: "worker", model: openAiModel(server.baseUrl), tools: { keep } });

    const { output } = await new Runner(worker, { store }).run("Go", { runId: "r-1" });

    expect(output).toBe("All done.");
    expect(kept).toEqual([parsed(objects(400))]);
    expect(server.lastMessages.slice(-2)).toEqual([
      { role: "tool", tool_call_id: "c-1", content: OF_MODEL },
      { role: "tool", tool_call_id: "c-2", content: "kept" },
    ]);
    expect((await store.listModelCalls("r-1")).map(({ charge }) => charge?.basis)).toEqual([
      "provider",
      "provider",
    ]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("in the arguments from a custom model port are invalid too", async () => {
    const { keep, kept } = keeper();
    const results: unknown[] = [];
    const script: Script = ({ turn, options }) => {
      results.push(...toolResults(options.prompt));
      return turn === 1 ? { toolCalls: [{ name: "keep", input: { a: 1 } }] } : { text: "All done." };
    };
    const port = scriptedPort(script);
    const deep: typeof port = {
      ...port,
      respond: async (request) => {
        const response = await port.respond(request);
        const content = response.content.map((part) =>
          part.type === "tool-call" ? { ...part, input: parsed(lists(levels)) } : part,
        );
        return { ...response, content };
      },
    };
    const worker = agent({ name: "worker", model: deep, tools: { keep } });

    await new Runner(worker, { store: await memoryStore() }).run("Go");

    expect(kept).toEqual([]);
    expect(results).toEqual([{ type: "error-text", value: OF_MODEL }]);
  });

  it("in structured output are requested again, flatter", async () => {
    const asked: unknown[] = [];
    const model = scriptedModel(({ turn, options }) => {
      asked.push(options.prompt.at(-1)?.content);
      return { text: turn === 1 ? objects(levels) : '{"a":1}' };
    });
    const worker = agent({ name: "worker", model, output: z.object({ a: z.json() }) });

    const { output } = await new Runner(worker, { store: await memoryStore() }).run("Go");

    expect(output).toEqual({ a: 1 });
    expect(JSON.stringify(asked[1])).toContain(
      "nested deeper than 400 levels. Answer again with flatter JSON.",
    );
  });

  it.each([
    ["a result", undefined, "cannot be kept (it is nested deeper than 400 levels)"],
    [
      "a result that has a schema",
      z.json(),
      /cannot be (kept|checked) \(it is nested (deeper than 400 levels|too deep)\)/,
    ],
  ])("in %s lead to a failed receipt that names the limit", async (_, schema, why) => {
    const dig = tool({
      description: "Digs.",
      inputSchema: z.object({}),
      ...(schema === undefined ? {} : { outputSchema: schema }),
      execute: () => parsed(lists(levels)),
    });
    const model = scriptedModel([{ toolCalls: [{ name: "dig", input: {} }] }, { text: "All done." }]);
    const store = await memoryStore();

    await new Runner(agent({ name: "worker", model, tools: { dig } }), { store }).run("Go", { runId: "r-1" });

    const { receipt } = must((await store.listToolCalls("r-1"))[0]);
    expect(receipt).toMatchObject({ status: "failed", uncertain: true });
    expect(receipt?.output.value).toEqual(
      typeof why === "string" ? expect.stringContaining(why) : expect.stringMatching(why),
    );
  });

  it("in the input of a run are refused, with their path, before the run is created", async () => {
    const store = await memoryStore();
    const runner = new Runner(agent({ name: "worker", model: scriptedModel([]) }), { store });

    const error = await failureAs(
      ConfigurationError,
      runner.run({ deep: parsed(lists(levels)) }, { runId: "r-1" }),
    );

    expect(error.message).toMatch(/^The input of the run is nested deeper than 400 levels, at \$\.deep\[0\]/);
    expect(error.details).toEqual({ path: `$.deep${"[0]".repeat(399)}` });
    expect(await store.getRun("r-1")).toBeNull();
  });

  it("in a code step's arguments and in its output are refused", async () => {
    const store = await memoryStore();
    const { keep, kept } = keeper();
    const deep = parsed(lists(levels));
    const calling = Step.run("code", (_, ctx) => ctx.call({ ...keep, name: "keep" }, { deep }));
    await failureAs(ConfigurationError, new Runner(calling, { store }).run("Call"));
    await failureAs(
      ConfigurationError,
      new Runner(
        Step.run("code", () => deep),
        { store },
      ).run("Return"),
    );
    expect(kept).toEqual([]);
  });
});

it("400 levels are accepted everywhere", async () => {
  const { keep, kept } = keeper();
  const model = scriptedModel([
    { toolCalls: [{ name: "keep", input: parsed(objects(400)) }] },
    { text: objects(400) },
  ]);
  const worker = agent({ name: "worker", model, tools: { keep }, output: z.json() });
  const input = parsed(objects(400));

  const { output } = await new Runner(worker, { store: await memoryStore() }).run(input);

  expect(output).toEqual(input);
  expect(kept).toEqual([input]);
});
