import { describe, expect, it } from "vitest";
import { z } from "zod";
import { argumentProblems } from "../../../src/core/job/blueprint-arguments.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { zodJsonSchema } from "../../../src/core/zod-json-schema.ts";

const ORDER = zodJsonSchema(
  z.object({
    item: z.string().min(2),
    count: z.int().min(1).max(9).optional(),
    how: z.enum(["fast", "slow"]).optional(),
    to: z.object({ street: z.string(), floor: z.number().nullable().optional() }).optional(),
    tags: z.array(z.string()).optional(),
    either: z.union([z.string(), z.boolean()]).optional(),
    headers: z.record(z.string(), z.string()).optional(),
  }),
);

function problems(given: JsonObject, schema: JsonObject = ORDER): readonly string[] {
  return argumentProblems("order", schema, given, ["idempotencyKey"]).map(
    ({ path, message }) => `${path.join(".")} ${message}`,
  );
}

describe("the arguments of a tool", () => {
  it.for<[what: string, given: JsonObject]>([
    ["that are complete", { item: "tea", count: 2, how: "fast", tags: ["a"], either: true }],
    ["that are references", { item: "{{ input }}", count: "{{ steps.a.n }}", how: "{{ previous.how }}" }],
    [
      "with references inside",
      { item: "{{ input }} tea", to: { street: "{{ input }}" }, tags: ["{{ input }}"] },
    ],
    ["of any name if the tool takes any", { item: "tea", headers: { anything: "x" } }],
    ["with escaped braces", { item: "\\{{ tea }}" }],
  ])("%s are accepted", ([, given]) => {
    expect(problems(given)).toEqual([]);
  });

  it.for<[what: string, given: JsonObject, expected: readonly string[]]>([
    ["a misspelt name", { item: "tea", cuont: 2 }, ["cuont is no argument of order: did you mean count?"]],
    ["a missing argument", { count: 2 }, [" has no item, and order needs it."]],
    ["a missing nested argument", { item: "tea", to: {} }, ["to has no street, and order needs it."]],
    [
      "values of another type",
      { item: 5, count: "two", tags: "a", to: ["b"] },
      [
        "item is 5, which order does not take there: it is of type string.",
        'count is "two", which order does not take there: it is of type integer.',
        'tags is "a", which order does not take there: it is of type array.',
        "to is a list, which order does not take there: it is of type object.",
      ],
    ],
    [
      "values that are out of bounds, or not among the allowed ones",
      { item: "t", count: 10, how: "soon", either: 5 },
      [
        'item is "t", which order does not take there: it is of type string.',
        "count is 10, which order does not take there: it is of type integer.",
        'how is "soon", which order does not take there: it is one of "fast", "slow".',
        "either is 5, which order does not take there.",
      ],
    ],
    [
      "a text with a reference in place of another type",
      { item: "tea", count: "{{ input }} or so", tags: ["{{ input }}", 5] },
      [
        "count is a text, which order does not take there: it is of type integer.",
        "tags.1 is 5, which order does not take there: it is of type string.",
      ],
    ],
  ])("are refused for %s", ([, given, expected]) => {
    expect(problems(given)).toEqual(expected);
  });

  it("are not checked for the idempotency key, which is filled in, or against schemas that cannot be read", () => {
    const keyed = zodJsonSchema(z.object({ idempotencyKey: z.string() }));
    expect(problems({}, keyed)).toEqual([]);
    expect(problems({ a: 1 }, { type: "object" })).toEqual([]);
    expect(problems({ a: 1 }, { properties: { a: { $ref: "#/nowhere" } } })).toEqual([]);
    expect(problems({ b: 1 }, { properties: {}, additionalProperties: { type: "string" } })).toEqual([]);
  });
});
