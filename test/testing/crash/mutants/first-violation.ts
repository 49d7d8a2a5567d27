import type { Schedule } from "../../../../src/testing/crash/schedule.ts";
import { EXPLORER_FOLDER } from "../explored-scenario.ts";
import type { Bundled } from "./bundle-mutant.ts";
import type { Mutant } from "./mutant.ts";

export type FirstViolation = { readonly schedule: Schedule; readonly problems: readonly string[] };

/** Explores until the promise is broken; null if it never is. With a schedule, runs that one alone. SQLite by default. */
export async function firstViolation(
  { crashExplorer, INVARIANTS, SCENARIOS }: Bundled,
  { breaks, scenario, mode = "crash" }: Pick<Mutant, "breaks" | "scenario" | "mode">,
  { schedule, database }: { readonly schedule?: Schedule; readonly database?: string } = {},
): Promise<FirstViolation | null> {
  const invariant = INVARIANTS.find(({ name }) => name === breaks);
  const explored = SCENARIOS[scenario]?.();
  if (invariant === undefined) throw new Error(`There is no invariant ${breaks}.`);
  if (explored === undefined) throw new Error(`There is no scenario ${scenario}.`);
  let looked = 0;
  let found: FirstViolation | null = null;
  const stopAtFirst = (evidence: Parameters<typeof invariant.judge>[0]) => {
    const finding = invariant.judge(evidence);
    looked += finding.looked;
    const problems = finding.problems.map(({ what }) => what);
    if (problems.length > 0) found ??= { schedule: evidence.schedule, problems };
    return null;
  };
  const onProgress = () => {
    if (found !== null) throw new ViolationFound(found);
  };
  try {
    await crashExplorer({
      ...explored,
      ...EXPLORER_FOLDER,
      ...(schedule === undefined ? { modes: [mode] } : { schedule }),
      ...(database === undefined ? {} : { database }),
      onProgress,
      invariants: { ...Object.fromEntries(INVARIANTS.map(({ name }) => [name, false])), stopAtFirst },
    });
  } catch (error) {
    if (error instanceof ViolationFound) return error.violation;
    throw error;
  }
  if (looked === 0) throw new Error(`In ${scenario} there is nothing that ${breaks} could check.`);
  return null;
}

/** Ends the exploration at the first violation. */
class ViolationFound extends Error {
  readonly violation: FirstViolation;

  constructor(violation: FirstViolation) {
    super("A promise is broken.");
    this.violation = violation;
  }
}
