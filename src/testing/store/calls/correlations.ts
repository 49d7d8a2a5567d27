import assert from "node:assert/strict";
import { ResumeError } from "../../../core/errors.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { LEASE_MS, SampleRun } from "../sample-run.ts";

/** The stored attempts, each with its correlation id. */
async function keptIds(run: SampleRun): Promise<[string, number, string | null][]> {
  return (await run.tries()).map((each) => [each.toolCallId, each.attempt, each.correlationId]);
}

export const correlationChecks: readonly Check[] = [
  check("a new owner finds the correlation id of a running attempt", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running", "prepared"]);
    await store.openToolCall(run.fence, run.codeCall(1));
    await run.correlate(1, 1, "naïve-1 🙂");
    await run.start(1, 3);
    await run.correlate(1, 3, "m-3");
    await run.correlate(0, 1, "m-0");
    advance(LEASE_MS);
    await run.takenOver();
    assert.deepEqual(await keptIds(run), [
      ["run-1/draft#1.1", 1, "naïve-1 🙂"],
      ["run-1/draft#1.2", 1, null],
      ["run-1/draft#1.3", 1, "m-3"],
      ["run-1/draft#0.1", 1, "m-0"],
    ]);
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  check(
    "the last id of an attempt counts, and an earlier attempt keeps its own",
    async ({ store, advance }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["running", "running"]);
      for (const id of ["first", "second"]) await run.correlate(1, 1, id);
      await run.correlate(1, 2, "of try 1");
      await run.endAttempt(1, 2, { inDoubt: false, correlationId: "of try 1" });
      await run.start(1, 2);
      advance(LEASE_MS);
      const later = await run.takenOver();
      await later.start(1, 1);
      advance(LEASE_MS);
      await run.takenOver();
      assert.deepEqual(await keptIds(run), [
        ["run-1/draft#1.1", 1, "second"],
        ["run-1/draft#1.1", 2, null],
        ["run-1/draft#1.2", 1, "of try 1"],
        ["run-1/draft#1.2", 2, null],
      ]);
    },
  ),

  check("a released run keeps the ids of calls it left running", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.correlate(1, 1, "m-1");
    await store.releaseRun(run.fence, { status: "failed", error: null });
    assert.deepEqual(await keptIds(run), [["run-1/draft#1.1", 1, "m-1"]]);
  }),

  check("an attempt that was given up on can still get its id", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.endAttempt(1, 1, { hasEnded: false });
    await run.correlate(1, 1, "late");
    assert.deepEqual(await keptIds(run), [["run-1/draft#1.1", 1, "late"]]);
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  check("only the last attempt of a call without a receipt gets an id", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared", "running"]);
    await run.endAttempt(1, 1, { inDoubt: false });
    await run.start(1, 1);
    for (const attempt of [0, 1, 3, 1.5])
      await assertRefused(store, run.runId, () => run.correlate(1, 1, "m", attempt));
    for (const attempt of [0, 1])
      await assertRefused(store, run.runId, () => run.correlate(1, 2, "m", attempt));
    for (const [turn, call] of [
      [1, 0],
      [1, 4],
      [2, 1],
      [0, 1],
    ] as const)
      await assertRefused(store, run.runId, () => run.correlate(turn, call, "m"));
    await run.receipt(1, 3);
    const error = await assertRefused(store, run.runId, () => run.correlate(1, 3, "m"), ResumeError);
    assert.ok(ResumeError.isInstance(error) && error.recoverable, "the caller can reload");
  }),
];
