import { ConfigurationError } from "../errors.ts";

/** All roles, from the one that may do the least. */
export const ROLES = ["viewer", "operator", "admin"] as const;

/** What a person may do through a server. */
export type Role = (typeof ROLES)[number];

/** `read`: look at runs, forecast and verify them. `act`: everything that changes a run. `administer`: tokens and the audit log. */
export type Permission = "read" | "act" | "administer";

const MAY: { readonly [R in Role]: readonly Permission[] } = {
  viewer: ["read"],
  operator: ["read", "act"],
  admin: ["read", "act", "administer"],
};

/** True if a person with this role may do that. */
export function mayDo(role: Role, permission: Permission): boolean {
  return MAY[role].includes(permission);
}

/** The role of this name; it may come from a caller without types. */
export function readRole(given: unknown): Role {
  const role = ROLES.find((each) => each === given);
  if (role !== undefined) return role;
  throw new ConfigurationError(`The role is ${JSON.stringify(given)}: give one of ${ROLES.join(", ")}.`);
}
