import { decideRole } from "../access/role-decision.ts";
import type { OperationRole } from "../api/operations.ts";
import { HttpProblem } from "../http-problem.ts";
import type { Principal } from "../principal.ts";
import { assertHost } from "./allowed-hosts.ts";
import { assertOwnSource } from "./request-origin.ts";
import { assertNoSecretInQuery } from "./secret-in-query.ts";

/**
 * What each request is checked for, one by one. They are named, so that a test can leave one out and see that an attack then
 * succeeds: a check that no attack needs is none.
 */
export const REQUEST_CHECKS = {
  host: assertHost,
  secretInQuery: assertNoSecretInQuery,
  source: assertOwnSource,
  role: assertRole,
  bodyBytes: 2 ** 20,
  chatBodyBytes: 32 * 2 ** 20,
  bodyMs: 30_000,
} as const;

/** The checks, or a copy of them that a test has weakened. */
export type RequestChecks = {
  readonly [Name in keyof typeof REQUEST_CHECKS]: (typeof REQUEST_CHECKS)[Name] extends number
    ? number
    : (typeof REQUEST_CHECKS)[Name];
};

function assertRole(needed: OperationRole, principal: Principal | null): void {
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
