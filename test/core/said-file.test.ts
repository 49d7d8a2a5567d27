import { describe, expect, it } from "vitest";
import { fileTitle, isTextType } from "../../src/core/said-file.ts";

it("a file is named by its name and its type", () => {
  expect(fileTitle({ filename: "a cat.png", mediaType: "image/png" })).toBe('file "a cat.png" (image/png)');
  expect(fileTitle({ mediaType: "image/png" })).toBe("a file of type image/png");
});

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
