import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/engine/ports/system-clock.ts";
import { isWithin } from "../../../src/server/access/scope-decision.ts";
import { tokenHandlers } from "../../../src/server/access/token-handlers.ts";
import type { AccessScope } from "../../../src/server/principal.ts";
import { MemoryAccessStore } from "../memory-access-store.ts";
import { bearer, json, testServer } from "../test-server.ts";

const ALL: AccessScope = { pipelines: null, labels: null };
const ACME: AccessScope = { pipelines: null, labels: { tenant: "acme" } };

function server() {
  const store = new MemoryAccessStore();
  return testServer({ store, handlers: tokenHandlers(store, systemClock) });
}

type Made = { readonly token: { readonly id: string; readonly scope: AccessScope }; readonly secret: string };

describe("a token", () => {
  it("is made with a secret that is shown once, works, and is stored as its hash only", async () => {
    const { request, token, store } = server();
    const headers = bearer(await token("admin", { name: "ana" }));
    const made = await request("/v1/tokens", json({ name: "ci", role: "operator" }, headers));
    expect(made.status).toBe(201);
    const { token: shown, secret } = (await made.json()) as Made;
    expect(shown).toMatchObject({ name: "ci", role: "operator", createdBy: "ana", expiresAt: null });
    expect(secret).toMatch(/^pawl_[\w-]{43}$/);
    expect(await (await request("/v1/me", { headers: bearer(secret) })).json()).toMatchObject({ name: "ci" });
    expect(JSON.stringify([...store.records.values()])).not.toContain(secret);
    expect(await (await request("/v1/tokens", { headers })).text()).not.toContain(secret);
    expect((await request(`/v1/tokens/${shown.id}`, { method: "DELETE", headers })).status).toBe(204);
    expect((await request("/v1/me", { headers: bearer(secret) })).status).toBe(401);
    expect((await request("/v1/tokens/none", { method: "DELETE", headers })).status).toBe(404);
  });

  it("of a scoped admin has no wider scope, and they neither see nor revoke others", async () => {
    const { request, token } = server();
    const root = bearer(await token("admin", { name: "root" }));
    const acme = bearer(await token("admin", { name: "acme", scope: ACME }));
    const make = (scope: unknown) => request("/v1/tokens", json({ name: "x", role: "viewer", scope }, acme));
    expect((await make(ALL)).status).toBe(403);
    expect((await make({ pipelines: null, labels: { tenant: "other" } })).status).toBe(403);
    expect((await make({ pipelines: ["report"], labels: { tenant: "acme" } })).status).toBe(201);
    const inherited = (await (
      await request("/v1/tokens", json({ name: "y", role: "viewer" }, acme))
    ).json()) as Made;
    expect(inherited.token.scope).toEqual(ACME);
    const seen = async (headers: Record<string, string>) =>
      ((await (await request("/v1/tokens", { headers })).json()) as { items: { name: string }[] }).items.map(
        ({ name }) => name,
      );
    expect(await seen(acme)).toEqual(["acme", "x", "y"]);
    expect(await seen(root)).toEqual(["root", "acme", "x", "y"]);
    expect((await request("/v1/tokens/acc_1", { method: "DELETE", headers: acme })).status).toBe(404);
  });
});

describe("a scope", () => {
  it.each<[AccessScope, AccessScope, boolean]>([
    [ALL, ALL, true],
    [ACME, ALL, true],
    [ALL, ACME, false],
    [{ pipelines: ["a"], labels: null }, { pipelines: ["a", "b"], labels: null }, true],
    [{ pipelines: ["a", "c"], labels: null }, { pipelines: ["a", "b"], labels: null }, false],
    [{ pipelines: null, labels: null }, { pipelines: ["a"], labels: null }, false],
    [{ pipelines: null, labels: { tenant: "acme", desk: "1" } }, ACME, true],
    [{ pipelines: null, labels: { desk: "1" } }, ACME, false],
  ])("%j is within %j: %s", (inner, outer, expected) => {
    expect(isWithin(inner, outer)).toBe(expected);
  });
});
