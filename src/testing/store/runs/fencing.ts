import assert from "node:assert/strict";
import { LeaseLostError, RunNotFoundError } from "../../../core/errors.ts";
import type { Fence, Store, StoreIntent } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { readEverything } from "../everything.ts";
import {
  CHARGE,
  FAILED,
  FINGERPRINT,
  FINGERPRINT_DOCUMENT,
  LEASE_MS,
  newReceipt,
  newStart,
  newStep,
  SampleRun,
  SUCCEEDED,
} from "../sample-run.ts";
import { milestone } from "../sample-session.ts";
import { newCompaction, newSummary, SampleTalk, TALK_SHAPE, taking, text } from "../sample-talk.ts";

/**
 * Every method of a store that takes a fence, so that the table below cannot miss one. The fence of a run that arrives is
 * another one: see `arriving.ts`.
 */
type WorkerIntent = Exclude<
  { [K in StoreIntent]: Parameters<Store[K]> extends [Fence, ...unknown[]] ? K : never }[StoreIntent],
  "attend" | "beginEffect" | "dropArrivingRows" | "storeArrivingRows" | "finishArrival"
>;

type Sample = {
  /** Brings a run to the point where the intent is allowed. */
  readonly prepare?: (run: SampleRun) => Promise<unknown>;
  readonly perform: (run: SampleRun, fence: Fence) => Promise<unknown>;
  /** How many events it appends; 1 by default. */
  readonly events?: number;
  /** True if the intent names a step by its key, and so could name one of another run. */
  readonly ofStep: boolean;
};

const TRACE_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async function betweenExchanges(run: SampleRun): Promise<void> {
  await run.store.pinShape(run.fence, TALK_SHAPE);
  const talk = new SampleTalk(run);
  await talk.begin(1, await talk.say("one"));
  await talk.answer(1);
}

const INTENTS: { readonly [K in WorkerIntent]: Sample } = {
  renewLease: {
    events: 0,
    perform: ({ store }, fence) => store.renewLease(fence, LEASE_MS),
    ofStep: false,
  },
  releaseRun: {
    perform: ({ store }, fence) => store.releaseRun(fence, SUCCEEDED),
    ofStep: false,
  },
  interruptRun: {
    perform: ({ store }, fence) => store.interruptRun(fence),
    ofStep: false,
  },
  keepTrace: {
    perform: ({ store }, fence) => store.keepTrace(fence, TRACE_PARENT),
    ofStep: false,
  },
  pinShape: {
    perform: ({ store }, fence) => store.pinShape(fence, [{ path: "polish", kind: "loop" }]),
    ofStep: false,
  },
  beginStep: {
    perform: ({ store }, fence) => store.beginStep(fence, newStep("polish")),
    ofStep: false,
  },
  finishStep: {
    perform: ({ store, stepKey }, fence) => store.finishStep(fence, { stepKey, output: 1, context: {} }),
    ofStep: true,
  },
  skipStep: {
    perform: ({ store }, fence) => store.skipStep(fence, newStep("notify")),
    ofStep: false,
  },
  keepArtifact: {
    perform: ({ store, stepKey }, fence) =>
      store.keepArtifact(fence, { stepKey, name: "report.txt", bytes: Buffer.from("It works.") }),
    ofStep: true,
  },
  decideLoop: {
    perform: ({ store, stepKey }, fence) =>
      store.decideLoop(fence, { stepKey, iteration: 1, done: false, output: 1, context: null }),
    ofStep: true,
  },
  openTurn: {
    perform: (run, fence) => run.store.openTurn(fence, run.opening(1)),
    ofStep: true,
  },
  acceptDivergence: {
    prepare: (run) => run.open(1),
    perform: (run, fence) =>
      run.store.acceptDivergence(fence, { ...run.opening(1), why: "The new prompt is better." }),
    ofStep: true,
  },
  dropTurn: {
    prepare: (run) => run.journaled(1, ["prepared"]),
    perform: ({ store, stepKey }, fence) => store.dropTurn(fence, { stepKey, turnIndex: 1 }),
    ofStep: true,
  },
  settleModelCall: {
    prepare: (run) => run.open(1),
    perform: ({ store, stepKey }, fence) =>
      store.settleModelCall(fence, { stepKey, turnIndex: 1, attempt: 1, charge: CHARGE }),
    ofStep: true,
  },
  journalResponse: {
    prepare: (run) => run.open(1),
    perform: (run, fence) => run.store.journalResponse(fence, run.journal(1, ["running"])),
    ofStep: true,
  },
  startToolCalls: {
    prepare: (run) => run.journaled(1, ["prepared"]),
    perform: ({ store, stepKey }, fence) =>
      store.startToolCalls(fence, { stepKey, turnIndex: 1, calls: [newStart(1)] }),
    ofStep: true,
  },
  correlateToolCall: {
    prepare: (run) => run.journaled(1, ["running"]),
    perform: ({ store, stepKey }, fence) =>
      store.correlateToolCall(fence, {
        stepKey,
        turnIndex: 1,
        callIndex: 1,
        attempt: 1,
        correlationId: "m-1",
      }),
    ofStep: true,
  },
  endToolCallAttempt: {
    prepare: (run) => run.journaled(1, ["running"]),
    perform: (run, fence) => run.store.endToolCallAttempt(fence, run.tryEnd(1, 1)),
    ofStep: true,
  },
  openToolCall: {
    perform: (run, fence) => run.store.openToolCall(fence, run.codeCall(1)),
    ofStep: true,
  },
  recordReceipt: {
    prepare: (run) => run.journaled(1, ["running"]),
    perform: ({ store, stepKey }, fence) =>
      store.recordReceipt(fence, { stepKey, turnIndex: 1, receipt: newReceipt(1) }),
    ofStep: true,
  },
  commitTurn: {
    prepare: (run) => run.journaled(1, ["running"]),
    perform: (run, fence) => run.store.commitTurn(fence, run.commit(1, { receipts: [newReceipt(1)] })),
    ofStep: true,
  },
  saveCheckpoint: {
    prepare: (run) => run.committed(1),
    perform: ({ store, stepKey }, fence) =>
      store.saveCheckpoint(fence, { stepKey, turnIndex: 1, checkpoint: milestone({ turn: 1 }) }),
    ofStep: true,
  },
  endExchange: {
    prepare: async (run) => {
      await run.store.pinShape(run.fence, TALK_SHAPE);
      await run.store.sendMessage(run.runId, text("one"));
      await run.open(1, taking([1], { begins: true, limit: { tokens: 1, microDollars: null } }));
    },
    perform: ({ store, stepKey }, fence) =>
      store.endExchange(fence, { stepKey, outcome: "budget", why: "It costs too much." }),
    ofStep: true,
  },
  openSummary: {
    prepare: betweenExchanges,
    perform: ({ store, stepKey }, fence) => store.openSummary(fence, newSummary(stepKey, 2)),
    ofStep: true,
  },
  compactHistory: {
    prepare: betweenExchanges,
    perform: ({ store, stepKey }, fence) => store.compactHistory(fence, newCompaction(stepKey, 2)),
    ofStep: true,
  },
  beginLineage: {
    prepare: async (run) => {
      await run.journaled(1, []);
      await run.store.commitTurn(run.fence, run.commit(1));
    },
    perform: ({ store, stepKey }, fence) =>
      store.beginLineage(fence, {
        stepKey,
        checkpoint: null,
        slices: [],
        fingerprint: { hash: FINGERPRINT, document: FINGERPRINT_DOCUMENT },
      }),
    ofStep: true,
  },
};

