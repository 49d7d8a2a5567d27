import type { Evidence } from "./evidence.ts";
import type { Invariant, OwnInvariant, Problem } from "./invariant.ts";

/** What is wrong after a schedule, and how much was looked at. */
export type Verdict = {
  readonly broken: readonly { readonly invariant: string; readonly problems: readonly Problem[] }[];
  readonly looked: { readonly [invariant: string]: number };
};

export async function judge(
  evidence: Evidence,
  invariants: readonly Invariant[],
  own: { readonly [name: string]: OwnInvariant } = {},
): Promise<Verdict> {
  const broken: { invariant: string; problems: readonly Problem[] }[] = [];
  const looked: { [invariant: string]: number } = {};
  for (const { name, judge: look } of invariants) {
    const finding = look(evidence);
    looked[name] = finding.looked;
    if (finding.problems.length > 0) broken.push({ invariant: name, problems: finding.problems });
  }
  for (const [name, check] of Object.entries(own)) {
    const what = await check(evidence);
    looked[name] = 1;
    if (typeof what === "string") broken.push({ invariant: name, problems: [{ what }] });
  }
  return { broken, looked };
}
