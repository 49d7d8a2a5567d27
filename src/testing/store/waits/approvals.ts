import assert from "node:assert/strict";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { LEASE_MS, newStart, SampleRun, sha256 } from "../sample-run.ts";

/** The hash of the arguments that an approval is bound to. */
const ARGUMENTS = sha256("arguments").toString("hex");
const OTHERS = sha256("other arguments").toString("hex");

/** A run that waits for an approval of its first call. */
async function asked(store: Store, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.journaled(1, ["prepared", "prepared"]);
  await run.waiting(run.approval(1, 1, ARGUMENTS));
  return run;
}

async function assertNotStarted(
  run: SampleRun,
  ...argumentHashes: readonly (string | null)[]
): Promise<void> {
  for (const hash of argumentHashes)
    await assertRefused(run.store, run.runId, () => run.startApproved(1, 1, hash));
}

async function assertStarts(run: SampleRun, hash: string): Promise<void> {
  await run.startApproved(1, 1, hash);
  assert.equal((await run.callAt(1, 1)).status, "running");
}

export const approvalChecks: readonly Check[] = [
  check("a call runs only with the arguments that a person has approved", async ({ store }) => {
    const run = await asked(store);
    await store.approve("run-1~1");
    const later = await run.takenOver();
    await assertNotStarted(later, OTHERS, "", null);
    await assertStarts(later, ARGUMENTS);
  }),

  check(
    "a call that may be a duplicate runs only after a person has approved it, with its arguments",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["prepared", "prepared"]);
      const wait = { ...run.approval(1, 1, ARGUMENTS), kind: "possible_duplicate" } as const;
      await run.waiting(wait, { ...wait, callIndex: 2 });
      const later = await run.takenOver();
      await assertNotStarted(later, ARGUMENTS, null);
      assert.deepEqual(
        (await run.waits()).map(({ kind }) => kind),
        ["possible_duplicate", "possible_duplicate"],
      );
      await store.approve("run-1~1");
      await store.deny("run-1~2", "It has happened.");
      await assertNotStarted(later, OTHERS, null);
      await assertStarts(later, ARGUMENTS);
      await assertRefused(store, run.runId, () => later.startApproved(1, 2, ARGUMENTS));
    },
  ),

  check("a call does not run while its wait is open", async ({ store }) => {
    const run = await asked(store);
    const later = await run.takenOver();
    await assertNotStarted(later, ARGUMENTS, null);
    await store.approve("run-1~1");
    await assertStarts(later, ARGUMENTS);
  }),

  check("a call that was denied does not run", async ({ store }) => {
    const run = await asked(store);
    await store.deny("run-1~1", "Not today.");
    await assertNotStarted(await run.takenOver(), ARGUMENTS, null);
  }),

  check("a withdrawn wait allows no call to run", async ({ store }) => {
    let run = await asked(store);
    run = await run.takenOver();
    await run.waiting(run.approval(1, 1, OTHERS));
    run = await run.takenOver();
    await assertNotStarted(run, ARGUMENTS, OTHERS, null);
    await store.approve("run-1~2");
    await assertNotStarted(run, ARGUMENTS, null);
    await assertStarts(run, OTHERS);
  }),

  check("the newest of several approvals of a call counts", async ({ store }) => {
    let run = await asked(store);
    await store.approve("run-1~1");
    run = await run.takenOver();
    await run.waiting(run.approval(1, 1, OTHERS));
    run = await run.takenOver();
    await assertNotStarted(run, ARGUMENTS, OTHERS);
    await store.deny("run-1~2", "The first was fine.");
    await assertNotStarted(run, ARGUMENTS, OTHERS, null);
  }),

  check(
    "an approval is for one call: another call with the same arguments needs its own",
    async ({ store }) => {
      const run = await asked(store);
      const other = await SampleRun.create(store, "run-2");
      await other.journaled(1, ["prepared"]);
      await store.approve("run-1~1");
      const later = await run.takenOver();
      const polish = await later.at("polish");
      await polish.journaled(1, ["prepared"]);
      await assertRefused(store, run.runId, () => later.startApproved(1, 2, ARGUMENTS));
      await assertRefused(store, run.runId, () => polish.startApproved(1, 1, ARGUMENTS));
      await assertRefused(store, other.runId, () => other.startApproved(1, 1, ARGUMENTS));
      await later.start(1, 2);
    },
  ),

  check("a call that needs an approval and was never asked about does not run", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["prepared"]);
    await assertNotStarted(run, ARGUMENTS);
    await run.start(1, 1);
  }),

  check("an approval covers every attempt of its call", async ({ store, advance }) => {
    const run = await asked(store);
    await store.approve("run-1~1");
    let later = await run.takenOver();
    await assertStarts(later, ARGUMENTS);
    await later.endAttempt(1, 1, { inDoubt: false });
    await assertNotStarted(later, OTHERS, null);
    await assertStarts(later, ARGUMENTS);
    advance(LEASE_MS);
    later = await later.takenOver();
    assert.equal((await later.callAt(1, 1)).status, "in_doubt");
    await assertNotStarted(later, OTHERS, null);
    await assertStarts(later, ARGUMENTS);
    assert.equal((await later.callAt(1, 1)).attempt, 3);
  }),

  check("settling a call in doubt as retry is not an approval of its arguments", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.waiting(run.wait(1, 1));
    await store.settle("run-1/draft#1.1", { as: "retry" });
    const later = await run.takenOver();
    await assertNotStarted(later, ARGUMENTS);
    await later.start(1, 1);
  }),

  check("one call that is not approved prevents those that would start with it", async ({ store }) => {
    const run = await asked(store);
    const later = await run.takenOver();
    const start = { stepKey: run.stepKey, turnIndex: 1 };
    const calls = [newStart(2), newStart(1, { approvedArguments: ARGUMENTS })];
    await assertRefused(store, run.runId, () => store.startToolCalls(later.fence, { ...start, calls }));
    await store.approve("run-1~1");
    await store.startToolCalls(later.fence, { ...start, calls });
  }),

  check("a call of a code step is approved like one of a turn", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.openToolCall(run.fence, run.codeCall(1, { status: "prepared" }));
    await store.openToolCall(run.fence, run.codeCall(2, { status: "prepared" }));
    await run.waiting(run.approval(0, 2, ARGUMENTS));
    await store.approve("run-1~1");
    const later = await run.takenOver();
    await assertRefused(store, run.runId, () => later.startApproved(0, 1, ARGUMENTS));
    await assertRefused(store, run.runId, () => later.startApproved(0, 2, OTHERS));
    await later.startApproved(0, 2, ARGUMENTS);
  }),
];
