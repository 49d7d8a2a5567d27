// Every operation about runs answers as its schema says.

import { expect, test } from "vitest";
import { memoryStore } from "../../engine/run-fixture.ts";
import { answerCases } from "./answer-cases.ts";
import { sampleWorld } from "./sample-world.ts";
import { RUN_OPERATIONS } from "./server-world.ts";

test("every operation about runs has a case", () => {
  expect(Object.keys(answerCases).toSorted()).toEqual([...RUN_OPERATIONS].toSorted());
  expect(RUN_OPERATIONS.length).toBeGreaterThan(50);
});

test.each(RUN_OPERATIONS)("%s answers as its schema says", { timeout: 30_000 }, async (id) => {
  const world = await sampleWorld(await memoryStore());
  expect(await answerCases[id](world)).toBeDefined();
});
