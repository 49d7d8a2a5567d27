import { expect } from "vitest";
import { parseSchedule, UNDISTURBED } from "../../../../src/testing/crash/schedule.ts";
import type { Bundled } from "./bundle-mutant.ts";
import { firstViolation } from "./first-violation.ts";
import type { Mutant } from "./mutant.ts";

/** Expects that the explorer finds the bug, and nothing in the same schedule without it. SQLite by default. */
export async function expectFound(
  mutant: Mutant,
  patched: Bundled,
  sound: Bundled,
  database?: string,
): Promise<void> {
  const where = database === undefined ? {} : { database };
  const shown = mutant.schedule === undefined ? {} : { schedule: parseSchedule(mutant.schedule) };
  const found = await firstViolation(patched, mutant, { ...shown, ...where });
  expect(found?.problems ?? []).not.toEqual([]);
  // The bug breaks the promise, not the schedule.
  const schedule = found?.schedule ?? UNDISTURBED;
  expect(await firstViolation(sound, mutant, { schedule, ...where })).toBeNull();
}
