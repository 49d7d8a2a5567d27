import { ROLES } from "../../core/access/role.ts";
import type { OperationRole } from "../api/operations.ts";
import type { Principal } from "../principal.ts";

export type RoleDecision =
  | { readonly kind: "allowed" }
  | { readonly kind: "unknown" }
  | { readonly kind: "forbidden"; readonly role: string };

/** Decides whether a principal may call an operation. Each role may do what those before it may. */
export function decideRole(needed: OperationRole, principal: Principal | null): RoleDecision {
  if (needed === "anyone") return { kind: "allowed" };
  if (principal === null) return { kind: "unknown" };
  return ROLES.indexOf(principal.role) >= ROLES.indexOf(needed)
    ? { kind: "allowed" }
    : { kind: "forbidden", role: principal.role };
}
