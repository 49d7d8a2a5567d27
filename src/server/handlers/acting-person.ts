import type { Person } from "../../core/person.ts";
import type { Principal } from "../principal.ts";

/**
 * Who an act is recorded as: the server has authenticated the principal, and no field of a request can name another. Where Pawl
 * itself gives access, a person is a name: with a token, with another one, and signed in by a code, ana is one person where a
 * rule asks for two. Only admins choose names. A program with people of its own tells them apart by its own ids.
 */
export function personOf({ name, id, source }: Principal): Person {
  return { authenticated: { name, by: "pawl", ...(source === "host" ? { id } : {}) } };
}

/** The same text for the same person, and another one for each other: a name is never taken for an id of the host. */
export function personKey({ name, id, source }: Principal): string {
  return source === "host" ? `host:${id}` : `name:${name}`;
}
