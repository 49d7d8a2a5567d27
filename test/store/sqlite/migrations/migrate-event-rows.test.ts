// A database whose events cover final rows but not every row: the version before schema 7.

import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../../src/store/open-store.ts";
import type { Store } from "../../../../src/store/store.ts";
import { claimOptions, newReceipt, SUCCEEDED, sha256 } from "../../../../src/testing/store/sample-run.ts";
import { databaseOfVersion, expectIntact, valuesOf, verified, withRows } from "./old-database.ts";

const RUNS = ["session", "open", "answered", "half"] as const;
const SOUND = { problems: [] };

async function opened(file: string): Promise<Store> {
  const store = await openStore(`file:${file}`);
  onTestFinished(() => store.close());
  return store;
}

describe("a database of the sixth version", () => {
  it("keeps every value that it had, and every run of it is as it was written", async () => {
    const file = databaseOfVersion(6);
    const before = valuesOf(file);
    const store = await opened(file);
    expect(await verified(store, RUNS)).toMatchObject(Object.fromEntries(RUNS.map((id) => [id, SOUND])));
    expect(valuesOf(file)).toEqual(before);
    expectIntact(file);
  });

  it("can be continued: waits are answered, runs are claimed and end, and everything verifies", async () => {
    const store = await opened(databaseOfVersion(6));
    expect((await store.listOpenWaits()).map(({ waitId, distrusted }) => [waitId, distrusted])).toEqual([
      ["open~1", undefined],
      ["open~2", undefined],
    ]);
    await store.approve("open~2");
    await store.settle("open/draft#2.1", { as: "failed", why: "It never came." });
    for (const runId of ["open", "answered", "half"]) {
      const outcome = await store.claimRun(runId, claimOptions({ from: ["queued", "running", "waiting"] }));
      expect([runId, outcome.kind]).toEqual([runId, "claimed"]);
    }
    const fence = { runId: "answered", epoch: 2 };
    const step = await store.findStep("answered", "draft");
    const stepKey = step?.stepKey ?? 0;
    const approvedArguments = sha256("arguments").toString("hex");
    await store.startToolCalls(fence, {
      stepKey,
      turnIndex: 1,
      calls: [{ callIndex: 1, timeoutMs: 1_000, approvedArguments }],
    });
    await store.recordReceipt(fence, { stepKey, turnIndex: 1, receipt: newReceipt(1) });
    await store.releaseRun(fence, SUCCEEDED);
    expect(await verified(store, RUNS)).toMatchObject(Object.fromEntries(RUNS.map((id) => [id, SOUND])));
  });

  it.for([
    [
      "an answer that nobody gave",
      "open",
      `UPDATE waits SET status = 'answered', answered_by = 'Eve', answer = '{"approved":true}' WHERE wait_index = 2`,
    ],
    ["the tool of a call", "half", "UPDATE tool_calls SET tool_name = 'pay'"],
    [
      "what an answer was",
      "answered",
      `UPDATE waits SET answer = '{"approved":false,"why":"x"}' WHERE answer IS NOT NULL`,
    ],
  ])("is refused if another program has changed %s", async ([, runId, sql]) => {
    const file = databaseOfVersion(6);
    withRows(file, (database) => database.exec(String(sql)));
    const store = await opened(file);
    await expect(
      store.claimRun(String(runId), claimOptions({ from: ["queued", "running", "waiting"] })),
    ).rejects.toMatchObject({ details: { reason: "changed_rows" } });
  });
});
