import { accessHash } from "../../core/access/access-secret.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import { isoTime } from "../../export/figures.ts";
import type { AccessRecord, Store } from "../../store/store.ts";
import type { Handlers } from "../handler.ts";
import { HttpProblem } from "../http-problem.ts";
import { isWithin } from "./scope-decision.ts";
import { newSecret } from "./secrets.ts";

/** Tokens. An admin of a scope makes, sees and revokes those of that scope only: else the scope would be no limit. */
export function tokenHandlers(
  store: Pick<Store, "listAccess" | "getAccess" | "grantAccess" | "revokeAccess">,
  clock: Pick<Clock, "now">,
): Handlers<"listTokens" | "createToken" | "revokeToken"> {
  return {
    listTokens: async (_, { principal }) => {
      const all = await store.listAccess();
      const items = all.filter(({ scope }) => isWithin(scope, principal.scope)).map(tokenDocument);
      return { status: 200, body: { items } };
    },
    createToken: async ({ body }, { principal }) => {
      const { name, role, scope = principal.scope, expiresInMs } = body;
      if (!isWithin(scope, principal.scope))
        throw new HttpProblem(
          403,
          "scope_too_wide",
          "The token would see runs that you do not see: give it a scope within your own.",
        );
      const secret = newSecret();
      const record = await store.grantAccess({
        kind: "token",
        name,
        role,
        scope,
        hash: accessHash(secret),
        createdBy: principal.name,
        // It ends with what its maker has signed in with. People of the host have no access that could end.
        madeFrom: principal.source === "host" ? null : principal.id,
        expiresAt: expiresInMs === undefined ? null : clock.now() + expiresInMs,
      });
      return { status: 201, body: { token: tokenDocument(record), secret } };
    },
    revokeToken: async ({ params: { tokenId } }, { principal }) => {
      const record = await store.getAccess(tokenId);
      if (record === null || !isWithin(record.scope, principal.scope)) throw noSuchToken(tokenId);
      await store.revokeAccess(tokenId);
      return new Response(null, { status: 204 });
    },
  };
}

function tokenDocument({ id, kind, name, role, scope, createdBy, ...times }: AccessRecord) {
  return {
    id,
    kind,
    name,
    role,
    scope,
    createdAt: isoTime(times.createdAt),
    createdBy,
    expiresAt: optionalTime(times.expiresAt),
    lastUsedAt: optionalTime(times.lastUsedAt),
    revokedAt: optionalTime(times.revokedAt),
  };
}

function optionalTime(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}

function noSuchToken(tokenId: string): HttpProblem {
  return new HttpProblem(
    404,
    "token_not_found",
    `There is no token ${tokenId}: list them with GET /v1/tokens.`,
  );
}
