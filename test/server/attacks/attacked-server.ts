// The server that is attacked: all of it, over a store in memory. It is also bundled from sources with weakened guards, so
// that everything an attack uses is of one copy.

import { accessHash } from "../../../src/core/access/access-secret.ts";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import { openStore } from "../../../src/index.ts";
import { newSecret, sessionKey } from "../../../src/server/access/secrets.ts";
import { SessionCookies } from "../../../src/server/access/session-cookie.ts";
import { hostsOfServer } from "../../../src/server/http/allowed-hosts.ts";
import { type HandlerOptions, handlerWith } from "../../../src/server/http/create-handler.ts";
import { REQUEST_LIMITS } from "../../../src/server/http/request-limits.ts";
import { servePawl } from "../../../src/server/http/serve-pawl.ts";
import type { AccessScope, Role } from "../../../src/server/principal.ts";
import { newSpec } from "../../../src/testing/store/sample-contract.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";

export const ACME: AccessScope = { pipelines: null, labels: { tenant: "acme" } };
export const OTHER: AccessScope = { pipelines: null, labels: { tenant: "other" } };
/** The page itself asks. */
export const OWN = { "sec-fetch-site": "same-origin" };
/** It is in the objective of a run, which is what a person wrote. */
export const CONTENT = "the moon is made of cheese";
/** What a person who approves was shown. */
export const SHOWN = "a".repeat(64);

export type Attacked = Awaited<ReturnType<typeof attackedServer>>;
type Grant = {
  readonly name?: string;
  readonly scope?: AccessScope;
  readonly kind?: "token" | "code";
  readonly expiresAt?: number;
};

/** `order-1` of one tenant waits for two people; `order-2` comes after it. */
async function attackedServer(
  options: Partial<Omit<HandlerOptions, "store">> & { readonly bodyMs?: number } = {},
) {
  const { bodyMs = REQUEST_LIMITS.bodyMs, ...given } = options;
  const store = await openStore(":memory:");
  await waitingRun();
  await SampleRun.create(store, "order-2", { metadata: { tenant: "acme" } });
  const handler = handlerWith(
    { store, dashboard: false, onError: () => undefined, ...given },
    { hosts: hostsOfServer(4747, null), limits: { ...REQUEST_LIMITS, bodyMs } },
  );

  async function waitingRun(): Promise<void> {
    const spec = { ...newSpec(), objective: CONTENT };
    const run = await SampleRun.create(store, "order-1", { metadata: { tenant: "acme" }, spec });
    await run.journaled(1, ["prepared"]);
    const wait = run.approval(1, 1, SHOWN);
    await run.waiting({ ...wait, subject: { ...wait.subject, people: 2 } });
  }

  const request = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has("host")) headers.set("host", "127.0.0.1:4747");
    return handler.fetch(new Request(`http://127.0.0.1:4747${path}`, { ...init, headers }));
  };

  const grant = async (
    role: Role,
    { name = role, scope = EVERYTHING, kind = "token", expiresAt }: Grant = {},
  ) => {
    const secret = newSecret();
    const hash = accessHash(secret);
    const access = { kind, name, role, scope, hash, createdBy: "root", expiresAt: expiresAt ?? null };
    return { secret, id: (await store.grantAccess(access)).id };
  };

  /** The header of a new token. */
  const bearer = async (role: Role, more: Grant = {}) => ({
    authorization: `Bearer ${(await grant(role, more)).secret}`,
  });

  /** The cookie of a new session. */
  const cookie = async (role: Role, more: Grant = {}) => {
    const { secret } = await grant(role, more);
    const body = more.kind === "code" ? { code: secret } : { token: secret };
    const { headers } = await request("/v1/session", post(body, OWN));
    return { cookie: headers.get("set-cookie")?.split(";")[0] ?? "" };
  };

  /** A cookie as another server of this machine signs it, which has a store of its own: it can claim what it likes. */
  const foreignCookie = async (accessId: string) => {
    const mine = new SessionCookies({
      key: new Uint8Array(32),
      storeId: await store.storeId(),
      isSecure: false,
    });
    const other = await openStore(":memory:");
    const key = sessionKey(other.redactionKey(), await other.storeId());
    const theirs = new SessionCookies({ key, storeId: await store.storeId(), isSecure: false });
    const claim = { accessId, expiresAt: Date.now() + 60_000 };
    await other.close();
    const of = (cookies: SessionCookies) => ({ cookie: cookies.set(claim, 0).split(";")[0] ?? "" });
    return { forged: of(mine), signedElsewhere: of(theirs) };
  };

  const close = async () => {
    await handler.close();
    await store.close({ graceMs: 0 });
  };
  return { store, handler, request, grant, bearer, cookie, foreignCookie, close };
}

/** A POST of JSON. */
export function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  };
}

/** What an attack uses of the copy that it attacks. */
export const target = { attackedServer, openStore, servePawl };
export type Target = typeof target;
