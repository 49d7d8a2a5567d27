import { expect, it } from "vitest";
import { fuzzed } from "../security/fuzz/fuzz.ts";
import { PARSERS } from "../security/fuzz/parsers.ts";
import { SOAK_SEED } from "./soak-options.ts";

const INPUTS = 250_000;

it.for(PARSERS)(`${INPUTS} hostile inputs do not harm the parser of $name`, async (parser) => {
  console.log(`PAWL_SOAK_SEED=${SOAK_SEED}`);
  expect(await fuzzed(parser, INPUTS, SOAK_SEED)).toEqual([]);
});
