import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isJson } from "../../../src/core/canonical-json.ts";
import { parseRunSpec, runSpecJsonSchema } from "../../../src/core/job/run-spec.ts";
import { isJsonObject, type JsonObject } from "../../../src/core/json.ts";
import { seedExample } from "./run-spec-example.ts";

const schema = runSpecJsonSchema();
const validator = z.fromJSONSchema(schema);

function accepts(value: unknown): boolean {
  return validator.safeParse(value).success;
}

/** Every field's schema, with its path. */
function fieldsOf(object: JsonObject, path = ""): readonly (readonly [string, JsonObject])[] {
  const { properties } = object;
  if (!isJsonObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, field]) =>
    isJsonObject(field) ? [[`${path}${name}`, field], ...fieldsOf(field, `${path}${name}.`)] : [],
  );
}

describe("the JSON Schema of a RunSpec", () => {
  it("is JSON of the draft that editors know, with a title and help for every field", () => {
    expect(isJson(schema)).toBe(true);
    expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(schema.title).toBe("Pawl RunSpec");
    const fields = fieldsOf(schema);
    expect(fields.length).toBeGreaterThan(40);
    for (const [path, field] of fields) expect([path, typeof field.description]).toEqual([path, "string"]);
  });

  it("has every field in both spellings, and no others", () => {
    const paths = fieldsOf(schema).map(([path]) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        "objective",
        "budgets.maxSteps",
        "budgets.max_steps",
        "stopConditions",
        "stop_conditions",
        "escalation.ask_human_on_budget_reached",
        "artifacts.workspaceDir",
        "constraints.must_cite_sources",
      ]),
    );
    expect(schema.additionalProperties).toBe(false);
    expect(new Set(paths).size).toBe(paths.length);
  });

  it.each<[string, unknown]>([
    ["the example of the requirements", seedExample],
    ["an objective alone", { objective: "Do it" }],
    ["camelCase", { objective: "Do it", budgets: { maxSteps: 1, maxCostUsd: 0.5, countWaitingTime: true } }],
    ["null for no limit", { objective: "Do it", pipeline: null, budgets: { maxSteps: null } }],
    ["its own address and any input", { $schema: "./x.json", objective: "Do it", input: [{ a: null }] }],
  ])("takes %s", (_, value) => {
    expect(accepts(value)).toBe(true);
    expect(parseRunSpec(value).ok).toBe(true);
  });

  it.each<[string, unknown]>([
    ["no objective", {}],
    ["an empty objective", { objective: "" }],
    ["a text", "Do it"],
    ["a misspelt field", { objective: "Do it", objectiv: "x" }],
    ["a misspelt field in a section", { objective: "Do it", budgets: { max_stepz: 1 } }],
    ["a fractional step count", { objective: "Do it", budgets: { max_steps: 1.5 } }],
    ["a step count of zero", { objective: "Do it", budgets: { maxSteps: 0 } }],
    ["a cost limit of zero", { objective: "Do it", budgets: { maxCostUsd: 0 } }],
    ["a number in quotes", { objective: "Do it", budgets: { maxSteps: "1" } }],
    ["a text for a list", { objective: "Do it", stop_conditions: "done" }],
    ["an unsafe name of a condition", { objective: "Do it", stopConditions: ["a b"] }],
    ["null for a section", { objective: "Do it", artifacts: null }],
    ["yes for true", { objective: "Do it", constraints: { mustCiteSources: "yes" } }],
  ])("refuses %s", (_, value) => {
    expect(accepts(value)).toBe(false);
    expect(parseRunSpec(value).ok).toBe(false);
  });

  it("takes every valid RunSpec", () => {
    const count = fc.option(fc.integer({ min: -1, max: 2_000 }), { nil: null });
    const text = fc.constantFrom("done", "a.com", "", "x y", "report.pdf");
    const value = fc.record(
      {
        objective: text,
        pipeline: fc.option(text, { nil: null }),
        input: fc.jsonValue(),
        stop_conditions: fc.uniqueArray(text, { maxLength: 2 }),
        budgets: fc.record(
          { max_steps: count, maxSameErrorRepeats: count, maxCostUsd: count },
          { requiredKeys: [] },
        ),
        artifacts: fc.record({ workspaceDir: text, expected_outputs: fc.array(text, { maxLength: 2 }) }),
      },
      { requiredKeys: ["objective"] },
    );
    let read = 0;
    fc.assert(
      fc.property(value, (written) => {
        const parsed = parseRunSpec(written);
        if (!parsed.ok) return;
        read++;
        expect(accepts(written)).toBe(true);
        expect(accepts(parsed.spec)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
    expect(read).toBeGreaterThan(30);
  });
});
