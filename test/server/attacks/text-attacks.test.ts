// Texts and values that a program may send and a database may not like, through the whole of HTTP.

import { describe, expect, it } from "vitest";
import type { Store } from "../../../src/index.ts";
import { databaseFile, fileStore } from "../../engine/run-fixture.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { serverWorld } from "../handlers/server-world.ts";
import { bearer, json, type TestServer, testServer } from "../test-server.ts";
import { twoDatabases } from "../two-databases.ts";

const TEXT = "before\0after\u202e\u001b[31m\u{e006f}";

/** A server on this store, and a program with a token. */
async function served(store: Store) {
  const server = testServer({ handlers: serverWorld(store).handlers });
  const headers = bearer(await server.token("operator"));
  const start = (body: string) =>
    server.request("/v1/runs", { ...json(null, { ...headers, "idempotency-key": "k-1" }), body });
  return { server, headers, start };
}

async function problemOf(response: Response) {
  return { status: response.status, ...((await response.json()) as { readonly detail: string }) };
}

async function read(server: TestServer, path: string, headers: Record<string, string>): Promise<unknown> {
  const response = await server.request(path, { headers });
  expect([path, response.status]).toEqual([path, 200]);
  return response.json();
}

const SQLITE = [
  "SQLite",
  () => {
    const file = databaseFile();
    return () => fileStore(file);
  },
] as const;

describe.each(IS_FULL_TEST ? twoDatabases() : [SQLITE])("%s", (_, newDatabase) => {
  it("keeps a text with a NUL in it, and finds the run by it", async () => {
    const { server, headers, start } = await served(await newDatabase()());
    const body = { pipeline: "clerk", input: TEXT, queue: TEXT, metadata: { customer: TEXT } };
    const started = await start(JSON.stringify(body));
    expect(started.status).toBe(201);
    const { runId } = (await started.json()) as { readonly runId: string };
    expect(await read(server, `/v1/runs/${runId}`, headers)).toMatchObject({
      input: TEXT,
      head: { queue: TEXT, metadata: { customer: TEXT } },
    });
    const query = new URLSearchParams({ where: `customer=${TEXT}`, queue: TEXT }).toString();
    const found = await read(server, `/v1/runs?${query}`, headers);
    expect(found).toMatchObject({ items: [{ runId }] });
  });

  it.each([
    ["a NUL in an id", "/v1/runs/a%00b", 400],
    ["an id of a file", "/v1/runs/..%2f..%2fetc%2fpasswd", 404],
    ["markup in an id", "/v1/runs/%3Cscript%3E", 404],
    ["the name of a property of every object", "/v1/runs/__proto__", 404],
  ])("answers %s with one sentence", async (_what, path, status) => {
    const { server, headers } = await served(await newDatabase()());
    const problem = await problemOf(await server.request(path, { headers }));
    expect(problem.status).toBe(status);
    expect(problem.detail).toMatch(/^[^\n]{10,300}\.$/);
  });
});

it.each([
  ["nested 10,000 deep", "[".repeat(10_000) + "]".repeat(10_000), /deep|nested|level/i],
  ["half of a character", '"half \\ud83d"', /surrogate|JSON/],
])("refuses an input that is %s with one sentence", async (_, input, words) => {
  const { start } = await served(await fileStore(databaseFile()));
  const problem = await problemOf(await start(`{"pipeline":"clerk","input":${input}}`));
  expect([400, 422]).toContain(problem.status);
  expect(problem.detail.length).toBeLessThan(600);
  expect(problem.detail).toMatch(words);
});
