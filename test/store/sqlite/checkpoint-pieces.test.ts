// What a checkpoint costs: only the pieces of slices that no earlier one has.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { FAILED, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { eventTurn, milestone } from "../../../src/testing/store/sample-session.ts";
import { tempFolder } from "./temp-folder.ts";

const CHECKPOINTS = 50;

/** Values of about 4,000 characters, which differ by their name. */
const values = (name: string): Json =>
  Array.from({ length: 100 }, (_, i) => `${name}, value ${i}: ${"x".repeat(20)}`);

/** Takes a checkpoint of each of these slices, and returns what is stored for them. */
async function stored(slicesAt: (turn: number) => JsonObject, takenOverAt: number | null = null) {
  const file = join(tempFolder(), "pawl.db");
  const store = await openStore(`file:${file}`);
  let run = await SampleRun.create(store);
  for (let turn = 1; turn <= CHECKPOINTS; turn++) {
    if (turn === takenOverAt) {
      await store.releaseRun(run.fence, FAILED);
      run = await run.takenOver();
      await run.at("draft");
    }
    await eventTurn(run, turn, { checkpoint: milestone({ slices: slicesAt(turn) }) });
  }
  for (const turn of [1, CHECKPOINTS])
    expect((await store.readCheckpoint(run.runId, turn))?.snapshot).toEqual({ slices: slicesAt(turn) });
  expect((await store.verify(run.runId)).problems).toEqual([]);
  await store.close();
  const database = new DatabaseSync(file, { readOnly: true });
  const count = (sql: string) => Number(database.prepare(sql).get()?.n);
  const found = {
    pieces: count("SELECT count(*) AS n FROM slice_contents"),
    characters: count("SELECT sum(length(content)) AS n FROM slice_contents"),
  };
  database.close();
  return found;
}

const TEN = Array.from({ length: 10 }, (_, i) => `slice-${i}`);

it("one of ten slices that changes is written with each checkpoint, and the others once", async () => {
  const found = await stored((turn) =>
    Object.fromEntries(TEN.map((name) => [name, values(name === "slice-3" ? `turn ${turn}` : name)])),
  );
  expect(found.pieces).toBe(9 + CHECKPOINTS);
});

it("a worker that takes the run over writes nothing that is there", async () => {
  const found = await stored(() => Object.fromEntries(TEN.map((name) => [name, values(name)])), 25);
  expect(found.pieces).toBe(10);
});

it("of a slice that grows, only the last piece is written again", async () => {
  const grown = (turn: number) =>
    Array.from({ length: 1_000 + turn }, (_, i) => `value ${i}: ${"x".repeat(25)}`);
  const found = await stored((turn) => ({ notes: grown(turn) }));
  const whole = JSON.stringify(grown(CHECKPOINTS)).length;
  // 50 times a piece of at most 8,192 characters, and the pieces before it once.
  expect(whole).toBeGreaterThan(39_000);
  expect(found.characters).toBeLessThan(whole + CHECKPOINTS * 8_192);
});
