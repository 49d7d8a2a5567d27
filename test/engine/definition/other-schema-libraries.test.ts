// Tools and outputs with schemas of ArkType and Valibot, as their users write them.

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expect, expectTypeOf, it } from "vitest";
import { type Agent, agent, Runner, type Tool, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { memoryStore } from "../run-fixture.ts";

const count = tool({
  description: "Counts on.",
  inputSchema: type({ from: "number", "unit?": "string" }),
  effect: "read_only",
  execute: ({ from }) => from + 1,
});

const weigh = tool({
  description: "Weighs a parcel.",
  inputSchema: toStandardJsonSchema(v.object({ grams: v.pipe(v.number(), v.minValue(3)) })),
  effect: "read_only",
  execute: ({ grams }) => ({ grams }),
});

it("type the arguments of a tool and the output of an agent", () => {
  expectTypeOf(count).toEqualTypeOf<Tool<{ from: number; unit?: string }, number>>();
  expectTypeOf(weigh).toEqualTypeOf<Tool<{ grams: number }, { grams: number }>>();
  const model = scriptedModel([{ text: "{}" }]);
  expectTypeOf(agent({ name: "a", model, output: type({ n: "number" }) })).toEqualTypeOf<
    Agent<{ n: number }>
  >();
});

it("check what a model sends, and say what does not fit and where", async () => {
  const store = await memoryStore();
  const clerk = agent({
    name: "clerk",
    model: scriptedModel([
      {
        toolCalls: [
          { name: "count", input: { from: "one" } },
          { name: "weigh", input: { grams: 1 } },
        ],
      },
      {
        toolCalls: [
          { name: "count", input: { from: 1 } },
          { name: "weigh", input: { grams: 5 } },
        ],
      },
      { text: '{ "total": "six" }' },
      { text: '{ "total": 6 }' },
    ]),
    tools: { count, weigh },
    output: type({ total: "number" }),
  });
  const { output } = await new Runner(clerk, { store }).run("Count.", { runId: "r-1" });
  expect(output).toEqual({ total: 6 });
  const calls = await store.listToolCalls("r-1");
  expect(calls.map(({ tool: name, receipt }) => [name, receipt?.status, receipt?.output.value])).toEqual([
    ["count", "cancelled", expect.stringMatching(/from must be a number.*\n.*at from/)],
    ["weigh", "cancelled", expect.stringMatching(/Expected >=3 but received 1\n.*at grams/)],
    ["count", "succeeded", 2],
    ["weigh", "succeeded", { grams: 5 }],
  ]);
});

it("without a JSON Schema are refused with what to wrap them in", () => {
  const schema = v.object({ grams: v.number() });
  expect(() => tool({ description: "Weighs.", inputSchema: schema, execute: () => null })).toThrow(
    'wrap it with toStandardJsonSchema(…) of the package "@valibot/to-json-schema".',
  );
});
