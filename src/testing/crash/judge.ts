import { ConfigurationError } from "../../core/errors.ts";
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
  const looked = new Map<string, number>();
  for (const { name, judge: look } of invariants) {
    const finding = look(evidence);
    looked.set(name, finding.looked);
    if (finding.problems.length > 0) broken.push({ invariant: name, problems: finding.problems });
  }
  for (const [name, check] of Object.entries(own)) {
    const what = await wordOf(name, check, evidence);
    looked.set(name, 1);
    if (what !== null) broken.push({ invariant: name, problems: [{ what }] });
  }
  return { broken, looked: Object.fromEntries(looked) };
}

/** An assertion that fails says what is wrong as well as a sentence does. */
async function wordOf(name: string, check: OwnInvariant, evidence: Evidence): Promise<string | null> {
  let word: unknown;
  try {
    word = await check(evidence);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  if (word === null || word === undefined) return null;
  if (typeof word === "string") return word;
  throw new ConfigurationError(
    `The invariant ${name} gave ${JSON.stringify(word)}: let it return what is wrong as a sentence, or nothing.`,
  );
}
