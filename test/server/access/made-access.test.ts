// What ends with a token or a code: all that was made from it, whoever made it, and however many steps away.

import { describe, expect, it } from "vitest";
import { accessHash } from "../../../src/core/access/access-secret.ts";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import type { Store } from "../../../src/index.ts";
import { createHandler } from "../../../src/server/index.ts";
import { memoryStore } from "../../engine/run-fixture.ts";
import { bearer, json } from "../test-server.ts";

const page = { "sec-fetch-site": "same-origin" };
type Headers = Record<string, string>;

async function started() {
  const store = await memoryStore();
  const handler = createHandler({ store, dashboard: false });
  const request = (path: string, init: RequestInit = {}) =>
    handler.fetch(new Request(`http://localhost${path}`, init));
  return {
    store,
    handler,
    request,
    /** A token that was made with these rights. */
    make: async (by: Headers, name: string): Promise<Headers> => {
      const made = await request("/v1/tokens", json({ name, role: "admin" }, by));
      expect(made.status).toBe(201);
      return bearer(((await made.json()) as { readonly secret: string }).secret);
    },
    /** The cookie of a new session. */
    signIn: async (login: unknown): Promise<Headers> => {
      const { headers } = await request("/v1/session", json(login, page));
      return { ...page, cookie: (headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
    },
    /** Whether each of them is still somebody. */
    living: (all: readonly Headers[]) =>
      Promise.all(all.map(async (headers) => (await request("/v1/me", { headers })).status === 200)),
  };
}

async function granted(store: Store, name: string) {
  const secret = `pawl_${name}`;
  const access = {
    kind: "token",
    name,
    role: "admin",
    scope: EVERYTHING,
    expiresAt: null,
    createdBy: "root",
  } as const;
  return { secret, ...(await store.grantAccess({ ...access, hash: accessHash(secret) })) };
}

const secretOf = ({ authorization = "" }: Headers) => authorization.replace("Bearer ", "");

describe("a token that is revoked", () => {
  it("ends with the tokens that were made with it, their sessions, and the tokens that were made in those", async () => {
    const { store, request, make, signIn, living } = await started();
    const [ana, root] = [await granted(store, "ana"), bearer((await granted(store, "root")).secret)];
    const ci = await make(bearer(ana.secret), "ci");
    const session = await signIn({ token: secretOf(ci) });
    const deploy = await make(session, "deploy");
    const other = await make(root, "other");
    const theirs = [bearer(ana.secret), ci, session, deploy];
    expect(await living([...theirs, other])).toEqual([true, true, true, true, true]);
    const revoked = await request(`/v1/tokens/${ana.id}`, { method: "DELETE", headers: root });
    expect(revoked.status).toBe(204);
    expect(await living([...theirs, root, other])).toEqual([false, false, false, false, true, true]);
  });
});

describe("a session", () => {
  it("that is signed out ends alone; its code, when revoked, ends what was made in it", async () => {
    const { store, handler, request, make, signIn, living } = await started();
    const session = await signIn({ code: await handler.createLoginCode({ name: "ana" }) });
    const ci = await make(session, "ci");
    expect((await request("/v1/session", { method: "DELETE", headers: session })).status).toBe(204);
    expect(await living([session, ci])).toEqual([false, true]);
    const code = (await store.listAccess()).find(({ kind }) => kind === "code");
    const root = bearer((await granted(store, "root")).secret);
    expect((await request(`/v1/tokens/${code?.id}`, { method: "DELETE", headers: root })).status).toBe(204);
    expect(await living([ci])).toEqual([false]);
  });
});

describe("a person of the program that serves the handler", () => {
  it("makes tokens that end one by one: there is nothing else of theirs that could be revoked", async () => {
    const store = await memoryStore();
    const authenticate = () => ({ name: "Bo", id: "u-7", role: "admin" }) as const;
    const handler = createHandler({ store, dashboard: false, authenticate });
    const made = await handler.fetch(
      new Request("http://localhost/v1/tokens", json({ name: "ci", role: "viewer" })),
    );
    expect(made.status).toBe(201);
    expect((await store.listAccess()).map(({ madeFrom, createdBy }) => [madeFrom, createdBy])).toEqual([
      [null, "Bo"],
    ]);
  });
});
