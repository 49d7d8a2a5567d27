import { describe, expect, it } from "vitest";
import { inStyleOf, snakeCase } from "../../../src/core/job/run-spec-spelling.ts";

describe("a name", () => {
  it("has one spelling in snake_case", () => {
    expect(snakeCase("maxCostUsd")).toBe("max_cost_usd");
    expect(snakeCase("objective")).toBe("objective");
  });

  it("is suggested in the style of the written name", () => {
    expect(inStyleOf("max_stepz", "budgets.maxSteps")).toBe("budgets.max_steps");
    expect(inStyleOf("maxStepz", "budgets.maxSteps")).toBe("budgets.maxSteps");
  });
});
