import { expect, test, vi } from "vitest";
import { claimedAt, forked, keyedTurn, newFork } from "../../../src/testing/store/sample-fork.ts";
import { FAILED, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { memoryStore } from "../../engine/run-fixture.ts";
import { serverWorld } from "./server-world.ts";

test("the page of a run reads requests to models in pages, and else only those behind its last turn", async () => {
  const store = await memoryStore();
  const run = await SampleRun.create(store);
  for (const turn of [1, 2, 3]) await keyedTurn(run, turn);
  await store.releaseRun(run.fence, FAILED);
  await forked(store, newFork(run, 3));
  await claimedAt(store, "fork");
  await run.takenOver();
  const { call } = serverWorld(store);
  for (const runId of [run.runId, "fork"]) {
    const listed = vi.spyOn(store, "listModelCalls");
    await call("getRun", { params: { runId } });
    const { calls, results } = listed.mock;
    const whole = results.filter((_, at) => calls[at]?.[1]?.limit === undefined);
    expect(whole).toHaveLength(1);
    expect(await whole[0]?.value).toEqual([]);
    listed.mockRestore();
  }
});
