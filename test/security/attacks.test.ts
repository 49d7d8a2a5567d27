// Every entry of the threat model in docs/security.md, as an attack: it fails on our sources, and succeeds on a copy of them
// without the guard, which proves that it is a real attack.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sampled } from "../full-test.ts";
import { assertPlantable, makeBundleFolder } from "../patched-sources.ts";
import { PATIENCE } from "../patience.ts";
import { ATTACKS } from "./attacks/index.ts";
import { Target } from "./target.ts";

const { folder, remove } = makeBundleFolder();
afterAll(remove);
const ours = new Target(join(folder, "ours"));

/** Attacks that are also run without their guard; `npm run test:full` does so for all. */
const PROVEN = new Set(sampled(ATTACKS, 9));

describe("an attack", () => {
  it.for(ATTACKS.map((attack, i) => ({ ...attack, attack, i })))(
    "fails: $threat",
    PATIENCE,
    async ({ attack, i }) => {
      expect(await attack.succeeds(ours), "on our sources").toBe(false);
      if (!PROVEN.has(attack)) return;
      const weakened = new Target(join(folder, `weakened-${i}`), attack.weakened);
      expect(await attack.succeeds(weakened), "without the guard").toBe(true);
    },
  );

  it("has a guard whose text is in the sources", () => {
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
