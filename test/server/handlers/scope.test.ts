// A run outside of the scope of a principal does not exist for them, whatever they ask for, on both databases.

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openStore, type Store } from "../../../src/index.ts";
import { memoryStore } from "../../engine/run-fixture.ts";
import { type PostgresServer, startPostgres } from "../../store/postgres/postgres-server.ts";
import { sampleWorld } from "./sample-world.ts";
import { scopeCases } from "./scope-cases.ts";
import { RUN_OPERATIONS } from "./server-world.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

async function postgresStore(): Promise<Store> {
  const url = new URL(server.url);
  url.searchParams.set("schema", server.newSchema());
  const store = await openStore(url.href);
  onTestFinished(() => store.close({ graceMs: 0 }));
  return store;
}

const databases = { SQLite: () => memoryStore(), PostgreSQL: postgresStore };

test("every operation about runs is tried", () => {
  expect(Object.keys(scopeCases).toSorted()).toEqual([...RUN_OPERATIONS].toSorted());
});

describe.each(Object.entries(databases))("on %s", (_, open) => {
  test.each(RUN_OPERATIONS)("%s has nothing for another tenant", { timeout: 30_000 }, async (id) => {
    const world = await sampleWorld(await open());
    await scopeCases[id](world);
  });
});
