import { ConfigurationError } from "./errors.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import { comparableText } from "./visible-text.ts";

/** An authenticated identity and its source: `{ name: "ann", by: "oidc", id: "00u1…" }`. */
export type Authenticated = {
  readonly name: string;
  /** What authenticated it: "os", "oidc", the name of a gateway. */
  readonly by: string;
  /** Distinguishes people of the same name at that source. */
  readonly id?: string;
};

/** The person who made a decision, for the record. `by` is their own claim; `authenticated` is vouched for by a source. */
export type Person = { readonly by?: string; readonly authenticated?: Authenticated };

/** A person's part in an answer, as it is stored. An object, so that a signature can be added. */
export type Decision = {
  readonly name: string;
  readonly at: number;
  readonly authenticated: Authenticated | null;
};

/** How many people must approve a call, and whether the person who started the run may be one of them. */
export type ApprovalNeed = { readonly people: number; readonly notStarter: boolean };

export const ONE_PERSON: ApprovalNeed = { people: 1, notStarter: false };

/** The stored name of a person who gave none. */
const UNNAMED = "somebody";

/** The names of people, for a sentence. */
export function namesInWords(people: readonly Decision[]): string {
  const names = people.map(({ name, authenticated }) =>
    name === UNNAMED && authenticated === null ? "a person who gave no name" : name,
  );
  return names.join(" and ");
}

/** Checks the values at run time, for callers without types: a record of authentication must be sound. */
export function decisionOf(person: Person, at: number): Decision {
  const { by } = person;
  const authenticated = person.authenticated ?? undefined;
  for (const [what, text] of Object.entries({ by, ...prefixed(authenticated) }))
    if (text !== undefined && (typeof text !== "string" || comparableText(text) === ""))
      throw new ConfigurationError(`${what} is ${JSON.stringify(text)}: give a name, or leave it out.`);
  if (authenticated === undefined) return { name: by ?? UNNAMED, at, authenticated: null };
  const { name, by: source, id } = authenticated;
  const vouched = { name, by: source, ...(id === undefined ? {} : { id }) };
  return { name: by ?? name, at, authenticated: vouched };
}

function prefixed(authenticated: Authenticated | undefined): { readonly [what: string]: unknown } {
  if (authenticated === undefined) return {};
  const { name = null, by = null, id } = authenticated as { readonly [part: string]: unknown };
  return { "authenticated.name": name, "authenticated.by": by, "authenticated.id": id };
}

/** The result of one more approval. */
export type ApprovalProgress =
  | { readonly kind: "enough" }
  | { readonly kind: "more"; readonly needed: number }
  /** This person has approved it already, and it takes others. */
  | { readonly kind: "again"; readonly why: string }
  | { readonly kind: "refused"; readonly why: string };

/** Decides whether this person may be one of the approvers of a call, and how many more are needed after that. */
export function decideApproval(
  { people, notStarter }: ApprovalNeed,
  starter: Decision | null,
  earlier: readonly Decision[],
  next: Decision,
): ApprovalProgress {
  const isNamed = next.authenticated !== null || folded(next.name) !== UNNAMED;
  if ((people > 1 || notStarter) && !isNamed)
    return refused("it takes people who are known by name: say who approves it");
  if (notStarter && starter === null)
    return refused(
      "it takes another person than the one who started the run, and it is not recorded who that was: deny it, and start a run with `startedBy`",
    );
  if (notStarter && starter !== null && isSamePerson(starter, next))
    return refused(`it takes another person than ${shown(starter)}, who started the run`);
  const same = earlier.find((each) => isSamePerson(each, next));
  if (same !== undefined && earlier.length < people) {
    const others = counted(people - earlier.length);
    const why = `${shown(same)} has approved it already, and it takes ${people} people: ask ${others}`;
    return { kind: "again", why };
  }
  const known = [...(notStarter && starter !== null ? [starter] : []), ...earlier];
  const vouched = known.find(({ authenticated }) => authenticated !== null);
  if (vouched !== undefined && next.authenticated === null)
    return refused(
      `it takes another person than ${shown(vouched)}, and nothing vouches for ${next.name}: give \`authenticated\`, as there is for ${shown(vouched)}`,
    );
  const needed = people - earlier.length - 1;
  return needed > 0 ? { kind: "more", needed } : { kind: "enough" };
}

function refused(why: string): ApprovalProgress {
  return { kind: "refused", why };
}

function counted(others: number): string {
  return others === 1 ? "another one" : `${others} others`;
}

function shown({ name, authenticated }: Decision): string {
  const isOther = authenticated !== null && authenticated.name !== name;
  return isOther ? `${authenticated.name} (as ${name})` : name;
}

/**
 * If the same source authenticated both, it distinguishes them: by their ids if it has both, otherwise by their names.
 * Without a common source there are only names, and equal names are the same person.
 */
function isSamePerson(one: Decision, other: Decision): boolean {
  const [a, b] = [one.authenticated, other.authenticated];
  if (a !== null && b !== null && folded(a.by) === folded(b.by))
    return a.id !== undefined && b.id !== undefined ? a.id === b.id : folded(a.name) === folded(b.name);
  const names = namesOf(one);
  return namesOf(other).some((name) => names.includes(name));
}

function namesOf({ name, authenticated }: Decision): readonly string[] {
  return [name, ...(authenticated === null ? [] : [authenticated.name])].map(folded);
}

/** A name as it looks: two names that look the same are equal. */
function folded(name: string): string {
  return comparableText(name).toUpperCase().toLowerCase().replaceAll(/\s+/g, " ");
}

/** The approvals that a wait needs; a wait from an earlier version, without these fields, needs one. */
export function approvalNeedOf({ people, notStarter }: JsonObject): ApprovalNeed {
  return {
    people: typeof people === "number" && people > 1 ? people : 1,
    notStarter: notStarter === true,
  };
}

/** The fields that are stored of a need: one person is the default and is left out. */
export function approvalNeedJson({ people, notStarter }: ApprovalNeed): JsonObject {
  return { ...(people > 1 ? { people } : {}), ...(notStarter ? { notStarter } : {}) };
}

/** The stored form of a decision, without absent fields. */
export function decisionJson({ name, at, authenticated }: Decision): JsonObject {
  return { name, at, ...(authenticated === null ? {} : { authenticated: { ...authenticated } }) };
}

/** The person of a decision, for an event: the name, and the authenticated identity if there is one. */
export function personFacts({ name, authenticated }: Decision): JsonObject {
  return { by: name, ...(authenticated === null ? {} : { authenticated: { ...authenticated } }) };
}

export function readDecision(value: Json): Decision | null {
  if (!isJsonObject(value) || typeof value.name !== "string") return null;
  const { name, at, authenticated = null } = value;
  return { name, at: Number(at ?? 0), authenticated: authenticated as Authenticated | null };
}
