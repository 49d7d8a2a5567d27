// Every row of the threat model in docs/security.md, as an attack: it fails on our sources, and it succeeds on a copy of them
// without the guard, so that it is known to be one.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeBundleFolder } from "../patched-sources.ts";
import { PATIENCE } from "../patience.ts";
import { IS_WHOLE } from "../whole.ts";
import { ATTACKS } from "./attacks/index.ts";
import { Target } from "./target.ts";

const { folder, remove } = makeBundleFolder();
afterAll(remove);
const ours = new Target(join(folder, "ours"));

/** Every other one is shown to be an attack at all; `npm run test:full` shows it of each. */
const SAMPLE = 1;

describe("an attacker", () => {
  it.for(ATTACKS.map((attack, i) => ({ ...attack, i })))(
    "comes to nothing: $threat",
    PATIENCE,
    async ({ succeeds, weakened, i }) => {
      expect(await succeeds(ours), "on our sources").toBe(false);
      if (!IS_WHOLE && i % 2 !== SAMPLE) return;
      expect(await succeeds(new Target(join(folder, `weakened-${i}`), weakened)), "without the guard").toBe(
        true,
      );
    },
  );
});

describe("the threat model", () => {
  it("has a row for every attack, and an attack for every row", () => {
    const rows = readFileSync("docs/security.md", "utf8").matchAll(/^\| (?!threat |-)(?<threat>.+?) \|/gm);
    const threats = [...rows].map(({ groups }) => groups?.threat);
    expect(new Set(threats)).toEqual(new Set(ATTACKS.map(({ threat }) => threat)));
    expect(threats).toHaveLength(ATTACKS.length);
  });
});
