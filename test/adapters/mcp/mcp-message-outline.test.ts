import { expect, it } from "vitest";
import { outlineOf } from "../../../src/adapters/mcp/mcp-message-outline.ts";

it.each([
  ['{"jsonrpc":"2.0","id":7,"result":{"id":8}}', "7", false],
  ['{"result":{"method":"x"}, "id" : "a-1" }', '"a-1"', false],
  ['{"id":1,"method":"ping"}', "1", true],
  ['{"method":"notifications/message","params":{"id":1}}', null, true],
  [String.raw`{"\u0069d":3,"m\u0065thod":"x"}`, "3", true],
  [String.raw`{"x":"\",\"id\":4,","id":5}`, "5", false],
  ['{"id":1,"id":2}', "2", false],
  [`{"id":"${"x".repeat(200)}"}`, null, false],
  ['[{"id":1}]', null, false],
  ["Listening…", null, false],
  ['{"id', null, false],
])("The id of a message is found without parsing it: %s", (text, id, hasMethod) => {
  expect(outlineOf(text)).toMatchObject({ id, hasMethod });
});

it("Values are counted outside of strings only", () => {
  const many = { a: [1, 2, { b: [] }], c: ",,,[[[{{{" };
  expect(outlineOf(JSON.stringify(many)).values).toBe(8);
  expect(outlineOf(JSON.stringify([])).values).toBe(2);
  for (const count of [10, 1_000]) {
    expect(outlineOf(JSON.stringify(Array(count).fill(1))).values).toBeGreaterThanOrEqual(count);
    expect(outlineOf(JSON.stringify(Array(count).fill([]))).values).toBeGreaterThanOrEqual(count);
  }
});
