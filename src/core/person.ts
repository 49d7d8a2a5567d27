import { ConfigurationError } from "./errors.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import { comparableText } from "./visible-text.ts";

/** Whom somebody was known to be, and by what: `{ name: "ann", by: "oidc", id: "00u1…" }`. */
export type Authenticated = {
  readonly name: string;
  /** What vouches for it: "os", "oidc", the name of a gateway. */
  readonly by: string;
  /** What tells them from others of the same name there. */
  readonly id?: string;
};

/** Who decided something, for the record. `by` is what they say; `authenticated` is what somebody else vouches for. */
export type Person = { readonly by?: string; readonly authenticated?: Authenticated };

/** A person's part in an answer, as it is kept. An object, so that a signature can stand beside it. */
export type Decision = {
  readonly name: string;
  readonly at: number;
  readonly authenticated: Authenticated | null;
};

/** How many people have to let a call run, and whether whoever started the run may be one of them. */
export type ApprovalNeed = { readonly people: number; readonly notStarter: boolean };

export const ONE_PERSON: ApprovalNeed = { people: 1, notStarter: false };

const NOBODY_NAMED = "somebody";

/** What a caller without types gives is looked at: what is recorded as vouched for must be. */
export function decisionOf(person: Person, at: number): Decision {
  const { by } = person;
  const authenticated = person.authenticated ?? undefined;
  for (const [what, text] of Object.entries({ by, ...prefixed(authenticated) }))
    if (text !== undefined && (typeof text !== "string" || comparableText(text) === ""))
      throw new ConfigurationError(`${what} is ${JSON.stringify(text)}: give a name, or leave it out.`);
  if (authenticated === undefined) return { name: by ?? NOBODY_NAMED, at, authenticated: null };
  const { name, by: source, id } = authenticated;
  const vouched = { name, by: source, ...(id === undefined ? {} : { id }) };
  return { name: by ?? name, at, authenticated: vouched };
}

function prefixed(authenticated: Authenticated | undefined): { readonly [what: string]: unknown } {
  if (authenticated === undefined) return {};
  const { name = null, by = null, id } = authenticated as { readonly [part: string]: unknown };
  return { "authenticated.name": name, "authenticated.by": by, "authenticated.id": id };
}

/** What one more approval comes to. */
export type ApprovalProgress =
  | { readonly kind: "enough" }
  | { readonly kind: "more"; readonly needed: number }
  /** This person has approved it already, and others have to. */
  | { readonly kind: "again"; readonly why: string }
  | { readonly kind: "refused"; readonly why: string };

/** Whether this person may be one of those who let a call run, and how many are still needed after that. */
export function decideApproval(
  { people, notStarter }: ApprovalNeed,
  starter: Decision | null,
  earlier: readonly Decision[],
  next: Decision,
): ApprovalProgress {
  const isNamed = next.authenticated !== null || folded(next.name) !== NOBODY_NAMED;
  if ((people > 1 || notStarter) && !isNamed)
    return refused("it takes people who are known by name: say who approves it");
  if (notStarter && starter === null)
    return refused(
      "it takes another person than the one who started the run, and nobody recorded who that was: deny it, and start a run with `startedBy`",
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
 * Where the same source vouches for both, it tells them apart: by what it knows of both, their ids or their names. Else a name
 * is all there is, and an equal one is the same.
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

/** As it looks: two names that nobody can tell apart are one. */
function folded(name: string): string {
  return comparableText(name).toUpperCase().toLowerCase().replaceAll(/\s+/g, " ");
}

/** What a wait asks for; one from before there was more to ask for takes one person. */
export function approvalNeedOf({ people, notStarter }: JsonObject): ApprovalNeed {
  return {
    people: typeof people === "number" && people > 1 ? people : 1,
    notStarter: notStarter === true,
  };
}

/** What of a need has to be written down: one person is what is usual. */
export function approvalNeedJson({ people, notStarter }: ApprovalNeed): JsonObject {
  return { ...(people > 1 ? { people } : {}), ...(notStarter ? { notStarter } : {}) };
}

/** As it is kept, with nothing in it that is not there. */
export function decisionJson({ name, at, authenticated }: Decision): JsonObject {
  return { name, at, ...(authenticated === null ? {} : { authenticated: { ...authenticated } }) };
}

/** Who it was, for an event; and whom they were known to be, where somebody vouches for it. */
export function personFacts({ name, authenticated }: Decision): JsonObject {
  return { by: name, ...(authenticated === null ? {} : { authenticated: { ...authenticated } }) };
}

export function readDecision(value: Json): Decision | null {
  if (!isJsonObject(value) || typeof value.name !== "string") return null;
  const { name, at, authenticated = null } = value;
  return { name, at: Number(at ?? 0), authenticated: authenticated as Authenticated | null };
}
