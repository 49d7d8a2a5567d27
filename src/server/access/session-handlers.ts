import { isoTime } from "../../export/figures.ts";
import type { Handlers } from "../handler.ts";
import { HttpProblem } from "../http-problem.ts";
import type { Principal } from "../principal.ts";
import type { Access } from "./access.ts";
import type { AuditTrail } from "./audit-trail.ts";

export type SessionParts = {
  readonly access: Access;
  readonly audit: AuditTrail;
  readonly storeName: string;
  readonly hidesContent: (principal: Principal) => boolean;
};

const UNKNOWN = { name: "unknown", id: null, role: null };

/** Sign-in and sign-out, and who is signed in. */
export function sessionHandlers(parts: SessionParts): Handlers<"createSession" | "deleteSession" | "getMe"> {
  const { access, audit } = parts;
  return {
    createSession: async ({ body }, { requestId }) => {
      const entry = { act: "createSession", target: null, requestId };
      try {
        const { principal, cookie } = await access.signIn(body);
        const { name, id, role } = principal;
        await audit.act([{ ...entry, target: id, who: { name, id, role }, status: 200, problem: null }]);
        return {
          status: 200,
          body: meDocument(principal, parts),
          headers: cookie === null ? {} : { "set-cookie": cookie },
        };
      } catch (error) {
        if (error instanceof HttpProblem && error.status === 401)
          await audit.act([{ ...entry, who: UNKNOWN, status: 401, problem: error.code }]);
        throw error;
      }
    },
    deleteSession: async (_, { request }) =>
      new Response(null, { status: 204, headers: { "set-cookie": await access.signOut(request) } }),
    getMe: async (_, { principal }) => ({ status: 200, body: meDocument(principal, parts) }),
  };
}

function meDocument(principal: Principal, { storeName, hidesContent }: SessionParts) {
  const { name, role, scope, source, expiresAt } = principal;
  return {
    name,
    role,
    scope,
    source,
    storeName,
    hidesContent: hidesContent(principal),
    expiresAt: expiresAt === null ? null : isoTime(expiresAt),
  };
}
