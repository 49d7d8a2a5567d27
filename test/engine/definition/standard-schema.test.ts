// Schemas of other libraries than zod. The one here is written by hand: the standard is an interface.

import { jsonSchema } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { StandardIssue } from "../../../src/core/standard-schema.ts";
import {
  type Agent,
  agent,
  ConfigurationError,
  Runner,
  type StandardSchema,
  Step,
  type Tool,
  tool,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { failureOf, memoryStore } from "../run-fixture.ts";

type City = { readonly city: string };

const CITY = { type: "object", properties: { city: { type: "string", minLength: 2 } }, required: ["city"] };

function cityIssues(value: unknown): StandardIssue[] {
  if (typeof value !== "object" || value === null || !("city" in value) || typeof value.city !== "string")
    return [{ message: "Expected a text", path: ["city"] }];
  return value.city.length > 1 ? [] : [{ message: "Too short", path: [{ key: "city" }] }];
}

/** Takes `{ city }`, and makes the name of the city of it. */
function citySchema(more: object = {}): StandardSchema<City, { name: string }> {
  return {
    "~standard": {
      version: 1,
      vendor: "by-hand",
      validate: async (value) => {
        const issues = cityIssues(value);
        return issues.length > 0 ? { issues } : { value: { name: (value as City).city.toUpperCase() } };
      },
      ...more,
    },
  };
}

const withJson = citySchema({ jsonSchema: { input: () => ({ $schema: "draft-07", ...CITY }) } });

/** Has no JSON Schema of its own, and is wrapped with one. */
const wrapped = jsonSchema<{ city: string }>(
  { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  {
    validate: (value) => {
      const issues = cityIssues(value);
      return issues.length === 0
        ? { success: true, value: value as { city: string } }
        : { success: false, error: Object.assign(new Error("It does not fit."), { issues }) };
    },
  },
);

describe("a tool with a Standard Schema", () => {
  const locate = tool({
    name: "locate",
    description: "Locates a city.",
    inputSchema: withJson,
    effect: "read_only",
    execute: ({ name }) => `${name} is here.`,
  });

  it("has its types, and its JSON Schema for the model", async () => {
    expectTypeOf(locate).toEqualTypeOf<Tool<City, string>>();
    expect(await locate.input.jsonSchema()).toEqual(CITY);
  });

  it("gets the parsed arguments, and says what does not fit as zod does", async () => {
    expect(await locate.input.parse({ city: "Rome" })).toEqual({ ok: true, value: { name: "ROME" } });
    expect(await locate.input.parse({})).toEqual({ ok: false, error: "✖ Expected a text\n  → at city" });
    expect(await locate.input.parse({ city: "R" })).toEqual({ ok: false, error: "✖ Too short\n  → at city" });
  });

  it("is called by code with its arguments before they are parsed", async () => {
    const store = await memoryStore();
    const step = Step.run("find", async (city: string, ctx) => {
      const place = await ctx.call(locate, { city });
      expectTypeOf(place).toEqualTypeOf<string>();
      return place;
    });
    expect((await new Runner(step, { store }).run("Rome")).output).toBe("ROME is here.");
  });

  it("takes one for its output, which needs no JSON Schema", async () => {
    const store = await memoryStore();
    const shout = tool({
      name: "shout",
      description: "Shouts.",
      inputSchema: z.object({ city: z.string() }),
      outputSchema: citySchema(),
      execute: ({ city }) => ({ city }) as never,
    });
    const step = Step.run("find", (city: string, ctx) => ctx.call(shout, { city }));
    expect((await new Runner(step, { store }).run("Rome")).output).toEqual({ name: "ROME" });
    const failure = await failureOf(new Runner(step, { store }).run("R"));
    expect(String(failure)).toContain("does not fit its schema (✖ Too short\n  → at city)");
  });

  it("is refused if the schema has no JSON Schema, with what to do", () => {
    const make = (inputSchema: StandardSchema<City, unknown>) => () =>
      tool({ name: "locate", description: "Locates.", inputSchema, execute: () => null });
    expect(make(citySchema())).toThrow(
      'The tool "locate": its inputSchema is a schema of by-hand that has no JSON Schema of its own, which a model needs: wrap it with jsonSchema(…) of the package "ai".',
    );
    const failing = { input: () => fail("a date has none") };
    expect(make(citySchema({ jsonSchema: failing }))).toThrow("has no JSON Schema: a date has none.");
    expect(make(citySchema({ jsonSchema: failing }))).toThrow(ConfigurationError);
    // @ts-expect-error A text is no schema.
    expect(() => tool({ description: "Locates.", inputSchema: "city", execute: () => null })).toThrow(
      "needs an inputSchema",
    );
  });
});

describe("a tool with jsonSchema(…) of the AI SDK", () => {
  const execute = ({ city }: { city: string }) => city;
  const direct = tool({ description: "Locates a city.", inputSchema: wrapped, execute });
  const lazy = tool({ description: "Locates a city.", inputSchema: () => wrapped, execute });

  it("has its types", () => {
    expectTypeOf(direct).toEqualTypeOf<Tool<{ city: string }, string>>();
    expectTypeOf(lazy).toEqualTypeOf<Tool<{ city: string }, string>>();
  });

  it.each([
    ["itself", direct],
    ["in a function", lazy],
  ])("has its check: %s", async (_, locate) => {
    expect(await locate.input.jsonSchema()).toMatchObject({ required: ["city"] });
    expect(await locate.input.parse({ city: "Rome" })).toEqual({ ok: true, value: { city: "Rome" } });
    expect(await locate.input.parse({ city: "R" })).toEqual({ ok: false, error: "✖ Too short\n  → at city" });
  });
});

describe("an agent whose output is a Standard Schema", () => {
  it("has its type, and asks again if an answer does not fit", async () => {
    const store = await memoryStore();
    const model = scriptedModel([{ text: '{ "city": "R" }' }, { text: '{ "city": "Rome" }' }]);
    const finder = agent({ name: "finder", model, output: withJson });
    expectTypeOf(finder).toEqualTypeOf<Agent<{ name: string }>>();
    const { output, context } = await new Runner(finder, { store }).run("Where?");
    expect(output).toEqual({ name: "ROME" });
    expect(JSON.stringify(context.granularState)).toContain("✖ Too short");
  });

  it("takes jsonSchema(…), too, and refuses a schema without a JSON Schema", () => {
    const model = scriptedModel([]);
    expectTypeOf(agent({ name: "finder", model, output: wrapped })).toEqualTypeOf<Agent<{ city: string }>>();
    expect(() => agent({ name: "finder", model, output: citySchema() })).toThrow(
      "The output schema of agent finder is a schema of by-hand that has no JSON Schema of its own",
    );
  });
});

describe("a zod schema", () => {
  it("has the JSON Schema that it had in earlier versions, so that runs keep their fingerprint", async () => {
    const note = tool({
      description: "Notes.",
      inputSchema: z.object({ text: z.string().min(1).describe("What to note."), times: z.int().default(1) }),
      execute: () => null,
    });
    expect(await note.input.jsonSchema()).toEqual({
      type: "object",
      properties: {
        text: { type: "string", minLength: 1, description: "What to note." },
        times: {
          type: "integer",
          default: 1,
          minimum: Number.MIN_SAFE_INTEGER,
          maximum: Number.MAX_SAFE_INTEGER,
        },
      },
      required: ["text"],
    });
  });
});

function fail(why: string): never {
  throw new Error(why);
}
