import assert from "node:assert/strict";
import type { Store } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { claimOptions, newStep, SampleRun, SUCCEEDED } from "../sample-run.ts";
import { configured, first, HOUR, MINUTE, runIds, second, told } from "./schedules.ts";

async function finish(store: Store, runId: string): Promise<void> {
  const outcome = await store.claimRun(runId, claimOptions({ from: ["queued", "running"] }));
  assert.ok(outcome.kind === "claimed", `${runId} is ${outcome.kind}`);
  await store.releaseRun({ runId, epoch: outcome.claim.epoch }, SUCCEEDED);
}

/** As a worker claims: under limits. */
async function taken(store: Store, runId: string): Promise<string> {
  const outcome = await store.claimRun(
    runId,
    claimOptions({ from: ["queued", "running"], limits: {}, leaseMs: HOUR }),
  );
  return outcome.kind;
}

export const overlapChecks: readonly Check[] = [
  check("overlap skip: no run while an earlier one is unfinished, and the reason names it", async (scene) => {
    const { store, advance } = scene;
    await configured(store, { overlap: "skip" });
    advance(MINUTE);
    await store.fireSchedule("nightly");
    advance(MINUTE);
    const { firings } = await store.fireSchedule("nightly");
    assert.deepEqual(told(firings), ["2026-01-01T00:02 skipped"]);
    assert.match(firings[0]?.why ?? "", new RegExp(`run ${first} is still queued`));
    await finish(store, first);
    advance(MINUTE);
    assert.deepEqual(told((await store.fireSchedule("nightly")).firings), ["2026-01-01T00:03 started"]);
  }),

  check(
    "overlap skip: a run that waits for a person is unfinished, and the reason says how to answer",
    async (scene) => {
      const { store, advance } = scene;
      await configured(store, { overlap: "skip" });
      advance(MINUTE);
      await store.fireSchedule("nightly");
      const outcome = await store.claimRun(first, claimOptions({ from: ["queued"] }));
      assert.ok(outcome.kind === "claimed");
      const fence = { runId: first, epoch: outcome.claim.epoch };
      const run = new SampleRun(store, fence, await store.beginStep(fence, newStep("draft")));
      await run.journaled(1, ["running"]);
      await run.endAttempt(1, 1);
      await run.waiting(run.wait(1, 1, { kind: "in_doubt" }));
      advance(MINUTE);
      const { firings } = await store.fireSchedule("nightly");
      assert.match(firings[0]?.why ?? "", /waits for a person.*pawl settle/);
    },
  ),

  check("overlap allow: runs are started side by side", async ({ store, advance }) => {
    await configured(store, { overlap: "allow" });
    for (let minute = 0; minute < 2; minute++) {
      advance(MINUTE);
      await store.fireSchedule("nightly");
    }
    assert.deepEqual([await taken(store, second), await taken(store, first)], ["claimed", "claimed"]);
  }),

  check(
    "overlap queue: runs begin one after the other, in the order of their planned times",
    async (scene) => {
      const { store, advance } = scene;
      await configured(store, { overlap: "queue" });
      for (let minute = 0; minute < 2; minute++) {
        advance(MINUTE);
        await store.fireSchedule("nightly");
      }
      assert.deepEqual(await runIds(store), [first, second]);
      assert.equal(await taken(store, second), "limited");
      const outcome = await store.claimRun(first, claimOptions({ from: ["queued"], limits: {} }));
      assert.ok(outcome.kind === "claimed");
      assert.equal(await taken(store, second), "limited");
      await store.releaseRun({ runId: first, epoch: outcome.claim.epoch }, SUCCEEDED);
      assert.equal(await taken(store, second), "claimed");
    },
  ),

  checkSeveral("overlap queue: of workers that claim at once, one gets a run", async (scene) => {
    const stores = [scene.store, await scene.openAnother()];
    await configured(scene.store, { overlap: "queue", catchUp: "all" });
    scene.advance(2 * MINUTE);
    await scene.store.fireSchedule("nightly");
    const claims = await Promise.all(
      stores.flatMap((store) => [second, first].map((runId) => taken(store, runId))),
    );
    assert.deepEqual(claims.filter((kind) => kind === "claimed").length, 1);
  }),

  check("overlap cancel: earlier runs are cancelled in the same transaction", async ({ store, advance }) => {
    await configured(store, { overlap: "cancel" });
    advance(MINUTE);
    await store.fireSchedule("nightly");
    advance(MINUTE);
    assert.deepEqual(told((await store.fireSchedule("nightly")).firings), ["2026-01-01T00:02 started"]);
    assert.equal((await store.getRun(first))?.status, "cancelled");
    assert.equal(await taken(store, second), "claimed");
    advance(MINUTE);
    await store.fireSchedule("nightly");
    assert.equal(await store.isCancelRequested(second), true, "its worker is asked to stop");
  }),
];
