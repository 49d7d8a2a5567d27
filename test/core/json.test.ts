import { describe, expect, it } from "vitest";
import { isJson } from "../../src/core/canonical-json.ts";
import {
  isDeeper,
  isJsonObject,
  type Json,
  MAX_DEPTH,
  throughJson,
  upToDepth,
  withoutUndefined,
} from "../../src/core/json.ts";

describe("isJsonObject", () => {
  it.each([[{}], [{ a: 1 }], [Object.create(null)]])("is true of the object %j", (value) => {
    expect(isJsonObject(value)).toBe(true);
  });

  it.each([[null], [undefined], [[]], [""], [0], [true], [() => ({})]])("is false of %j", (value) => {
    expect(isJsonObject(value)).toBe(false);
  });
});

const nested = (levels: number) => JSON.parse(`${"[".repeat(levels)}1${"]".repeat(levels)}`) as Json;

describe("a value without undefined", () => {
  it("is the same one if there is nothing to drop, and a copy if there is", () => {
    const whole = { a: [1, { b: null }] };
    expect(withoutUndefined(whole)).toBe(whole);
    const part = { a: undefined, b: [{ c: undefined }], kept: whole };
    const copy = withoutUndefined(part) as typeof part;
    expect(copy).toStrictEqual({ b: [{}], kept: whole });
    expect(copy.kept).toBe(whole);
    expect(part).toHaveProperty("a");
  });

  it("keeps what is refused later: gaps in lists, instances, symbols, methods, cycles", () => {
    const cycle: { self?: unknown; gone: undefined } = { gone: undefined };
    cycle.self = [cycle, cycle];
    const others = [
      [undefined],
      new Map(),
      { [Symbol("s")]: 1, a: undefined },
      { toJSON: () => 1, a: undefined },
    ];
    for (const other of others) expect(withoutUndefined(other)).toBe(other);
    expect(isJson(withoutUndefined(cycle))).toBe(false);
  });

  it("may have any key", () => {
    const value = JSON.parse('{"__proto__":{"a":1},"b":1}') as { b?: number };
    Object.defineProperty(value, "b", { value: undefined });
    expect(JSON.stringify(withoutUndefined(value))).toBe('{"__proto__":{"a":1}}');
  });
});

describe("the depth of a value", () => {
  it("counts objects and lists, including the outermost", () => {
    expect(isDeeper(1, 0)).toBe(false);
    expect(isDeeper([], 0)).toBe(true);
    expect(isDeeper([[], { a: [1] }], 3)).toBe(false);
    expect(isDeeper([[], { a: [1] }], 2)).toBe(true);
  });

  it("is checked for values that are far too deep, and for values that contain themselves", () => {
    expect(isDeeper(nested(100_000), 400)).toBe(true);
    const self: unknown[] = [];
    self.push(self, self);
    expect(isDeeper(self, 400)).toBe(true);
  });

  it("is limited in a copy, whatever the keys", () => {
    const value = JSON.parse('{"__proto__":[[1]],"b":[2]}') as Json;
    expect(JSON.stringify(upToDepth(value, 2))).toBe('{"__proto__":["(nested too deep)"],"b":[2]}');
    expect(upToDepth(value, 3)).toEqual(value);
    expect(isDeeper(upToDepth(nested(100_000), 400), 400)).toBe(false);
  });

  it("is limited for values passed through JSON, and the error says so", () => {
    expect(throughJson(nested(MAX_DEPTH))).toEqual(nested(MAX_DEPTH));
    for (const levels of [MAX_DEPTH + 1, 100_000])
      expect(() => throughJson(nested(levels))).toThrow(/^it is nested deeper than 500 levels$/);
    expect(() => throughJson([[1]], 1)).toThrow("it is nested deeper than 1 levels");
  });
});
