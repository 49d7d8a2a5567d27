// A run outside of the scope of a principal does not exist for them, whatever they ask for, on both databases.

import { describe, expect, test } from "vitest";
import type { RunOperation } from "../../../src/server/handlers/make-handlers.ts";
import { twoDatabases } from "../two-databases.ts";
import { sampleWorld } from "./sample-world.ts";
import { scopeCases } from "./scope-cases.ts";
import { RUN_OPERATIONS } from "./server-world.ts";

/** They change what others would see: each has a database of its own, and the rest share one. */
const CHANGING: readonly RunOperation[] = [
  "startRun",
  "listWaits",
  "compareRuns",
  "exportRuns",
  "listErrors",
  "listToolErrors",
];

test("every operation about runs is tried", () => {
  expect(Object.keys(scopeCases).toSorted()).toEqual([...RUN_OPERATIONS].toSorted());
});

describe.each(twoDatabases())("on %s", (_, newDatabase) => {
  test("no operation has anything for another tenant", { timeout: 120_000 }, async () => {
    const world = await sampleWorld(await newDatabase()());
    const readers = RUN_OPERATIONS.filter((id) => !CHANGING.includes(id));
    expect(readers.length).toBeGreaterThan(45);
    for (const id of readers) await failing(id, () => scopeCases[id](world));
  });

  test.each(CHANGING)("%s has nothing for another tenant", { timeout: 60_000 }, async (id) => {
    await scopeCases[id](await sampleWorld(await newDatabase()()));
  });
});

/** A failure says which operation it is about. */
async function failing(id: RunOperation, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw new Error(`${id} has something for another tenant.`, { cause: error });
  }
}
