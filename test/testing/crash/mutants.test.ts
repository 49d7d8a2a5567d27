// Bugs planted in copies of the engine and the store. The explorer must find each of them, by the promise that it breaks,
// and must find nothing in the same schedule without the bug.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IS_FULL_TEST, sampled } from "../../full-test.ts";
import { assertPlantable, makeBundleFolder } from "../../patched-sources.ts";
import { type Bundled, loadPatched } from "./mutants/bundle-mutant.ts";
import { CHECKED_MUTANTS, MUTANTS } from "./mutants/index.ts";
import { isForPostgres } from "./mutants/mutant.ts";
import { expectFound } from "./mutants/try-mutant.ts";

const NUMBERED = MUTANTS.map((mutant, i) => ({ ...mutant, i }));
/** In the full test, postgres.test.ts finds most of them: in files first, and then on a server. */
const HERE = IS_FULL_TEST ? NUMBERED.filter((mutant) => !isForPostgres(mutant)) : sampled(NUMBERED, 3);

describe("the explorer", () => {
  const { folder, remove } = makeBundleFolder();
  let sound: Bundled;
  beforeAll(async () => {
    sound = await loadPatched(folder, "sound", []);
  });
  afterAll(remove);

  it.for(HERE)("notices that $what", async (mutant) => {
    const patched = await loadPatched(folder, `mutant-${mutant.i}`, mutant.patches);
    await expectFound(mutant, patched, sound);
  });

  it.for(sampled(CHECKED_MUTANTS.map((mutant, i) => ({ ...mutant, i }))))(
    "notices by its own check that $what",
    async ({ patches, check, i }) => {
      expect(await check(sound)).toBe(true);
      expect(await check(await loadPatched(folder, `checked-mutant-${i}`, patches))).toBe(false);
    },
  );

  it("has enough mutants, each with its own description", () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(24);
    expect(new Set(MUTANTS.map(({ what }) => what)).size).toBe(MUTANTS.length);
  });
});

describe("a planted bug", () => {
  const { folder, remove } = makeBundleFolder();
  afterAll(remove);
  const load = (file: string, right: string) =>
    loadPatched(folder, "none", [{ file, right, wrong: "" }]).catch((error: unknown) => String(error));

  it("finds its text in the sources, whether it runs here or only in the full test", () => {
    for (const { patches } of [...MUTANTS, ...CHECKED_MUTANTS]) assertPlantable(patches);
  });

  it("is refused if its text is missing", async () => {
    expect(await load("core/turn/turn-decision.ts", "no such text")).toContain("has this text 0 times");
  });

  it("is refused if its text is there twice", async () => {
    expect(await load("core/turn/turn-decision.ts", "turn")).toMatch(/has this text \d+ times, and not once/);
  });

  it("is refused if its file is missing, or not in the bundle", async () => {
    expect(await load("core/no-such-file.ts", "x")).toContain("There is no src/core/no-such-file.ts");
    expect(await load("cli/context/command.ts", "x")).toContain("is not in the bundle");
  });
});
