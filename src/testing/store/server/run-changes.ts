import assert from "node:assert/strict";
import type { RunChangeCursor, Store } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { queuedRun } from "../runs/queue.ts";
import { SampleRun, SUCCEEDED } from "../sample-run.ts";

/** What a poller knows: the feed read to its end, again and again. */
class Poller {
  readonly #store: Store;
  #cursor: RunChangeCursor | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  async poll(limit = 100): Promise<readonly string[] | "reset"> {
    const { runs, cursor, isReset } = await this.#store.listChangedRuns({ after: this.#cursor, limit });
    this.#cursor = cursor;
    for (const run of runs) assert.deepEqual(run, await this.#store.readRunHead(run.runId), "as it is now");
    if (isReset) assert.deepEqual(runs, []);
    return isReset ? "reset" : runs.map(({ runId }) => runId);
  }
}

export const runChangeChecks: readonly Check[] = [
  check("runs that have changed are listed once, in the order of their last changes", async (scene) => {
    const { store, advance } = scene;
    const poller = new Poller(store);
    assert.equal(await poller.poll(), "reset", "it begins with what there is");
    assert.deepEqual(await poller.poll(), []);
    const first = await SampleRun.create(store, "run-1");
    const second = await SampleRun.create(store, "run-2");
    await first.committed(1);
    assert.deepEqual(await poller.poll(), ["run-2", "run-1"]);
    assert.deepEqual(await poller.poll(), []);
    await store.releaseRun(second.fence, SUCCEEDED);
    await store.enqueueRun(queuedRun("run-3"));
    assert.deepEqual(await poller.poll(), ["run-2", "run-3"]);
    // The clock is set back.
    advance(-3_600_000);
    await first.committed(2);
    assert.deepEqual(await poller.poll(), ["run-1"]);
    await store.renewLease(first.fence, 60_000);
    assert.deepEqual(await poller.poll(), [], "a renewal is no change");
  }),

  checkSeveral(
    "the changes of other processes are in it, and each reader has its own cursor",
    async (scene) => {
      const { store, openAnother } = scene;
      const other = await openAnother();
      const [poller, late] = [new Poller(store), new Poller(other)];
      await poller.poll();
      await late.poll();
      const run = await SampleRun.create(other, "run-1");
      assert.deepEqual(await poller.poll(), ["run-1"]);
      await run.committed(1);
      await store.enqueueRun(queuedRun("run-2"));
      assert.deepEqual(await poller.poll(), ["run-1", "run-2"]);
      assert.deepEqual(await late.poll(), ["run-1", "run-2"]);
    },
  ),

  check("a reader that is too far behind, or has a strange cursor, begins again", async ({ store }) => {
    const poller = new Poller(store);
    await poller.poll();
    for (const runId of ["run-1", "run-2", "run-3"]) await store.enqueueRun(queuedRun(runId));
    assert.equal(await poller.poll(2), "reset", "more runs than it asked for");
    assert.deepEqual(await poller.poll(2), []);
    await store.requestCancel("run-3");
    assert.deepEqual(await poller.poll(2), ["run-3"]);
    for (const after of ["", "nonsense", "999999999999", "999999999999[]", `1.${"0".repeat(64)}`])
      assert.equal((await store.listChangedRuns({ after, limit: 9 })).isReset, true, after);
  }),

  check("a reader whose last change was deleted begins again, and misses nothing after it", async (scene) => {
    const { store } = scene;
    const poller = new Poller(store);
    await store.enqueueRun(queuedRun("run-1"));
    await store.enqueueRun(queuedRun("run-2"));
    await store.requestCancel("run-2");
    await poller.poll();
    await store.deleteRun("run-2", { why: "old" });
    await store.enqueueRun(queuedRun("run-3"));
    await store.enqueueRun(queuedRun("run-4"));
    assert.equal(await poller.poll(), "reset");
    await store.requestCancel("run-4");
    await store.deleteRun("run-1", { why: "old" }).catch(() => undefined);
    assert.deepEqual(await poller.poll(), ["run-4"]);
  }),
];
