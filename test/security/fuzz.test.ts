// Thousands of malformed inputs: nothing crashes, hangs, escapes its folder or pollutes the prototype of objects.
// `npm run test:full` tries more of them, and `npm run test:soak` a quarter of a million for each.

import { expect, it } from "vitest";
import { IS_FULL_TEST } from "../full-test.ts";
import { PATIENCE } from "../patience.ts";
import { fuzzed } from "./fuzz/fuzz.ts";
import { PARSERS } from "./fuzz/parsers.ts";

const INPUTS = IS_FULL_TEST ? 5_000 : 1_000;

it.for(PARSERS)("hostile inputs do no harm to the parser of $name", PATIENCE, async (parser) => {
  expect(await fuzzed(parser, INPUTS, 20_260)).toEqual([]);
});
