import { accessHash } from "../../src/core/access/access-secret.ts";
import { systemClock } from "../../src/engine/ports/system-clock.ts";
import { Access, type Authenticate } from "../../src/server/access/access.ts";
import { AuditTrail } from "../../src/server/access/audit-trail.ts";
import { newSecret, sessionKey } from "../../src/server/access/secrets.ts";
import { SessionCookies } from "../../src/server/access/session-cookie.ts";
import { sessionHandlers } from "../../src/server/access/session-handlers.ts";
import { OPERATIONS, type OperationId } from "../../src/server/api/operations.ts";
import type { Handlers } from "../../src/server/handler.ts";
import { documentHandlers } from "../../src/server/http/document-handlers.ts";
import { type HttpParts, httpHandler } from "../../src/server/http/http-handler.ts";
import { LongAnswers } from "../../src/server/http/long-answers.ts";
import { REQUEST_LIMITS } from "../../src/server/http/request-limits.ts";
import { HttpProblem } from "../../src/server/http-problem.ts";
import type { AccessScope, Role } from "../../src/server/principal.ts";
import { MemoryAccessStore } from "./memory-access-store.ts";

export const ORIGIN = "http://127.0.0.1:4747";
const STORE_ID = "0123456789abcdef0123456789abcdef";

export type TestServer = {
  readonly store: MemoryAccessStore;
  readonly access: Access;
  readonly audit: AuditTrail;
  readonly reported: unknown[];
  /** Answers a request as it is. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** As `fetch`, with the address of the server in front. */
  readonly request: (path: string, init?: RequestInit) => Promise<Response>;
  /** The secret of a new token. */
  readonly token: (
    role: Role,
    more?: { readonly name?: string; readonly scope?: AccessScope; readonly expiresAt?: number },
  ) => Promise<string>;
  /** The cookie of a new session. */
  readonly cookie: (role: Role) => Promise<string>;
};

export type TestServerOptions = Partial<Omit<HttpParts, "handlers" | "access" | "audit">> & {
  readonly handlers?: Partial<Handlers>;
  readonly authenticate?: Authenticate;
  readonly isReadOnly?: boolean;
  readonly storeId?: string;
  readonly store?: MemoryAccessStore;
};

/** The whole of HTTP around handlers that a test gives: an operation without one answers 501. */
export function testServer(options: TestServerOptions = {}): TestServer {
  const { handlers = {}, authenticate = null, isReadOnly = false, storeId = STORE_ID, ...given } = options;
  const store = options.store ?? new MemoryAccessStore();
  const reported: unknown[] = [];
  const audit = new AuditTrail(store, systemClock, (error) => reported.push(error));
  const cookies = new SessionCookies({
    key: sessionKey(Buffer.alloc(32, storeId), storeId),
    storeId,
    isSecure: false,
  });
  const access = new Access({
    store,
    cookies,
    clock: systemClock,
    authenticate,
    isReadOnly,
    maxFailedLogins: 10,
  });
  const hidesContent = given.hidesContent ?? (() => false);
  const answer = httpHandler({
    publicUrl: null,
    hosts: { exact: ["127.0.0.1:4747", "localhost:4747"], isAnyLoopback: false },
    allowOrigins: [],
    dashboard: null,
    maxRequests: 100,
    checksAnswers: true,
    limits: REQUEST_LIMITS,
    longAnswers: new LongAnswers(new AbortController().signal),
    onError: (error) => reported.push(error),
    ...given,
    hidesContent,
    access,
    audit,
    handlers: {
      ...missingHandlers(),
      ...documentHandlers,
      ...sessionHandlers({ access, audit, storeName: "pawl.db", hidesContent }),
      ...handlers,
    },
  });
  const request = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has("host")) headers.set("host", new URL(ORIGIN).host);
    return answer(new Request(`${ORIGIN}${path}`, { ...init, headers }));
  };
  const token: TestServer["token"] = async (role, { name = role, scope = ALL, expiresAt = null } = {}) => {
    const secret = newSecret();
    const hash = accessHash(secret);
    await store.grantAccess({
      kind: "token",
      name,
      role,
      scope,
      hash,
      createdBy: "ana",
      madeFrom: null,
      expiresAt,
    });
    return secret;
  };
  const cookie = async (role: Role) => {
    const signedIn = await request("/v1/session", json({ token: await token(role) }));
    return (signedIn.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  };
  return { store, access, audit, reported, fetch: answer, request, token, cookie };
}

const ALL: AccessScope = { pipelines: null, labels: null };

/** A POST of JSON. */
export function json(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  };
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

function missingHandlers(): Handlers {
  const missing = async () => {
    throw new HttpProblem(501, "not_here", "The test has no handler for it.");
  };
  return Object.fromEntries(Object.keys(OPERATIONS).map((id) => [id, missing])) as {
    [Id in OperationId]: typeof missing;
  };
}
