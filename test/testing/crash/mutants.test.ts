// Bugs that are planted in copies of the engine and the store. The explorer has to find each of them, by the promise that it
// breaks, and nothing where the same is done without the bug.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseSchedule, UNDISTURBED } from "../../../src/testing/crash/schedule.ts";
import { assertPlantable, makeBundleFolder } from "../../patched-sources.ts";
import { sampled } from "../../whole.ts";
import { type Bundled, loadPatched } from "./mutants/bundle-mutant.ts";
import { firstViolation } from "./mutants/first-violation.ts";
import { MUTANTS } from "./mutants/index.ts";
import { MARK_MUTANTS } from "./mutants/mark-mutants.ts";

describe("the explorer", () => {
  const { folder, remove } = makeBundleFolder();
  let sound: Bundled;
  beforeAll(async () => {
    sound = await loadPatched(folder, "sound", []);
  });
  afterAll(remove);

  it.for(sampled(MUTANTS.map((mutant, i) => ({ ...mutant, i }))))("finds out that $what", async (mutant) => {
    const patched = await loadPatched(folder, `mutant-${mutant.i}`, mutant.patches);
    const shown = mutant.schedule === undefined ? undefined : parseSchedule(mutant.schedule);
    const found = await firstViolation(patched, mutant, shown);
    expect(found?.problems ?? []).not.toEqual([]);
    // It is the bug that breaks the promise, and not what was done to the processes.
    expect(await firstViolation(sound, mutant, found?.schedule ?? UNDISTURBED)).toBeNull();
  });

  it.for(sampled(MARK_MUTANTS.map((mutant, i) => ({ ...mutant, i }))))(
    "finds out by a check of its own that $what",
    async ({ patches, check, i }) => {
      expect(await check(sound)).toBe(true);
      expect(await check(await loadPatched(folder, `mark-mutant-${i}`, patches))).toBe(false);
    },
  );

  it("has enough to find, each in words of its own", () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(24);
    expect(new Set(MUTANTS.map(({ what }) => what)).size).toBe(MUTANTS.length);
  });
});

describe("a bug that is to be planted", () => {
  const { folder, remove } = makeBundleFolder();
  afterAll(remove);
  const load = (file: string, right: string) =>
    loadPatched(folder, "none", [{ file, right, wrong: "" }]).catch((error: unknown) => String(error));

  it("is planted in sources that have its text, whether it is shown here or in the full test", () => {
    for (const { patches } of [...MUTANTS, ...MARK_MUTANTS]) assertPlantable(patches);
  });

  it("is refused where its text is not there", async () => {
    expect(await load("core/turn/turn-decision.ts", "no such text")).toContain("has this text 0 times");
  });

  it("is refused where its text is there twice", async () => {
    expect(await load("core/turn/turn-decision.ts", "turn")).toMatch(/has this text \d+ times, and not once/);
  });

  it("is refused where its file is not there, or is not run", async () => {
    expect(await load("core/no-such-file.ts", "x")).toContain("There is no src/core/no-such-file.ts");
    expect(await load("cli/context/command.ts", "x")).toContain("is not in the bundle");
  });
});
