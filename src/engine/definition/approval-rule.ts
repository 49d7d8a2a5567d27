import { assertPattern, matchesAction, type NamedTool } from "../../core/call/action-pattern.ts";
import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { type ApprovalNeed, ONE_PERSON } from "../../core/person.ts";

/**
 * Which calls a person has to let run, and how many people.
 *
 * @example
 * new Runner(clerk, { policy: { approve: ["external", { match: "refund_*", people: 2, notStarter: true }] } });
 */
export type ApprovalRule = {
  /** A class of tools, or a name or pattern as in `forbiddenActions`. */
  readonly match: string;
  /** How many people; one unless said. The same one counts once. */
  readonly people?: number;
  /** Whether whoever started the run must not be one of them. */
  readonly notStarter?: boolean;
};

export const CLASSES: readonly string[] = [
  "external",
  "memory",
  "local",
  "read_only",
] satisfies SideEffectClass[];

/** Nobody asks for so many. */
const MOST_PEOPLE = 100;

const RULE_WORDS: readonly string[] = ["match", "people", "notStarter"] satisfies (keyof ApprovalRule)[];

/** What `policy.approve` says, one rule an entry. */
export function approvalRules(given: unknown): readonly ApprovalRule[] {
  if (!Array.isArray(given))
    throw new ConfigurationError(
      `policy.approve is no list: give an array of ${CLASSES.join(", ")}, or rules.`,
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
  const unknown = Object.keys(entry).find((word) => !RULE_WORDS.includes(word));
  if (unknown !== undefined)
    throw new ConfigurationError(
      `${what} has no ${JSON.stringify(unknown)}: it knows ${RULE_WORDS.join(", ")}.`,
    );
  assertPattern(match, `${what}.match`);
  if (typeof people !== "number" || !Number.isSafeInteger(people) || people < 1 || people > MOST_PEOPLE)
    throw new ConfigurationError(
      `${what}.people is ${JSON.stringify(people)}: give a whole number from 1 to ${MOST_PEOPLE}.`,
    );
  if (typeof notStarter !== "boolean")
    throw new ConfigurationError(`${what}.notStarter is ${JSON.stringify(notStarter)}: give true or false.`);
  return { match, people, notStarter };
}

/** What has to be met before this tool runs: all that the rules say of it; null where none does. */
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
