import assert from "node:assert/strict";
import type { Store } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import { CHARGE, newReceipt, SampleRun } from "../sample-run.ts";
import { milestoneTurn } from "../sample-session.ts";

/** Lists that can be read in parts; each record has a position. */
const LISTS = [
  "listSteps",
  "listTurns",
  "listModelCalls",
  "listToolCalls",
  "listToolCallAttempts",
  "listWaits",
  "listCheckpoints",
] as const;

type Part = (range: { after?: never; limit?: number }) => Promise<readonly unknown[]>;

function listOf(store: Store, name: (typeof LISTS)[number], runId: string): Part {
  return (range) => store[name](runId, range);
}

/** Reads part by part, each after the last record of the one before it. */
async function inParts(list: Part, limit: number): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for (;;) {
    const last = all.at(-1);
    const part = await list({ limit, ...(last === undefined ? {} : { after: last as never }) });
    assert.ok(part.length <= limit, "a part respects its limit");
    if (part.length === 0) return all;
    all.push(...part);
  }
}

/**
 * Turns with and without calls, attempts of both kinds, calls of code, and a wait: alternating with the same of
 * another run.
 */
async function twoRuns(store: Store): Promise<readonly SampleRun[]> {
  const runs = [await SampleRun.create(store, "run-1"), await SampleRun.create(store, "run-2")];
  for (const run of runs) await run.committedWithCall(1, newReceipt(1));
  for (const run of runs) {
    await milestoneTurn(run, 2);
    await run.open(3);
    await run.store.settleModelCall(run.fence, {
      stepKey: run.stepKey,
      turnIndex: 3,
      attempt: 1,
      charge: CHARGE,
    });
    await run.open(3);
    const journal = run.journal(3, ["running", "running", "prepared"], { attempt: 2 });
    await run.store.journalResponse(run.fence, journal);
    await run.endAttempt(3, 1, { outcome: "failed", inDoubt: false });
    await run.start(3, 1, 3);
    await run.endAttempt(3, 2, { outcome: "failed", inDoubt: false });
    await run.start(3, 2);
    for (const callIndex of [1, 2, 3]) await run.receipt(3, callIndex);
    await run.store.commitTurn(run.fence, run.commit(3, { messages: 4 }));
    await milestoneTurn(run, 4);
  }
  for (const run of runs) {
    const code = await run.at("count", { kind: "run" });
    for (const n of [1, 2, 3]) await run.store.openToolCall(run.fence, code.codeCall(n));
    for (const n of [1, 2]) await code.endAttempt(0, n);
    const again = await run.at("polish");
    await again.open(1);
    await code.waiting(code.wait(0, 1), code.wait(0, 2));
  }
  return runs;
}

export const listRangeChecks: readonly Check[] = [
  check("a list in parts is the whole list, whatever the size of a part", async ({ store }) => {
    const [run, other] = await twoRuns(store);
    assert.ok(run !== undefined && other !== undefined);
    for (const name of LISTS) {
      const whole = await listOf(store, name, run.runId)({});
      assert.ok(whole.length >= 2, `${name} has something to be read in parts`);
      for (const limit of [1, 2, 3, 100])
        assert.deepEqual(await inParts(listOf(store, name, run.runId), limit), whole, `${name} by ${limit}`);
      const others = await listOf(store, name, other.runId)({});
      assert.equal(others.length, whole.length, `${name} of the other run is as long, and its own`);
    }
  }),

  check("a record is found by the position before its own", async ({ store }) => {
    const [run] = await twoRuns(store);
    assert.ok(run !== undefined);
    const { runId } = run;
    const stepPath = run.step.path;
    const one = { limit: 1 };
    const [turn] = await store.listTurns(runId, { after: { stepPath, turnIndex: 2 }, ...one });
    assert.equal(turn?.turnIndex, 3);
    assert.deepEqual(
      turn.calls.map(({ callIndex }) => callIndex),
      [1, 2, 3],
    );
    const [call] = await store.listToolCalls(runId, {
      after: { stepPath, turnIndex: 3, callIndex: 1 },
      ...one,
    });
    assert.deepEqual(call, turn.calls[1]);
    const [asked] = await store.listModelCalls(runId, {
      after: { stepPath, turnIndex: 3, attempt: 1 },
      ...one,
    });
    assert.deepEqual([asked?.turnIndex, asked?.attempt], [3, 2]);
    const missing = { stepPath: "nobody", turnIndex: 1, callIndex: 1, attempt: 1 };
    assert.deepEqual(await store.listTurns(runId, { after: missing }), []);
    assert.deepEqual(await store.listToolCalls(runId, { after: missing }), []);
    assert.deepEqual(await store.listModelCalls(runId, { after: missing }), []);
    assert.deepEqual(await store.listSteps(runId, { after: { path: "nobody" } }), []);
    assert.deepEqual(await store.listWaits(runId, { after: { waitId: "run-2~1" } }), []);
  }),
];
