import { ConfigurationError } from "../../core/errors.ts";
import type { Evidence } from "./evidence.ts";
import type { Invariant, OwnInvariant, Problem } from "./invariant.ts";

/** The broken invariants after a schedule, and how many items each invariant checked. */
export type InvariantResults = {
  readonly broken: readonly { readonly invariant: string; readonly problems: readonly Problem[] }[];
  readonly looked: { readonly [invariant: string]: number };
};

export async function checkInvariants(
  evidence: Evidence,
  invariants: readonly Invariant[],
  own: { readonly [name: string]: OwnInvariant } = {},
): Promise<InvariantResults> {
  const broken: { invariant: string; problems: readonly Problem[] }[] = [];
  const looked = new Map<string, number>();
  for (const { name, judge } of invariants) {
    const finding = judge(evidence);
    looked.set(name, finding.looked);
    if (finding.problems.length > 0) broken.push({ invariant: name, problems: finding.problems });
  }
  for (const [name, check] of Object.entries(own)) {
    const what = await checkOwn(name, check, evidence);
    looked.set(name, 1);
    if (what !== null) broken.push({ invariant: name, problems: [{ what }] });
  }
  return { broken, looked: Object.fromEntries(looked) };
}

/** A failed assertion counts as a problem, with its message. */
async function checkOwn(name: string, check: OwnInvariant, evidence: Evidence): Promise<string | null> {
  let problem: unknown;
  try {
    problem = await check(evidence);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  if (problem === null || problem === undefined) return null;
  if (typeof problem === "string") return problem;
  throw new ConfigurationError(
    `The invariant ${name} returned ${JSON.stringify(problem)}: return the problem as a sentence, or nothing.`,
  );
}
