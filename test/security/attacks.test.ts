// Every entry of the threat model in docs/security.md, as an attack: it fails on our sources, and it succeeds on a copy of them
// without the guard, so that it is known to be one.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { assertPlantable, makeBundleFolder } from "../patched-sources.ts";
import { PATIENCE } from "../patience.ts";
import { sampled } from "../whole.ts";
import { ATTACKS } from "./attacks/index.ts";
import { Target } from "./target.ts";

const { folder, remove } = makeBundleFolder();
afterAll(remove);
const ours = new Target(join(folder, "ours"));

/** Some are shown to be attacks at all; `npm run test:full` shows it of each. */
const SHOWN = new Set(sampled(ATTACKS, 4));

describe("an attacker", () => {
  it.for(ATTACKS.map((attack, i) => ({ ...attack, attack, i })))(
    "comes to nothing: $threat",
    PATIENCE,
    async ({ attack, i }) => {
      expect(await attack.succeeds(ours), "on our sources").toBe(false);
      if (!SHOWN.has(attack)) return;
      const weakened = new Target(join(folder, `weakened-${i}`), attack.weakened);
      expect(await attack.succeeds(weakened), "without the guard").toBe(true);
    },
  );

  it("is held off by texts of the sources, whether that is shown here or in the full test", () => {
    for (const { weakened } of ATTACKS) assertPlantable(weakened);
  });
});

describe("the threat model", () => {
  it("has an entry for every attack, and an attack for every entry", () => {
    const entries = readFileSync("docs/security.md", "utf8").split("## What is not promised")[0] ?? "";
    const threats = [...entries.matchAll(/^- \*\*(?<threat>[\s\S]+?)\*\*:/gm)].map(({ groups }) =>
      groups?.threat?.replace(/\s+/g, " "),
    );
    expect(new Set(threats)).toEqual(new Set(ATTACKS.map(({ threat }) => threat)));
    expect(threats).toHaveLength(ATTACKS.length);
  });
});
