import type { OperationRole } from "../api/operations.ts";
import type { Principal } from "../principal.ts";

export type RoleDecision =
  | { readonly kind: "allowed" }
  | { readonly kind: "unknown" }
  | { readonly kind: "forbidden"; readonly role: string };

const ORDER = ["viewer", "operator", "admin"];

/** Decides whether a principal may call an operation. Each role may do what those before it may. */
export function decideRole(needed: OperationRole, principal: Principal | null): RoleDecision {
  if (needed === "anyone") return { kind: "allowed" };
  if (principal === null) return { kind: "unknown" };
  return ORDER.indexOf(principal.role) >= ORDER.indexOf(needed)
    ? { kind: "allowed" }
    : { kind: "forbidden", role: principal.role };
}
