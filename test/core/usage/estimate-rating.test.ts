import { expect, it } from "vitest";
import { rateEstimate } from "../../../src/core/usage/estimate-rating.ts";

it.each([
  { estimated: 105, counted: 18_000, kind: "too_low" },
  { estimated: 1_000, counted: 2_001, kind: "too_low" },
  { estimated: 1_000, counted: 2_000, kind: "near" },
  { estimated: 105, counted: 605, kind: "near" },
  { estimated: 105, counted: 606, kind: "too_low" },
  { estimated: 3_000, counted: 1_400, kind: "too_high" },
  { estimated: 900, counted: 401, kind: "near" },
  { estimated: 3_841, counted: 10, kind: "no_count" },
  { estimated: 3_841, counted: 0, kind: "no_count" },
  { estimated: 0, counted: 0, kind: "no_count" },
])("an estimate of $estimated that is counted as $counted is $kind", ({ estimated, counted, kind }) => {
  expect(rateEstimate(estimated, counted)).toEqual({ kind });
});
