import { expect } from "vitest";
import { parseSchedule, UNDISTURBED } from "../../../../src/testing/crash/schedule.ts";
import type { Bundled } from "./bundle-mutant.ts";
import { type FirstViolation, firstViolation } from "./first-violation.ts";
import type { Mutant } from "./mutant.ts";

/** Expects that the explorer finds the bug in files, and on this server too, if one is given. */
export async function expectFound(
  mutant: Mutant,
  patched: Bundled,
  sound: Bundled,
  database?: string,
): Promise<void> {
  const schedule = mutant.schedule === undefined ? {} : { schedule: parseSchedule(mutant.schedule) };
  const inFiles = await firstViolation(patched, mutant, schedule);
  await expectBroken(inFiles, mutant, sound, {});
  if (database === undefined) return;
  // Mostly the same schedule shows it on both.
  const same =
    inFiles === null ? null : await firstViolation(patched, mutant, { schedule: inFiles.schedule, database });
  const found = same ?? (await firstViolation(patched, mutant, { database }));
  await expectBroken(found, mutant, sound, { database });
}

/** The bug breaks the promise, not the schedule: there is nothing in the same schedule without it. */
async function expectBroken(
  found: FirstViolation | null,
  mutant: Mutant,
  sound: Bundled,
  where: { readonly database?: string },
): Promise<void> {
  expect(found?.problems ?? []).not.toEqual([]);
  const schedule = found?.schedule ?? UNDISTURBED;
  expect(await firstViolation(sound, mutant, { schedule, ...where })).toBeNull();
}
