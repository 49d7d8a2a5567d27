import { existsSync } from "node:fs";
import { type CrashExplorerOptions, crashExplorer } from "../../../src/testing/crash/crash-explorer.ts";
import type { CrashReport } from "../../../src/testing/crash/report/crash-report.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** In memory if the machine has such a folder: these tests do not depend on a disk that survives a power cut. */
export const EXPLORER_FOLDER: { readonly folder?: string } = existsSync("/dev/shm")
  ? { folder: "/dev/shm" }
  : {};

type ExploreOptions = Omit<CrashExplorerOptions, "pipeline" | "input">;

const reports = new Map<string, Promise<CrashReport>>();
let last: Promise<unknown> = Promise.resolve();

/** Explores a scenario once per test file, one scenario after the other, and prints a line about it. */
export function explored(name: string, how: ExploreOptions, as = ""): Promise<CrashReport> {
  const known = reports.get(`${name} ${as}`);
  if (known !== undefined) return known;
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
  const report = last.then(() => crashExplorer({ ...scenario(), ...EXPLORER_FOLDER, ...how }));
  reports.set(`${name} ${as}`, report);
  last = report.then((made) => console.log(lineOf(made))).catch(() => undefined);
  return report;
}

/** `keyed: 58 points, 59 schedules, 0 violations` */
export function lineOf({ scenario, points, counts, violations }: CrashReport): string {
  return `${scenario.name}: ${points.length} points, ${counts.schedules} schedules, ${violations.length} violations`;
}

/** Adds up the figures of each name. */
export function sumOf(all: readonly { readonly [name: string]: number }[]): {
  readonly [name: string]: number;
} {
  const sums: { [name: string]: number } = {};
  for (const figures of all)
    for (const [name, figure] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + figure;
  return sums;
}
