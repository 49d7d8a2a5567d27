// run.log: one line per event, for people and for grep.

import { describe, expect, it } from "vitest";
import { renderLog } from "../../src/export/run-log.ts";
import { type EventRecord, RunNotFoundError } from "../../src/index.ts";
import { FAILED, LEASE_MS, newReceipt, SampleRun } from "../../src/testing/store/sample-run.ts";
import { failureAs } from "../engine/run-fixture.ts";
import { tickingStore } from "./sample-store.ts";
import { readerWith } from "./transcript/transcript-fixture.ts";

/** The log without the names of processes, which differ each time. */
async function logLines(store: Parameters<typeof renderLog>[0]): Promise<readonly string[]> {
  const log = await renderLog(store, "run-1");
  expect(log.endsWith("\n")).toBe(true);
  return log
    .slice(0, -1)
    .split("\n")
    .map((line) => line.replace(/owner=\S+/, "owner=worker"));
}

describe("the log", () => {
  it("has a line for each event, with its subject", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.receipt(1, 2);
    // No event.
    await store.renewLease(run.fence, LEASE_MS);
    clock.at += 2 * LEASE_MS;
    const next = await run.takenOver(store, { attempt: { resumedFrom: "turn", reason: null } });
    await next.waiting(next.wait(1, 1));
    await store.settle("run-1/draft#1.1", { as: "succeeded", result: 1 }, { by: "ann lee" });
    const last = await next.takenOver();
    await store.beginStep(last.fence, {
      path: "draft",
      name: "draft",
      kind: "granular",
      phase: "",
      input: null,
    });
    await store.commitTurn(last.fence, last.commit(1));
    await store.releaseRun(last.fence, FAILED);
    expect(await logLines(store)).toEqual([
      "2026-11-16T06:00:00.100Z  run.created     seq=1 pipeline=report owner=worker epoch=1",
      "2026-11-16T06:00:00.200Z  step.begun      seq=2 step=draft kind=granular",
      "2026-11-16T06:00:00.300Z  turn.opened     seq=3 step=draft turn=1 attempt=1 reserved.tokens=100 reserved.microDollars=1000",
      "2026-11-16T06:00:00.400Z  turn.journaled  seq=4 step=draft turn=1 attempt=1 basis=provider charged.tokens=30 charged.microDollars=300 calls=1,2 tool=search,search tool_call=run-1/draft#1.1,run-1/draft#1.2",
      "2026-11-16T06:00:00.500Z  call.receipt    seq=5 step=draft turn=1 call=2 status=succeeded source=tool tool=search tool_call=run-1/draft#1.2",
      "2026-11-16T06:01:00.700Z  run.claimed     seq=6 owner=worker epoch=2 resumedFrom=turn reason=interrupted inDoubt=run-1/draft#1.1",
      "2026-11-16T06:01:00.800Z  run.waiting     seq=7 waits=run-1~1",
      '2026-11-16T06:01:00.900Z  wait.answered   seq=8 step=draft wait=run-1~1 by="ann lee" turn=1 call=1 status=succeeded source=person tool=search tool_call=run-1/draft#1.1',
      "2026-11-16T06:01:01.000Z  run.claimed     seq=9 owner=worker epoch=3",
      "2026-11-16T06:01:01.100Z  step.resumed    seq=10 step=draft kind=granular",
      "2026-11-16T06:01:01.200Z  turn.committed  seq=11 step=draft turn=1",
      "2026-11-16T06:01:01.300Z  run.failed      seq=12 code=step_failed",
    ]);
  });

  it("has what was lost, the session and the artifacts, and never digests", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store);
    await store.keepArtifact(run.fence, { stepKey: run.stepKey, name: "a b.txt", bytes: Buffer.from("a") });
    const slice = {
      name: "words",
      kind: "state",
      version: 1,
      length: 1,
      items: [[0, "one"] as const],
    } as const;
    const checkpoint = { type: "milestone", snapshot: {}, cursor: {} } as const;
    const session = { slices: [slice], applied: [], checkpoint };
    await run.journaled(1, ["running"]);
    await store.commitTurn(
      run.fence,
      run.commit(1, { receipts: [newReceipt(1)], session, next: run.opening(2) }),
    );
    clock.at += 2 * LEASE_MS;
    await run.takenOver();
    const lines = await logLines(store);
    expect(lines[2]).toMatch(/ {2}artifact\.kept {3}seq=3 step=draft name="a b\.txt" size=1$/);
    expect(lines[5]).toMatch(
      / {2}turn\.committed {2}seq=6 step=draft turn=1 receipts=1 reserved\.tokens=100 reserved\.microDollars=1000 checkpoint=1 tool=search tool_call=run-1\/draft#1\.1$/,
    );
    expect(lines[6]).toMatch(/ {2}run\.claimed {5}seq=7 owner=worker epoch=2 chargedAsLost=draft#2$/);
    expect(lines.filter((line) => /[\w-]{43}/.test(line))).toEqual([]);
  });

  it("has all events, however many there are", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    const [created] = await store.listEvents("run-1");
    const traced = { ...(await run.lastEvent()), type: "run.traced", data: { epoch: 1 } };
    // A store returns one page at a time.
    const all = Array.from({ length: 12_000 }, (_, i) => ({ ...(i === 0 ? created : traced), seq: i + 1 }));
    let parts = 0;
    const long = readerWith(store, {
      listEvents: async (_, { after = 0, limit = 0 } = {}) => {
        parts += 1;
        return all.slice(after, after + limit) as EventRecord[];
      },
    });
    expect(await logLines(long)).toHaveLength(12_000);
    expect(parts).toBeGreaterThan(12);
  });

  it("is refused for a run that does not exist", async () => {
    const { store } = await tickingStore();
    await failureAs(RunNotFoundError, renderLog(store, "no-such-run"));
  });
});
