// A token for one tenant reaches for the runs of another one. The weakened copy forgets the scope of the principal.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import { openStore, type Store } from "../../../src/index.ts";
import type { Handlers } from "../../../src/server/handler.ts";
import type { Principal } from "../../../src/server/principal.ts";
import { sampleWorld } from "../handlers/sample-world.ts";
import { OTHER } from "../handlers/server-world.ts";
import { bearer, json, type TestServer, testServer } from "../test-server.ts";

let store: Store;
let handlers: Partial<Handlers>;
let waitId: string;

beforeAll(async () => {
  store = await openStore(":memory:");
  ({ handlers } = await sampleWorld(store));
  const [wait] = await store.listOpenWaits();
  waitId = wait?.waitId ?? "";
  expect(waitId).not.toBe("");
});
afterAll(() => store.close());

type AnyHandler = (input: unknown, context: { readonly principal: Principal | null }) => unknown;

/** The same handlers, for a principal who sees everything. */
function forgetful(given: Partial<Handlers>): Partial<Handlers> {
  const wide = (handler: AnyHandler): AnyHandler => {
    return (input, context) => {
      const { principal } = context;
      return handler(input, {
        ...context,
        principal: principal === null ? null : { ...principal, scope: EVERYTHING },
      });
    };
  };
  return Object.fromEntries(Object.entries(given).map(([id, each]) => [id, wide(each as AnyHandler)]));
}

const READS: readonly string[] = [
  "/v1/runs/clerk-1",
  "/v1/runs/clerk-1/events",
  "/v1/runs/clerk-1/timeline",
  "/v1/runs/clerk-1/transcript",
  "/v1/runs/clerk-1/session",
  "/v1/runs/clerk-1/calls",
  "/v1/runs/report-1/artifacts/report.html",
  "/v1/runs/clerk-1/watch",
  "/v1/stream?run=clerk-1",
  "/v1/compare?a=clerk-1&b=report-1",
];

async function reads(server: TestServer, path: string): Promise<boolean> {
  const headers = bearer(await server.token("viewer", { scope: OTHER }));
  const response = await server.request(path, { headers });
  await response.body?.cancel();
  return response.status === 200;
}

describe("a token for another tenant", () => {
  it.each(READS)("does not read %s, and would without its scope", async (path) => {
    expect(await reads(testServer({ handlers }), path)).toBe(false);
    expect(await reads(testServer({ handlers: forgetful(handlers) }), path)).toBe(true);
  });

  it("finds nothing in lists, and would without its scope", async () => {
    const listed = async (server: TestServer, path: string) => {
      const headers = bearer(await server.token("viewer", { scope: OTHER }));
      return ((await (await server.request(path, { headers })).json()) as { items: unknown[] }).items.length;
    };
    for (const path of ["/v1/runs", "/v1/waits"]) {
      expect(await listed(testServer({ handlers }), path)).toBe(0);
      expect(await listed(testServer({ handlers: forgetful(handlers) }), path)).toBeGreaterThan(0);
    }
  });

  it("neither approves nor cancels, and would without its scope", async () => {
    const acts = async (server: TestServer) => {
      const headers = bearer(await server.token("operator", { scope: OTHER }));
      const denied = await server.request(
        `/v1/waits/${encodeURIComponent(waitId)}/deny`,
        json({ why: "no" }, headers),
      );
      const cancelled = await server.request("/v1/runs/later-1/cancel", { method: "POST", headers });
      return [denied.status, cancelled.status];
    };
    expect(await acts(testServer({ handlers }))).toEqual([404, 404]);
    expect(await acts(testServer({ handlers: forgetful(handlers) }))).toEqual([200, 200]);
  });
});
