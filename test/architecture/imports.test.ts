import { describe, expect, test } from "vitest";
import { importsOf } from "./imports.ts";
import { tokenize } from "./source-tokens.ts";

const specifiersIn = (source: string) => importsOf(tokenize(source)).map(({ specifier }) => specifier);

describe("importsOf", () => {
  test.each([
    ['import "x";'],
    ['import a from "x";'],
    ["import a from 'x'"],
    ['import { a, b as c, type D } from "x";'],
    ['import a, { b } from "x";'],
    ['import * as a from "x";'],
    ['import {\n  a, // from "y"\n  b,\n} from "x";'],
    ['import { "odd name" as a } from "x";'],
    ['import { from } from "x";'],
    ['import from from "x";'],
    ['import data from "x" with { type: "json" };'],
    ['import type A from "x";'],
    ['import type { A } from "x";'],
    ['import a = require("x");'],
    ['export { a, b } from "x";'],
    ['export * from "x";'],
    ['export * as a from "x";'],
    ['export type { A } from "x";'],
    ['export type * from "x";'],
    ['const a = await import("x");'],
    ["const a = await import(`x`);"],
    ['const a = [...require("x")];'],
    ['const a = { ...import("x") };'],
    ['const a = `${await import("x")}`;'],
    ['const a = `${`${require("x")}`}`;'],
    ['let a: import("x").B;'],
    ['let a: typeof import("x");'],
    ['const quote = /["\'`]/; import "x";'],
    ['const ratio = a / b; import "x"; const c = d / e;'],
    ['#!/usr/bin/env node\nimport "x";'],
    ['if (ok) return /"/; import "x";'],
  ])("finds x in: %s", (source) => {
    expect(specifiersIn(source)).toEqual(["x"]);
  });

  test.each([
    ['// import "x";'],
    ['/* import "x"; */'],
    ["const a = 'import \"x\";';"],
    ['const a = `import "x"`;'],
    ['const a = `${b} import("x")`;'],
    ["const a = /import 'x'/;"],
    ['module.import("x");'],
    ['module?.require("x");'],
    ["const url = import.meta.url;"],
    ["export { a };"],
    ['export const from = "x";'],
    ['export default "x";'],
    ['export type A = { from: "x" };'],
    ['const a = { import: "x", export: "x", require: "x" };'],
  ])("finds nothing in: %s", (source) => {
    expect(specifiersIn(source)).toEqual([]);
  });

  test.each([
    ['import type { A } from "x";', true],
    ['import type A from "x";', true],
    ['import type from from "x";', true],
    ['export type { A } from "x";', true],
    ['import type from "x";', false],
    ['import type, { A } from "x";', false],
    ['import { type A } from "x";', false],
    ['import { a } from "x";', false],
  ])("distinguishes a type from a value in: %s", (source, typeOnly) => {
    expect(importsOf(tokenize(source))).toEqual([{ specifier: "x", typeOnly, line: 1 }]);
  });

  test("finds the line, also after a comment and a template over several lines", () => {
    const source = '/*\n*/\nconst a = `\n${1}\n`;\nimport "x";\n';
    expect(importsOf(tokenize(source))).toEqual([{ specifier: "x", typeOnly: false, line: 6 }]);
  });

  test.each([["import(name)"], ["import(`./${name}.ts`)"], ['import("./" + name)'], ["require(name)"]])(
    "reports a computed path as unknown: %s",
    (source) => {
      expect(specifiersIn(source)).toEqual([undefined]);
    },
  );
});

describe("tokenize", () => {
  test.each([
    ['const a = "never closed\n'],
    ["const a = `never closed"],
    ["const a = `${never closed"],
    ["const a = /never closed\n"],
  ])("throws if it cannot read the source: %j", (source) => {
    expect(() => tokenize(source)).toThrow(/cannot be read from line 1/);
  });
});
