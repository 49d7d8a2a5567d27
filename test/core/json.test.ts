import { describe, expect, it } from "vitest";
import { isJsonObject } from "../../src/core/json.ts";

describe("isJsonObject", () => {
  it.each([[{}], [{ a: 1 }], [Object.create(null)]])("is true of the object %j", (value) => {
    expect(isJsonObject(value)).toBe(true);
  });

  it.each([[null], [undefined], [[]], [""], [0], [true], [() => ({})]])("is false of %j", (value) => {
    expect(isJsonObject(value)).toBe(false);
  });
});
