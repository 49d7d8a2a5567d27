import { describe, expect, it } from "vitest";
import { nearestName } from "../../../src/core/naming/nearest-name.ts";

describe("the nearest name", () => {
  it.each([
    ["maxSteps", "maxSteps"],
    ["MAX-STEPS", "maxSteps"],
    ["max_stpes", "maxSteps"],
    ["mxSteps", "maxSteps"],
    ["maxxSteps", "maxSteps"],
    ["maxTokans", "maxTokens"],
    ["retries", "maxRetriesPerToolCall"],
  ])("to %s is %s", (written, meant) => {
    expect(nearestName(written, ["maxSteps", "maxTokens", "maxRetriesPerToolCall"])).toBe(meant);
  });

  it.each(["", "x", "ax", "deadline", "maximumDuration"])("to %j is none", (written) => {
    expect(nearestName(written, ["maxSteps", "maxTokens", "maxRetriesPerToolCall"])).toBeNull();
  });

  it("is the first if two are equally near; a swap counts as one mistake", () => {
    expect(nearestName("abcdef", ["abcdeg", "abcdfe"])).toBe("abcdeg");
    expect(nearestName("abcdef", ["abcdfe", "abcdeg"])).toBe("abcdfe");
    expect(nearestName("abcdef", ["abdcfe", "abcdfe"])).toBe("abcdfe");
  });

  it("is not looked for in names that are too long, or among none", () => {
    expect(nearestName("x".repeat(64), [`${"x".repeat(63)}y`])).not.toBeNull();
    expect(nearestName("x".repeat(65), [`${"x".repeat(64)}y`])).toBeNull();
    expect(nearestName("maxSteps", [])).toBeNull();
  });
});
