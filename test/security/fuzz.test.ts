// Thousands of malformed inputs: nothing crashes, hangs, escapes its folder or pollutes the prototype of objects.
// `npm run test:soak` tries a quarter of a million for each.

import { expect, it } from "vitest";
import { PATIENCE } from "../patience.ts";
import { fuzzed } from "./fuzz/fuzz.ts";
import { PARSERS } from "./fuzz/parsers.ts";

it.for(PARSERS)("5,000 hostile inputs do no harm to the parser of $name", PATIENCE, async (parser) => {
  expect(await fuzzed(parser, 5_000, 20_260)).toEqual([]);
});
