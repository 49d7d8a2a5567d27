import { expect, it } from "vitest";
import { mcpToolInput } from "../../../src/adapters/mcp/mcp-tool-input.ts";
import { watchEventLoop } from "../../watch-event-loop.ts";

const SCHEMA = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, default: 3 } },
  required: ["city"],
};

it("Arguments are checked by the server's schema, and are sent unchanged", async () => {
  const input = mcpToolInput(SCHEMA, "files");
  expect(await input.jsonSchema()).toEqual(SCHEMA);
  const given = { city: "Paris", note: "not in the schema" };
  expect(await input.parse(given)).toEqual({ ok: true, value: given });
  expect(await input.parse({ days: 0 })).toMatchObject({
    ok: false,
    error: expect.stringMatching(/city[^]*days|days[^]*city/),
  });
  expect(await input.parse("Paris")).toMatchObject({ ok: false });
});

it.each([
  { type: "object", if: { required: ["a"] }, else: { required: ["b"] } },
  { type: "object", properties: { a: { not: { type: "string" } } } },
  { type: "object", properties: { a: { type: "string", pattern: "(" } } },
  { type: "object", unevaluatedProperties: false },
])("A schema that cannot be read here is left to the server: %j", async (schema) => {
  const input = mcpToolInput(schema, "files");
  expect(await input.jsonSchema()).toEqual(schema);
  expect(await input.parse({ a: "x" })).toEqual({ ok: true, value: { a: "x" } });
});

it.each([
  [{ type: "string", format: "email" }, "jörg@localhost"],
  [{ type: "string", format: "uuid" }, "00000000-0000-0000-0000-000000000001"],
  [{ type: "integer" }, 2 ** 53 + 2],
  [{ type: "array", items: { anyOf: [{ type: "string", format: "date" }] } }, ["2026-11-16"]],
  [{ const: { format: "pdf" } }, { format: "pdf" }],
])("Nothing is refused that the schema allows: %j %j", async (schema, value) => {
  const whole = { type: "object", properties: { v: schema }, required: ["v"] };
  const input = mcpToolInput(whole, "files");
  expect(await input.parse({ v: value })).toEqual({ ok: true, value: { v: value } });
  expect(await input.jsonSchema()).toEqual(whole);
});

it("A whole number is still one, and an argument may be called format", async () => {
  const input = mcpToolInput(
    {
      type: "object",
      properties: { pages: { type: "integer" }, format: { type: "string", enum: ["pdf", "html"] } },
    },
    "files",
  );
  expect(await input.parse({ pages: 3, format: "pdf" })).toMatchObject({ ok: true });
  expect(await input.parse({ pages: 3.5 })).toMatchObject({ ok: false });
  expect(await input.parse({ format: "odt" })).toMatchObject({ ok: false });
});

it("A server without a schema accepts any object", async () => {
  const input = mcpToolInput(undefined, "files");
  expect(await input.jsonSchema()).toEqual({ type: "object" });
  expect(await input.parse({ a: 1 })).toMatchObject({ ok: true });
});

it("A slow schema does not block other work, and the server decides", async () => {
  const text = `${"a".repeat(40)}!`;
  const doubling = Array.from({ length: 40 }, (_, i) => {
    const next = { $ref: `#/$defs/d${i + 1}` };
    return [`d${i}`, i === 39 ? { type: "boolean" } : { anyOf: [next, next] }] as const;
  });
  const slow = [
    [{ type: "array", items: { anyOf: [{ type: "string", pattern: ["^(a+)+$"] }] } }, [text]],
    [{ type: "object", propertyNames: { pattern: "^(a+)+$" } }, { [text]: 1 }],
    [{ $ref: "#/$defs/d0" }, text],
  ] as const;
  const parsed = slow.map(([v, value]) => async () => {
    const input = mcpToolInput(
      { type: "object", properties: { v }, $defs: Object.fromEntries(doubling) },
      "files",
    );
    expect(await input.parse({ v: value })).toEqual({ ok: true, value: { v: value } });
  });
  const { longestBlockMs } = await watchEventLoop(() => Promise.all(parsed.map((each) => each())));
  expect(longestBlockMs).toBeLessThan(1_000);
});

it("A pattern is still checked, and an argument may be called pattern", async () => {
  const input = mcpToolInput(
    {
      type: "object",
      properties: { id: { type: "string", pattern: "^[a-z]+$" }, pattern: { type: "string" } },
    },
    "files",
  );
  expect(await input.parse({ id: "abc", pattern: "x" })).toMatchObject({ ok: true });
  expect(await input.parse({ id: "ABC" })).toMatchObject({ ok: false, error: expect.stringMatching(/id/) });
});
