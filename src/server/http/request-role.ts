import { decideRole } from "../access/role-decision.ts";
import type { OperationRole } from "../api/operations.ts";
import { HttpProblem } from "../http-problem.ts";
import type { Principal } from "../principal.ts";

/** Refuses what the role of the principal does not allow. */
export function assertRole(needed: OperationRole, principal: Principal | null): void {
  const decision = decideRole(needed, principal);
  switch (decision.kind) {
    case "allowed":
      return;
    case "unknown":
      throw new HttpProblem(
        401,
        "sign_in_first",
        "The request does not say who makes it: sign in, or send a token as `Authorization: Bearer …`.",
      );
    case "forbidden":
      throw new HttpProblem(
        403,
        "role_too_low",
        `This takes the role ${needed}, and you are ${decision.role}: ask an admin for another token.`,
        { details: { needed, role: decision.role } },
      );
  }
}
