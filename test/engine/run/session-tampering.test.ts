// Rows that decide which effects count in a lineage are verified: a manual change is detected.

import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { type SavedCheckpoint, StepFailedError } from "../../../src/index.ts";
import { databaseFile, failureAs, fileStore, must } from "../run-fixture.ts";
import { runUntilFailure, sayer, saying, sayTool, stopsBefore } from "../session-fixture.ts";

/** Run r-1 said `one!` and `two!`, two milestones, rolled back to the first, and said `three` in its new lineage. */
async function rolledBack() {
  const file = databaseFile();
  const store = await fileStore(file);
  const { say } = sayTool();
  const kept: SavedCheckpoint[] = [];
  const turns = [saying("one!"), saying("two!")];
  const onCheckpoint = (checkpoint: SavedCheckpoint) => void kept.push(checkpoint);
  await runUntilFailure(sayer(store, { say }, turns, { onCheckpoint, probe: stopsBefore(3) }).runner);
  const { runner } = sayer(store, { say }, [saying("three")], { probe: stopsBefore(4) });
  await failureAs(StepFailedError, runner.resume("r-1", { from: must(kept[0]) }));
  expect((await store.verify("r-1")).problems).toEqual([]);
  return { file, store };
}

it.each([
  ["the turn that a lineage continues from", "UPDATE lineages SET base_turn = 2", ["lineage r-1/worker~1"]],
  ["the first turn of a lineage", "UPDATE lineages SET first_turn = 4", ["lineage r-1/worker~1"]],
  ["the checkpoint of a lineage", "UPDATE lineages SET checkpoint_index = 2", ["lineage r-1/worker~1"]],
  ["the existence of a lineage", "DELETE FROM lineages", ["lineage r-1/worker~1"]],
  [
    "the record of an applied call",
    "DELETE FROM applied_calls WHERE event_seq = (SELECT min(event_seq) FROM applied_calls)",
    ["events of r-1/worker#1.1 in the session"],
  ],
  [
    "the record of a rolled-back call",
    "UPDATE applied_calls SET forgotten = 0",
    ["events of r-1/worker#2.1 in the session"],
  ],
  [
    "the record of calls that still count",
    "UPDATE applied_calls SET forgotten = 1",
    ["events of r-1/worker#1.1 in the session", "events of r-1/worker#3.1 in the session"],
  ],
  ["a superseded checkpoint", "UPDATE checkpoints SET superseded = 0", ["checkpoint r-1~2"]],
  ["a valid checkpoint", "UPDATE checkpoints SET superseded = 1", ["checkpoint r-1~1"]],
])("verify detects a change of %s, and nothing else", async (_, sql, rows) => {
  const { file, store } = await rolledBack();
  const raw = new DatabaseSync(file);
  raw.exec(sql);
  raw.close();
  const { problems } = await store.verify("r-1");
  expect(problems.map(({ row }) => row).sort()).toEqual(rows);
});
