import { expect } from "vitest";
import { parseSchedule, UNDISTURBED } from "../../../../src/testing/crash/schedule.ts";
import type { Bundled } from "./bundle-mutant.ts";
import { type FirstViolation, firstViolation } from "./first-violation.ts";
import type { Mutant } from "./mutant.ts";

/** Expects that the explorer finds the bug, and nothing in the same schedule without it. SQLite by default. */
export async function expectFound(
  mutant: Mutant,
  patched: Bundled,
  sound: Bundled,
  database?: string,
): Promise<void> {
  const where = database === undefined ? {} : { database };
  const found = await findMutant(mutant, patched, where);
  expect(found?.problems ?? []).not.toEqual([]);
  // The bug breaks the promise, not the schedule.
  const schedule = found?.schedule ?? UNDISTURBED;
  expect(await firstViolation(sound, mutant, { schedule, ...where })).toBeNull();
}

async function findMutant(
  mutant: Mutant,
  patched: Bundled,
  where: { readonly database?: string },
): Promise<FirstViolation | null> {
  if (mutant.schedule !== undefined)
    return firstViolation(patched, mutant, { schedule: parseSchedule(mutant.schedule), ...where });
  if (where.database === undefined) return firstViolation(patched, mutant);
  // Files are much faster, and mostly the same schedule shows the bug on both.
  const inFiles = await firstViolation(patched, mutant);
  const same =
    inFiles === null ? null : await firstViolation(patched, mutant, { schedule: inFiles.schedule, ...where });
  return same ?? firstViolation(patched, mutant, where);
}
