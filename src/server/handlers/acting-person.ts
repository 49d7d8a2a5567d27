import type { Person } from "../../core/person.ts";
import type { Principal } from "../principal.ts";

/** Who an act is recorded as: the server has authenticated the principal, and no field of a request can name another. */
export function personOf({ name, id }: Principal): Person {
  return { authenticated: { name, by: "pawl", id } };
}
