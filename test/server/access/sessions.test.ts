import { describe, expect, it } from "vitest";
import { type Decision, decideApproval, decisionOf } from "../../../src/core/person.ts";
import { SESSION_MS, SessionCookies } from "../../../src/server/access/session-cookie.ts";
import { personOf } from "../../../src/server/handlers/acting-person.ts";
import { bearer, json, ORIGIN, testServer } from "../test-server.ts";

const page = { "sec-fetch-site": "same-origin" };

describe("a sign-in", () => {
  it("by a code works once, and gives a cookie that no script reads and no other site sends", async () => {
    const server = testServer();
    const { secret: code } = await server.access.newCode({ name: "ana", role: "admin" });
    const first = await server.request("/v1/session", json({ code }, page));
    expect(first.status).toBe(200);
    expect(await first.json()).toMatchObject({ name: "ana", role: "admin", source: "session" });
    const cookie = first.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(
      /^pawl_0123456789ab=[\w.-]+; Max-Age=43\d{3}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const second = await server.request("/v1/session", json({ code }, page));
    expect(second.status).toBe(401);
    expect(second.headers.get("set-cookie")).toBeNull();
    const me = await server.request("/v1/me", { headers: { ...page, cookie: cookie.split(";")[0] ?? "" } });
    expect(await me.json()).toMatchObject({ name: "ana" });
  });

  it("by a code that is too old is refused", async () => {
    const server = testServer();
    const { secret: code } = await server.access.newCode({ name: "ana", role: "admin" });
    server.store.now = () => Date.now() + 5 * 60_000;
    expect((await server.request("/v1/session", json({ code }, page))).status).toBe(401);
  });

  it("by a token gives a session of its own: signing out ends it, and not the token", async () => {
    const server = testServer();
    const token = await server.token("operator");
    const signedIn = await server.request("/v1/session", json({ token }, page));
    const cookie = (signedIn.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const out = await server.request("/v1/session", { method: "DELETE", headers: { ...page, cookie } });
    expect(out.status).toBe(204);
    expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
    // A copy of the cookie is worth nothing either.
    expect((await server.request("/v1/me", { headers: { ...page, cookie } })).status).toBe(401);
    expect((await server.request("/v1/me", { headers: bearer(token) })).status).toBe(200);
  });

  it("that is wrong is answered 429 after ten wrong ones in a minute, and a right one still works", async () => {
    const server = testServer();
    const { secret: code } = await server.access.newCode({ name: "ana", role: "admin" });
    const token = await server.token("viewer");
    const signIn = (body: unknown) => server.request("/v1/session", json(body, page));
    for (let tries = 0; tries < 10; tries += 1)
      expect((await signIn({ code: `wrong ${tries}` })).status).toBe(401);
    const refused = await signIn({ code: "wrong 11" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect((await server.request("/v1/me", { headers: bearer("pawl_unknown") })).status).toBe(429);
    // Neither was used before: a stranger's tries keep nobody out.
    expect((await server.request("/v1/me", { headers: bearer(token) })).status).toBe(200);
    expect((await signIn({ token })).status).toBe(200);
    expect((await signIn({ code })).status).toBe(200);
    expect((await signIn({ code })).status).toBe(429);
    expect(server.store.audit.filter(({ status }) => status === 401)).toHaveLength(10);
  });
});

describe("a token", () => {
  it("that was revoked in this process is refused at once, with the sessions that were made with it", async () => {
    const server = testServer({
      handlers: {
        revokeToken: async ({ params }) => {
          await server.store.revokeAccess(params.tokenId);
          return new Response(null, { status: 204 });
        },
      },
    });
    const token = await server.token("viewer");
    const signedIn = await server.request("/v1/session", json({ token }, page));
    const cookie = (signedIn.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const asked = async () => [
      (await server.request("/v1/me", { headers: bearer(token) })).status,
      (await server.request("/v1/me", { headers: { ...page, cookie } })).status,
    ];
    expect(await asked()).toEqual([200, 200]);
    const headers = bearer(await server.token("admin"));
    expect((await server.request("/v1/tokens/acc_1", { method: "DELETE", headers })).status).toBe(204);
    expect(await asked()).toEqual([401, 401]);
  });

  it("that has expired is refused", async () => {
    const server = testServer();
    const token = await server.token("viewer", { expiresAt: Date.now() - 1 });
    expect((await server.request("/v1/me", { headers: bearer(token) })).status).toBe(401);
  });

  it("and a code of the same name are one person, so that nobody approves twice by signing in twice", async () => {
    const seen: string[] = [];
    const approvals: Decision[] = [];
    const server = testServer({
      handlers: {
        stopRun: async (_, { principal }) => {
          seen.push(principal.id);
          approvals.push(decisionOf(personOf(principal), 0));
          return { status: 200, body: { stopped: true } };
        },
      },
    });
    const { secret: code } = await server.access.newCode({ name: "Ana", role: "operator" });
    const tokens = [
      await server.token("operator", { name: "ana" }),
      await server.token("admin", { name: "ana " }),
    ];
    const logins = [{ code }, ...tokens.map((token) => ({ token })), { token: tokens[0] }];
    for (const login of logins) {
      const { headers } = await server.request("/v1/session", json(login, page));
      const cookie = (headers.get("set-cookie") ?? "").split(";")[0] ?? "";
      await server.request("/v1/runs/q/stop", { method: "POST", headers: { ...page, cookie } });
    }
    for (const token of tokens)
      await server.request("/v1/runs/q/stop", { method: "POST", headers: bearer(token) });
    expect(new Set(seen).size).toBe(6);
    const bob = decisionOf({ authenticated: { name: "bob", by: "pawl" } }, 0);
    const kinds = [...approvals.slice(1), bob].map(
      (next) => decideApproval({ people: 2, notStarter: false }, null, approvals.slice(0, 1), next).kind,
    );
    expect(kinds).toEqual([...Array(5).fill("again"), "enough"]);
  });
});

describe("a program that serves the handler", () => {
  it("says who makes a request; of what it does not know, tokens decide", async () => {
    const server = testServer({
      authenticate: (request) =>
        request.headers.get("x-user") === "bo" ? { name: "Bo", id: "u-7", role: "operator" } : null,
    });
    const me = async (headers: Record<string, string>) =>
      (await server.request("/v1/me", { headers })).json();
    expect(await me({ "x-user": "bo" })).toMatchObject({ name: "Bo", role: "operator", source: "host" });
    expect(await me(bearer(await server.token("viewer")))).toMatchObject({ source: "token" });
    expect(await me({})).toMatchObject({ code: "sign_in_first" });
  });

  it("that is read-only has viewers only", async () => {
    const server = testServer({ isReadOnly: true });
    const headers = bearer(await server.token("admin"));
    expect(await (await server.request("/v1/me", { headers })).json()).toMatchObject({ role: "viewer" });
    expect((await server.request("/v1/runs/q/stop", { method: "POST", headers })).status).toBe(403);
  });
});

describe("the cookie of a session", () => {
  const cookies = new SessionCookies({
    key: Buffer.alloc(32, 1),
    storeId: "0123456789abcdef",
    isSecure: true,
  });
  const withCookie = (cookie: string) =>
    new Request(ORIGIN, { headers: { cookie: cookie.split(";")[0] ?? "" } });

  it("is read back until it ends, and is due again after an hour", () => {
    const claim = { accessId: "acc_1", expiresAt: SESSION_MS };
    const request = withCookie(cookies.set(claim, 0));
    expect(cookies.read(request, 0)).toEqual(claim);
    expect(cookies.read(request, SESSION_MS)).toBeNull();
    expect([cookies.isDue(claim, 3_599_000), cookies.isDue(claim, 3_601_000)]).toEqual([false, true]);
    expect(cookies.set(claim, 0)).toContain("; Secure");
  });

  it.each([
    ["of another store's key", (value: string) => value, 2],
    ["with a changed claim", (value: string) => `x${value.slice(1)}`, 1],
    ["without its signature", (value: string) => value.split(".")[0] ?? "", 1],
    ["with more behind it", (value: string) => `${value}.x`, 1],
    ["that is empty", () => "", 1],
  ])("%s is nobody's", (_, change, byte) => {
    const other = new SessionCookies({
      key: Buffer.alloc(32, byte),
      storeId: "0123456789abcdef",
      isSecure: true,
    });
    const [name = "", value = ""] = (
      other.set({ accessId: "a", expiresAt: 10 }, 0).split(";")[0] ?? ""
    ).split("=");
    expect(cookies.read(withCookie(`${name}=${change(value)}`), 0)).toBeNull();
  });

  it("is found behind another one of the same name that somebody else has set", () => {
    const good = cookies.set({ accessId: "a", expiresAt: 10 }, 0).split(";")[0] ?? "";
    const request = new Request(ORIGIN, { headers: { cookie: `${cookies.name}=bad; ${good}` } });
    expect(cookies.read(request, 0)).toEqual({ accessId: "a", expiresAt: 10 });
  });
});
