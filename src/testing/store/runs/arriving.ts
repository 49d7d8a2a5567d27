import assert from "node:assert/strict";
import { BundleRefusedError, LeaseLostError, RunBusyError, RunMovedError } from "../../../core/errors.ts";
import type { OwnStatus, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral, rejection } from "../check.ts";
import { laterScenario, mailScenario } from "../sample-mail.ts";
import {
  arrived,
  assertIntact,
  beginArrival,
  content,
  ELSEWHERE,
  takenFrom,
  waitingRun,
  withAnotherDatabase,
} from "../sample-move.ts";
import { claimOptions, FAILED, LEASE_MS, newReceipt, SampleRun, SUCCEEDED, sha256 } from "../sample-run.ts";
import { talkScenario } from "../sample-talk.ts";
import { jobScenario, LARGE, ledgerScenario, turnScenario } from "../store-scenarios.ts";

async function eventTypes(store: Store, runId: string): Promise<string[]> {
  return (await store.listEvents(runId)).map(({ type }) => type);
}

export const arrivingChecks: readonly Check[] = [
  check("a run arrives with every row, its whole log, and the status that it had", async (scene) => {
    const { store, now, advance } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      await turnScenario(elsewhere, advance);
      await ledgerScenario(elsewhere, advance);
      await jobScenario(elsewhere, advance);
      await mailScenario(elsewhere, advance);
      await talkScenario(elsewhere);
      await laterScenario(elsewhere, now() + 3_600_000);
      advance(LEASE_MS);
      for (const { runId, status } of await elsewhere.listRuns()) {
        const before = await elsewhere.listEvents(runId);
        const transit = await takenFrom(elsewhere, runId, store);
        await arrived(store, transit);
        assert.equal((await store.getRun(runId))?.status, status);
        assert.deepEqual(await content(store, runId), await content(elsewhere, runId));
        assert.deepEqual((await store.listEvents(runId)).slice(0, before.length), before);
        assert.deepEqual((await eventTypes(store, runId)).slice(before.length), ["run.moved", "run.arrived"]);
        await assertIntact(store, runId);
      }
      assert.ok((await store.listRuns()).length >= 4);
    });
  }),

  check("a moved run does not wake; where it arrives, it wakes when it would have", async (scene) => {
    const { store, now, advance } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      await mailScenario(elsewhere, advance);
      const notBefore = now() + 60_000;
      await laterScenario(elsewhere, notBefore);
      const times = new Map<string, number | null>();
      for (const runId of ["mail", "later"]) {
        times.set(runId, (await elsewhere.getRun(runId))?.wakeAt ?? null);
        const transit = await takenFrom(elsewhere, runId, store);
        assert.deepEqual(
          await elsewhere.listSleeping({ limit: 9 }).then((all) => all.map((each) => each.runId)),
          runId === "mail" ? ["later"] : [],
        );
        const events = (await elsewhere.listEvents(runId)).length;
        assert.equal(await elsewhere.wakeRun(runId), null);
        assert.equal((await elsewhere.listEvents(runId)).length, events);
        await arrived(store, transit);
        assert.equal((await store.getRun(runId))?.wakeAt, times.get(runId), runId);
      }
      assert.equal(await store.findAddress("invoice:7"), "mail");
      assert.deepEqual(await store.listReady({ pipelines: ["report"], queues: ["default"], limit: 9 }), []);
      await store.sendMessage("mail", { id: "here", event: "other", body: 1 });
      advance(60_000);
      assert.equal(await store.wakeRun("later"), null);
      await store.wakeRun("mail");
      assert.equal((await store.getToolCall("mail/draft#1.1"))?.status, "succeeded", "its sleep is over");
      await assertIntact(store, "mail");
    });
  }),

  check("a run whose address another run has is refused, and says which", async (scene) => {
    const { store, advance } = scene;
    const other = await SampleRun.create(store, "other", { address: "invoice:7" });
    await withAnotherDatabase(scene, async (elsewhere) => {
      await mailScenario(elsewhere, advance);
      const transit = await takenFrom(elsewhere, "mail", store);
      const error = await rejection(arrived(store, transit));
      assert.ok(BundleRefusedError.isInstance(error), String(error));
      assert.match(error.message, /"invoice:7" belongs to run other/);
      await store.releaseRun(other.fence, SUCCEEDED);
      await arrived(store, transit);
      assert.equal(await store.findAddress("invoice:7"), "mail");
    });
  }),

  check("a run that has arrived is continued where it was", async (scene) => {
    const { store } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      const run = await waitingRun(elsewhere);
      await arrived(store, await takenFrom(elsewhere, run.runId, store));
      assert.equal((await store.listOpenWaits()).length, 1);
      await store.approve(`${run.runId}~1`);
      const here = await run.takenOver(store);
      await here.startApproved(2, 1, sha256("arguments").toString("hex"));
      await store.commitTurn(here.fence, here.commit(2, { receipts: [newReceipt(1)] }));
      await here.committed(3, { isComplete: true });
      await store.releaseRun(here.fence, SUCCEEDED);
      assert.deepEqual(
        await store.readBlob(run.runId, sha256(LARGE.toString()).toString("hex")),
        new Uint8Array(LARGE),
      );
    });
  }),

  ...(["succeeded", "failed", "running"] as const).map((status) =>
    check(`a run that was ${status} before is ${status} after its move`, async (scene) => {
      const { store } = scene;
      await withAnotherDatabase(scene, async (elsewhere) => {
        const run = await SampleRun.create(elsewhere);
        await leave(elsewhere, run, status);
        await arrived(store, await takenFrom(elsewhere, run.runId, store));
        const record = await store.getRun(run.runId);
        assert.deepEqual([record?.status, record?.moved, record?.owner], [status, null, null]);
      });
    }),
  ),

  check("a run is in nobody's hands until all of it has arrived", async (scene) => {
    const { store } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      const run = await waitingRun(elsewhere);
      const transit = await takenFrom(elsewhere, run.runId, store);
      const fence = await beginArrival(store, transit);
      await store.storeArrivingRows(fence, transit.rows);
      assert.equal((await store.getRun(run.runId))?.status, "moved");
      assert.deepEqual(await store.listOpenWaits(), []);
      const all = claimOptions({ from: [...claimOptions().from, "moved"] });
      for (const attempt of [
        () => store.claimRun(run.runId, all),
        () => store.requestCancel(run.runId),
        () => store.approve(`${run.runId}~1`),
        () => store.readMovedRows(run.runId),
        () => store.moveRun(run.runId, ELSEWHERE),
      ]) {
        const error = await rejection(attempt());
        assert.ok(RunMovedError.isInstance(error) && error.message.includes("on its way"), String(error));
      }
      assert.match((await store.verify(run.runId)).problems[0]?.what ?? "", /has not arrived/);
      await store.finishArrival(fence, transit.blobs);
    });
  }),

  check("the same run again is reported as arrived, whatever happened to it since", async (scene) => {
    const { store } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      const run = await waitingRun(elsewhere);
      const transit = await takenFrom(elsewhere, run.runId, store);
      await arrived(store, transit);
      const repeated = async () => {
        const outcome = await store.beginArrival({ ...transit.arriving, token: "again" });
        assert.ok(outcome.kind === "arrived", outcome.kind);
        return outcome.run.status;
      };
      assert.equal(await repeated(), "waiting");
      await run.takenOver(store);
      assert.equal(await repeated(), "running");
      await store.interruptRun({ runId: run.runId, epoch: (await store.getRun(run.runId))?.epoch ?? 0 });
      await store.moveRun(run.runId, ELSEWHERE);
      assert.equal(await repeated(), "moved");
    });
  }),

  check(
    "a run that does not arrive whole is not accepted, and arrives when it is sent again",
    async (scene) => {
      const { store } = scene;
      await withAnotherDatabase(scene, async (elsewhere) => {
        const run = await waitingRun(elsewhere);
        const transit = await takenFrom(elsewhere, run.runId, store);
        const tables = new Set(transit.rows.map(({ table }) => table));
        assert.ok(tables.size > 8);
        const fence = await beginArrival(store, transit);
        for (const missing of tables) {
          while (await store.dropArrivingRows(fence));
          await store.storeArrivingRows(
            fence,
            transit.rows.filter(({ table }) => table !== missing && isFree(table, missing)),
          );
          const error = await rejection(store.finishArrival(fence, transit.blobs));
          assert.ok(BundleRefusedError.isInstance(error), `${missing}: ${String(error)}`);
          assert.equal((await store.getRun(run.runId))?.status, "moved");
        }
        while (await store.dropArrivingRows(fence));
        await store.storeArrivingRows(fence, transit.rows);
        await store.finishArrival(fence, transit.blobs);
        await assertIntact(store, run.runId);
      });
    },
  ),

  check("a piece that is sent twice is stored once", async (scene) => {
    const { store } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      const run = await waitingRun(elsewhere);
      const transit = await takenFrom(elsewhere, run.runId, store);
      const fence = await beginArrival(store, transit);
      assert.deepEqual(await beginArrival(store, transit), fence, "a repeated request is the same import");
      for (let i = 0; i < 2; i++) await store.storeArrivingRows(fence, transit.rows);
      await store.finishArrival(fence, transit.blobs);
      assert.deepEqual(await content(store, run.runId), await content(elsewhere, run.runId));
    });
  }),

  check("an import that was given up writes nothing once another one has begun", async (scene) => {
    const { store } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      const transit = await takenFrom(elsewhere, (await waitingRun(elsewhere)).runId, store);
      const first = await beginArrival(store, transit);
      store.attend(first).leave();
      const second = await beginArrival(store, transit, "second");
      assert.ok(second.epoch > first.epoch);
      const late = store.storeArrivingRows(first, transit.rows);
      assert.ok(LeaseLostError.isInstance(await rejection(late)));
      await store.storeArrivingRows(second, transit.rows);
      await store.finishArrival(second, transit.blobs);
    });
  }),

  checkSeveral("one import at a time: a second one waits for the first, or for its end", async (scene) => {
    const { store, openAnother, advance } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      const run = await waitingRun(elsewhere);
      const transit = await takenFrom(elsewhere, run.runId, store);
      const first = await beginArrival(store, transit);
      await store.storeArrivingRows(first, transit.rows.slice(0, 3));
      const second = await openAnother();
      assert.ok(RunBusyError.isInstance(await rejection(beginArrival(second, transit, "second"))));
      advance(LEASE_MS);
      const taken = await beginArrival(second, transit, "second");
      for (const late of [
        () => store.storeArrivingRows(first, transit.rows),
        () => store.dropArrivingRows(first),
        () => store.finishArrival(first, transit.blobs),
      ])
        assert.ok(LeaseLostError.isInstance(await rejection(late())));
      while (await second.dropArrivingRows(taken));
      await second.storeArrivingRows(taken, transit.rows);
      await second.finishArrival(taken, transit.blobs);
      await assertIntact(second, run.runId);
    });
  }),

  check("a run for another store, or another run of the same id, is refused", async (scene) => {
    const { store } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      const run = await waitingRun(elsewhere);
      const transit = await takenFrom(elsewhere, run.runId, store);
      assert.ok(BundleRefusedError.isInstance(await rejection(beginArrival(elsewhere, transit))));
      const other = await SampleRun.create(store);
      await assertRefused(store, other.runId, () => beginArrival(store, transit), BundleRefusedError);
      await store.releaseRun(other.fence, FAILED);
      await store.moveRun(other.runId, ELSEWHERE);
      await assertRefused(store, other.runId, () => beginArrival(store, transit), BundleRefusedError);
    });
  }),

  check("a run comes home with its longer log, and lives there again", async (scene) => {
    const { store } = scene;
    await withAnotherDatabase(scene, async (elsewhere) => {
      const run = await waitingRun(store);
      await arrived(elsewhere, await takenFrom(store, run.runId, elsewhere));
      await elsewhere.deny(`${run.runId}~1`, "No.");
      const there = await run.takenOver(elsewhere);
      await elsewhere.keepArtifact(there.fence, { stepKey: there.stepKey, name: "a.txt", bytes: LARGE });
      await elsewhere.interruptRun(there.fence);
      const transit = await takenFrom(elsewhere, run.runId, store);
      await arrived(store, transit);
      assert.equal((await store.getRun(run.runId))?.status, "running");
      assert.deepEqual(await content(store, run.runId), await content(elsewhere, run.runId));
      assert.deepEqual(
        (await eventTypes(store, run.runId)).filter((type) => /moved|arrived/.test(type)),
        ["run.moved", "run.arrived", "run.moved", "run.arrived"],
      );
      await assertIntact(store, run.runId);
      const outcome = await elsewhere.claimRun(run.runId, claimOptions()).catch((error: unknown) => error);
      assert.ok(RunMovedError.isInstance(outcome), "it is not alive in both");
      await run.takenOver(store);
    });
  }),
];

/** Leaves the run in this status. */
async function leave(store: Store, run: SampleRun, status: OwnStatus): Promise<void> {
  if (status === "running") await store.interruptRun(run.fence);
  else await store.releaseRun(run.fence, status === "failed" ? FAILED : SUCCEEDED);
}

/** True if rows of the table need none of the missing one: some databases refuse a child without its parent. */
function isFree(table: string, missing: string): boolean {
  if (missing === "run_steps") return !OF_STEPS.has(table);
  return missing !== "tool_calls" || !OF_CALLS.has(table);
}

const OF_CALLS = new Set(["receipts", "tool_call_attempts", "uncertain_calls", "applied_calls"]);
const OF_STEPS = new Set([
  ...OF_CALLS,
  "loop_decisions",
  "granular_states",
  "fingerprints",
  "lineages",
  "turns",
  "failed_model_calls",
  "tool_calls",
  "checkpoints",
]);