export const fencingChecks: readonly Check[] = Object.entries(INTENTS).flatMap(([name, sample]) =>
  checksOf(name, sample),
);

function checksOf(name: string, sample: Sample): Check[] {
  return [...ownerChecks(name, sample), ...(sample.ofStep ? stepChecks(name, sample) : [])];
}

async function prepared({ prepare }: Sample, store: Store, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await prepare?.(run);
  return run;
}

/** Only the current owner of the run may perform the intent. */
function ownerChecks(name: string, sample: Sample): Check[] {
  const { perform, events = 1 } = sample;
  return [
    check(
      `${name} by the owner succeeds, with ${events === 1 ? "one event" : "no event"}`,
      async ({ store }) => {
        const run = await prepared(sample, store);
        const before = (await store.listEvents(run.runId)).length;
        await perform(run, run.fence);
        assert.equal((await store.listEvents(run.runId)).length, before + events);
      },
    ),

    check(`${name} is refused once another worker has claimed the run`, async ({ store, advance }) => {
      const run = await prepared(sample, store);
      advance(LEASE_MS);
      await run.takenOver();
      const error = await assertRefused(store, run.runId, () => perform(run, run.fence), LeaseLostError);
      assert.ok(LeaseLostError.isInstance(error));
      assert.deepEqual(error.details, { runId: run.runId, epoch: 1 });
    }),

    check(`${name} is refused once the run is released`, async ({ store }) => {
      const run = await prepared(sample, store);
      await store.releaseRun(run.fence, FAILED);
      await assertRefused(store, run.runId, () => perform(run, run.fence), LeaseLostError);
    }),

    check(`${name} is refused under an epoch that was never assigned`, async ({ store }) => {
      const run = await prepared(sample, store);
      const fence = { runId: run.runId, epoch: 2 };
      await assertRefused(store, run.runId, () => perform(run, fence), LeaseLostError);
    }),

    check(`${name} of a run that does not exist is refused`, async ({ store }) => {
      const run = await prepared(sample, store);
      const fence = { runId: "nobody", epoch: 1 };
      await assertRefused(store, run.runId, () => perform(run, fence), RunNotFoundError);
    }),
  ];
}

/** An intent on a step is performed only on a step of the run that the fence names. */
function stepChecks(name: string, sample: Sample): Check[] {
  const { perform } = sample;
  return [
    check(`${name} is refused for a step of another run`, async ({ store }) => {
      // Steps are numbered inside their run: this is the second one of its run, and mine has only one.
      const theirs = await (await SampleRun.create(store, "theirs")).at("second");
      await sample.prepare?.(theirs);
      const mine = await prepared(sample, store, "mine");
      const before = await readEverything(store, theirs.runId);
      await assertRefused(store, mine.runId, () => perform(theirs, mine.fence));
      assert.deepEqual(await readEverything(store, theirs.runId), before);
    }),

    check(`${name} is refused for a step that does not exist`, async ({ store }) => {
      const run = await prepared(sample, store);
      const step = { ...run.step, stepKey: run.stepKey + 1_000 };
      await assertRefused(store, run.runId, () => perform(new SampleRun(store, run.fence, step), run.fence));
    }),
  ];
}
