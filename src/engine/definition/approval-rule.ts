import { assertPattern, matchesAction, type NamedTool } from "../../core/call/action-pattern.ts";
import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import { type ApprovalNeed, ONE_PERSON } from "../../core/person.ts";

/**
 * Calls that run only once people have approved them, and how many people it takes.
 *
 * @example
 * new Runner(clerk, { policy: { approve: ["external", { match: "refund_*", people: 2, notStarter: true }] } });
 */
export type ApprovalRule = {
  /** A side-effect class, or a tool name or pattern as in `forbiddenActions`. */
  readonly match: string;
  /** The number of different people; 1 by default. */
  readonly people?: number;
  /** True if the person who started the run does not count; false by default. */
  readonly notStarter?: boolean;
};

export const CLASSES: readonly string[] = [
  "external",
  "memory",
  "local",
  "read_only",
] satisfies SideEffectClass[];

/** An arbitrary limit that only a mistake exceeds. */
const MOST_PEOPLE = 100;

const RULE_NAMES = { match: true, people: true, notStarter: true } satisfies OptionNames<ApprovalRule>;

/** The entries of `policy.approve` as rules. */
export function approvalRules(given: unknown): readonly ApprovalRule[] {
  if (!Array.isArray(given))
    throw new ConfigurationError(
      `policy.approve is not a list: give an array of ${CLASSES.join(", ")}, or rules.`,
    );
  return (given as readonly unknown[]).map((entry, index) => ruleOf(entry, `policy.approve[${index}]`));
}

function ruleOf(entry: unknown, what: string): ApprovalRule {
  if (typeof entry === "string" && CLASSES.includes(entry)) return { match: entry };
  if (typeof entry !== "object" || entry === null)
    throw new ConfigurationError(
      `policy.approve has ${JSON.stringify(entry) ?? typeof entry}: use ${CLASSES.join(", ")}, or { match: "refund_*", people: 2 }.`,
    );
  const { match, people = 1, notStarter = false } = entry as { readonly [word: string]: unknown };
  assertOptions(what, entry, RULE_NAMES);
  assertPattern(match, `${what}.match`);
  if (typeof people !== "number" || !Number.isSafeInteger(people) || people < 1 || people > MOST_PEOPLE)
    throw new ConfigurationError(
      `${what}.people is ${JSON.stringify(people)}: give a whole number from 1 to ${MOST_PEOPLE}.`,
    );
  if (typeof notStarter !== "boolean")
    throw new ConfigurationError(`${what}.notStarter is ${JSON.stringify(notStarter)}: give true or false.`);
  return { match, people, notStarter };
}

/** The approval that this tool needs under all rules that match it; null if none matches. */
export function approvalNeed(
  rules: readonly ApprovalRule[],
  tool: NamedTool & { readonly effect: SideEffectClass },
): ApprovalNeed | null {
  const binding = rules.filter(({ match }) =>
    CLASSES.includes(match) ? match === tool.effect : matchesAction([match], tool) !== null,
  );
  if (binding.length === 0) return null;
  return {
    people: Math.max(...binding.map(({ people = ONE_PERSON.people }) => people)),
    notStarter: binding.some(({ notStarter = ONE_PERSON.notStarter }) => notStarter),
  };
}
