import { describe, expect, it } from "vitest";
import {
  EVERYTHING,
  isInScope,
  mergeScopeLabels,
  readScope,
  scopeFilter,
  scopeText,
} from "../../../src/core/access/scope.ts";
import { ConfigurationError } from "../../../src/core/errors.ts";

const ACME = readScope({ pipelines: ["report", "mail"], labels: { tenant: "acme", region: "eu" } });

describe("a scope", () => {
  it("has every run if it restricts nothing", () => {
    expect(readScope({})).toEqual(EVERYTHING);
    expect(isInScope(EVERYTHING, { pipeline: "report", metadata: null })).toBe(true);
    expect(scopeFilter(EVERYTHING)).toEqual({});
    expect(scopeText(EVERYTHING)).toBe("all runs");
  });

  it.each([
    [true, "report", { tenant: "acme", region: "eu", other: "x" }],
    [true, "mail", { tenant: ["globex", "acme"], region: "eu" }],
    [false, "other", { tenant: "acme", region: "eu" }],
    [false, "report", { tenant: "acme" }],
    [false, "report", { tenant: "globex", region: "eu" }],
    [false, "report", { tenant: "ACME", region: "eu" }],
    [false, "report", null],
  ])("has (%s) a run of %s with %j", (isIn, pipeline, metadata) => {
    expect(isInScope(ACME, { pipeline, metadata })).toBe(isIn);
  });

  it("finds no label that every object inherits", () => {
    const scope = readScope({ labels: { toString: "x" } });
    expect(isInScope(scope, { pipeline: "report", metadata: {} })).toBe(false);
  });

  it("is a filter of lists, and a text", () => {
    expect(scopeFilter(ACME)).toEqual({
      pipelines: ["mail", "report"],
      metadata: { tenant: "acme", region: "eu" },
    });
    expect(scopeText(ACME)).toBe("pipelines mail, report, tenant=acme, region=eu");
  });

  it("gives a run that is started in it its labels, and refuses other values", () => {
    const scope = readScope({ labels: { tenant: "acme" } });
    expect(mergeScopeLabels(EVERYTHING, null)).toBeNull();
    expect(mergeScopeLabels(scope, null)).toEqual({ tenant: "acme" });
    expect(mergeScopeLabels(scope, { tenant: ["acme"], order: "7" })).toEqual({ tenant: "acme", order: "7" });
    for (const tenant of ["globex", ["acme", "globex"]])
      expect(() => mergeScopeLabels(scope, { tenant })).toThrow(
        'The metadata "tenant" is "globex", and this access is for "acme" only: leave it out, or give that.',
      );
  });

  it.each([
    [{ pipelines: [] }, "The pipelines of the scope are []: give a list of names"],
    [{ pipelines: "report" }, "The pipelines of the scope are a string"],
    [{ pipelines: [" "] }, "give a list of names"],
    [{ labels: {} }, "The labels of the scope are an object: give names with texts"],
    [{ labels: { tenant: 7 } }, 'The label "tenant" of the scope is 7: give a text.'],
    [{ label: { tenant: "acme" } }, 'A scope has no "label": did you mean labels?'],
  ])("is refused with a sentence: %j", (given, message) => {
    expect(() => readScope(given)).toThrow(ConfigurationError);
    expect(() => readScope(given)).toThrow(message);
  });
});
