// Thousands of inputs that no honest side would send: nothing crashes, hangs, leads out of its folder or changes every object.
// `npm run test:soak` tries a quarter of a million for each.

import { expect, it } from "vitest";
import { PATIENCE } from "../patience.ts";
import { fuzzed } from "./fuzz/fuzz.ts";
import { PARSERS } from "./fuzz/parsers.ts";

it.for(PARSERS)("5,000 hostile inputs do no harm to what reads $name", PATIENCE, async (parser) => {
  expect(await fuzzed(parser, 5_000, 20_260)).toEqual([]);
});
