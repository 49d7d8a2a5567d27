import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  describeSpecChanges,
  parseRunSpec,
  type RunSpec,
  runSpecJsonSchema,
} from "../../../src/core/job/run-spec.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../src/core/json.ts";

const schema = runSpecJsonSchema();
const validator = z.fromJSONSchema(schema);

function accepts(pipeline: unknown): boolean {
  return validator.safeParse({ objective: "Do it", pipeline }).success;
}

function specOf(pipeline: Json): RunSpec {
  const parsed = parseRunSpec({ objective: "Do it", pipeline });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.spec;
}

const small = { name: "p", steps: [{ name: "a", ask: "Well?" }] };

/** Every property of every schema inside this one. */
function propertiesIn(value: Json, path = ""): readonly (readonly [string, JsonObject])[] {
  if (Array.isArray(value))
    return (value as readonly Json[]).flatMap((each, index) => propertiesIn(each, `${path}[${index}]`));
  if (!isJsonObject(value)) return [];
  const { properties } = value;
  const own = isJsonObject(properties)
    ? Object.entries(properties).flatMap(([name, each]) =>
        isJsonObject(each) ? [[`${path}.${name}`, each] as const] : [],
      )
    : [];
  return [...own, ...Object.entries(value).flatMap(([name, each]) => propertiesIn(each, `${path}.${name}`))];
}

describe("the JSON Schema of a job", () => {
  it("has help for every field of a blueprint, in both spellings", () => {
    const fields = propertiesIn(schema);
    expect(fields.length).toBeGreaterThan(100);
    for (const [path, { description }] of fields)
      expect([path, typeof description]).toEqual([path, "string"]);
    const names = fields.map(([path]) => path.split(".").at(-1));
    expect(names).toEqual(
      expect.arrayContaining([
        "mcp_servers",
        "mcpServers",
        "max_turns",
        "maxTurns",
        "max_iterations",
        "until",
      ]),
    );
  });

  it.each<[string, Json]>([
    ["the name of a pipeline", "report"],
    ["none", null],
    ["a small one", small],
    [
      "one with a nested loop",
      {
        name: "p",
        steps: [{ name: "l", loop: [{ name: "m", loop: small.steps, until: {} }], until: { equals: 1 } }],
      },
    ],
  ])("takes %s", (_, pipeline) => {
    expect(accepts(pipeline)).toBe(true);
    expect(accepts(specOf(pipeline).pipeline)).toBe(true);
  });

  it.each<[string, Json]>([
    ["a list", []],
    ["no steps", { name: "p" }],
    ["a misspelt field", { ...small, agnets: {} }],
    ["a step that does nothing", { name: "p", steps: [{ name: "a" }] }],
    ["a step that does two things", { name: "p", steps: [{ name: "a", ask: "Well?", tool: "x" }] }],
    [
      "a misspelt field in a loop",
      { name: "p", steps: [{ name: "l", loop: [{ name: "a", aks: "x" }], until: {} }] },
    ],
    ["a loop without an end", { name: "p", steps: [{ name: "l", loop: small.steps }] }],
    ["a server without an address", { ...small, mcp_servers: { a: {} } }],
  ])("refuses %s", (_, pipeline) => {
    expect(accepts(pipeline)).toBe(false);
    expect(parseRunSpec({ objective: "Do it", pipeline }).ok).toBe(false);
  });

  it("takes every valid blueprint, and parsing refuses any other with reasons and never throws", () => {
    const word = fc.stringMatching(/^[a-z]{2,6}$/);
    const name = fc.oneof({ weight: 12, arbitrary: word }, fc.constantFrom("a", "x y", ""));
    const text = fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom("Hello", "{{ input }}", "\\{{", "{{ previous.x }}") },
      fc.constantFrom("{{ steps.a }}", "{{", ""),
    );
    const { step } = fc.letrec<{ step: unknown }>((tie) => ({
      step: fc.oneof(
        { maxDepth: 2 },
        fc.record({ name, ask: text, phase: text }, { requiredKeys: ["name", "ask"] }),
        fc.record({ name, tool: fc.constantFrom("t", "s/t", "s/*"), with: fc.dictionary(name, text) }),
        fc.record({ name, agent: name, prompt: text, max_turns: fc.integer({ min: -1, max: 3 }) }),
        fc.record({
          name,
          loop: fc.array(tie("step"), { maxLength: 2 }),
          until: fc.record({ equals: fc.jsonValue() }),
        }),
        fc.jsonValue({ maxDepth: 1 }),
      ),
    }));
    const pipeline = fc.record({
      name,
      steps: fc.array(step, { maxLength: 3 }),
      agents: fc.oneof(fc.constant({}), fc.dictionary(name, fc.record({ model: text }), { maxKeys: 2 })),
    });
    let read = 0;
    fc.assert(
      fc.property(pipeline, (written) => {
        const parsed = parseRunSpec({ objective: "Do it", pipeline: written });
        if (!parsed.ok) {
          expect(parsed.problems).not.toEqual([]);
          return;
        }
        read++;
        expect(accepts(written)).toBe(true);
        expect(parseRunSpec(parsed.spec)).toEqual(parsed);
      }),
      { numRuns: 1_000 },
    );
    expect(read).toBeGreaterThan(5);
  });

  it("is not needed to refuse a blueprint that contains itself", () => {
    const steps: unknown[] = [{ name: "l", until: {} }];
    Object.assign(steps[0] as object, { loop: steps });
    expect(parseRunSpec({ objective: "Do it", pipeline: { name: "p", steps } })).toMatchObject({ ok: false });
  });
});

