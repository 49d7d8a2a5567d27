import { describe, expect, it } from "vitest";
import { isTextType } from "../../src/core/said-file.ts";

describe("the type of a text file", () => {
  it.each([
    "text/plain",
    "application/json",
    "application/vnd.api+json",
    "application/xml",
    "image/svg+xml",
    "application/yaml",
    "application/csv",
    "application/javascript",
  ])("may be %s", (type) => {
    expect(isTextType(type)).toBe(true);
  });

  it.each([
    "image/png",
    "application/pdf",
    "application/octet-stream",
    "application/x-jsonish",
    "application/zip",
  ])("is not %s", (type) => {
    expect(isTextType(type)).toBe(false);
  });
});
