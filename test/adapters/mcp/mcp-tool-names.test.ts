import fc from "fast-check";
import { expect, it } from "vitest";
import { modelNames } from "../../../src/adapters/mcp/mcp-tool-names.ts";

it("A name that providers accept is kept, after the server's", () => {
  expect(modelNames("files", ["read_file", "get-sum"])).toEqual(
    new Map([
      ["read_file", "files__read_file"],
      ["get-sum", "files__get-sum"],
    ]),
  );
});

it("Characters that providers do not accept are replaced", () => {
  expect([...modelNames("my files", ["disk.usage", "größe"]).values()]).toEqual([
    "my_files__disk_usage",
    "my_files__gr__e",
  ]);
});

it("Two names that would collide stay distinct, and the one that needs no replacement keeps its name", () => {
  const names = modelNames("s", ["a.b", "a_b", "a/b"]);
  expect(names.get("a_b")).toBe("s__a_b");
  expect(names.get("a.b")).toMatch(/^s__a_b_[0-9a-f]{8}$/);
  expect(new Set(names.values()).size).toBe(3);
});

it("Any names become distinct names that providers accept, whatever else is in the list", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.uniqueArray(fc.string({ maxLength: 90 }), { maxLength: 12 }),
      (server, tools) => {
        const names = modelNames(server, tools);
        expect([...names.keys()]).toEqual(tools);
        for (const name of names.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(new Set(names.values()).size).toBe(tools.length);
        expect(new Map([...modelNames(server, tools.toReversed())].reverse())).toEqual(names);
      },
    ),
  );
});