describe("two blueprints", () => {
  it("differ exactly in what was changed", () => {
    const agents = { w: { model: "openai/gpt-5.2" } };
    const steps = [
      { name: "a", agent: "w" },
      { name: "b", ask: "Well?" },
    ];
    const was = specOf({ name: "p", agents, steps });
    const changed = specOf({
      name: "p",
      agents: { w: { model: "openai/gpt-5.2", instructions: "Write." } },
      steps: [steps[0] as Json, { name: "b", ask: "Really?" }],
    });
    expect(describeSpecChanges(was, was)).toEqual([]);
    expect(describeSpecChanges(was, changed)).toEqual([
      { path: "pipeline.agents.w.instructions", was: "", is: "Write." },
      { path: "pipeline.steps[1].ask", was: "Well?", is: "Really?" },
    ]);
    const named = specOf("p");
    expect(describeSpecChanges(named, was)).toEqual([{ path: "pipeline", was: "p", is: was.pipeline }]);
  });

  it("are equal to those of runs that began before a field existed", () => {
    const of = (more: JsonObject) =>
      specOf({ name: "p", agents: { w: { model: "m", ...more } }, steps: [{ name: "a", agent: "w" }] });
    expect(JSON.stringify(of({}))).not.toContain("acceptCutAnswers");
    expect(describeSpecChanges(of({}), of({ accept_cut_answers: true }))).toEqual([
      { path: "pipeline.agents.w.acceptCutAnswers", was: null, is: true },
    ]);
    expect(
      parseRunSpec({
        objective: "x",
        pipeline: { name: "p", agents: { w: { model: "m", acceptCutAnswers: 1 } } },
      }),
    ).toMatchObject({
      ok: false,
    });
  });

  it("differ by an agent whose name every object inherits", () => {
    const of = (name: string) =>
      specOf({ name: "p", agents: { [name]: { model: "m" } }, steps: [{ name: "a", agent: name }] });
    const [was, is] = [of("writer"), of("constructor")];
    expect(describeSpecChanges(was, is).map(({ path, was: before }) => [path, before])).toEqual([
      ["pipeline.agents.writer", expect.objectContaining({ model: "m" })],
      ["pipeline.agents.constructor", null],
      ["pipeline.steps[0].agent", "writer"],
    ]);
  });
});
