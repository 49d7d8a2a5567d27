import { describe, expect, it } from "vitest";
import {
  differingArguments,
  OTHER_ARGUMENTS,
  outputForModel,
} from "../../../src/core/call/duplicate-note.ts";
import type { Json } from "../../../src/core/json.ts";
import type { ToolOutput } from "../../../src/core/message.ts";

describe("the arguments that differ", () => {
  it.each<[string, Json, Json, readonly string[]]>([
    ["none, in any order", { a: 1, b: [1] }, { b: [1], a: 1 }, []],
    ["one that changed", { a: 1, b: 1 }, { a: 1, b: 2 }, ["b"]],
    ["one that is missing, on either side", { a: 1 }, { b: null }, ["a", "b"]],
    ["one inside another", { mail: { to: "x", body: "a" } }, { mail: { to: "x", body: "b" } }, ["mail.body"]],
    ["a list as a whole", { to: ["a", "b"] }, { to: ["b", "a"] }, ["to"]],
    ["a value that became an object", { to: "a" }, { to: { name: "a" } }, ["to"]],
    ["all, if they are no object", "a", "b", ["the arguments"]],
    ["none, if they are no object", ["a"], ["a"], []],
  ])("are %s", (_what, first, second, names) => {
    expect(differingArguments(first, second)).toEqual(names);
  });
});

describe("the output for the model", () => {
  const text: ToolOutput = { type: "text", value: "sent" };

  it("is the stored one, except for a duplicate with other arguments", () => {
    expect(outputForModel({ status: "deduplicated", output: text, errorCode: null })).toBe(text);
    // A tool may fail with any code.
    expect(outputForModel({ status: "failed", output: text, errorCode: OTHER_ARGUMENTS })).toBe(text);
  });

  it("has the note as a part of its own before other parts", () => {
    const file = { type: "file", mediaType: "image/png", data: "AA==" };
    const output: ToolOutput = { type: "content", value: [file] };
    expect(outputForModel({ status: "deduplicated", output, errorCode: OTHER_ARGUMENTS })).toEqual({
      type: "content",
      value: [{ type: "text", text: expect.stringMatching(/^\[This call did not run: /) }, file],
    });
  });
});
