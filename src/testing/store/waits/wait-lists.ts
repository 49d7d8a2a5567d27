import assert from "node:assert/strict";
import type { AnsweredWaitRange, OpenWaitRange, Store } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import { SampleRun, sha256 } from "../sample-run.ts";

const HASH = sha256("arguments").toString("hex");

/** Three runs, each with an approval and a wait for a message. */
async function threeRuns(store: Store, next: (i: number) => void): Promise<void> {
  for (const [i, pipeline] of ["mail", "report", "mail"].entries()) {
    const run = await SampleRun.create(store, `run-${i + 1}`, {
      pipeline,
      metadata: { tenant: i === 2 ? "other" : "acme" },
    });
    await run.journaled(1, ["prepared", "running"]);
    await run.endAttempt(1, 2, { outcome: "needs_wait" });
    await run.waiting(run.approval(1, 1, HASH), run.wait(1, 2, { kind: "message", matches: "*" }));
    next(i);
  }
}

async function open(store: Store, range?: OpenWaitRange): Promise<string[]> {
  return (await store.listOpenWaits(range)).map(({ waitId }) => waitId);
}

export const waitListChecks: readonly Check[] = [
  check("open waits are listed in pages, oldest first", async ({ store, advance }) => {
    await threeRuns(store, (i) => advance(i === 0 ? 10 : 0));
    const all = await open(store);
    assert.deepEqual([...all].sort(), ["run-1~1", "run-1~2", "run-2~1", "run-2~2", "run-3~1", "run-3~2"]);
    assert.deepEqual(all.slice(0, 2), ["run-1~1", "run-1~2"], "oldest first");
    for (const size of [1, 2, 3, 4]) {
      const found: string[] = [];
      for (let range: OpenWaitRange = { limit: size }; ; ) {
        const page = await store.listOpenWaits(range);
        found.push(...page.map(({ waitId }) => waitId));
        const after = page.at(-1);
        if (after === undefined || page.length < size) break;
        range = { limit: size, after };
      }
      assert.deepEqual(found, all, `in pages of ${size}`);
    }
    assert.deepEqual(await open(store, { after: { createdAt: 0, waitId: "nonsense" } }), []);
  }),

  check("open waits are found by kind, run, pipeline and label", async ({ store, advance }) => {
    await threeRuns(store, () => advance(10));
    assert.deepEqual(await open(store, { kinds: ["approval", "budget"] }), ["run-1~1", "run-2~1", "run-3~1"]);
    assert.deepEqual(await open(store, { kinds: ["message"] }), ["run-1~2", "run-2~2", "run-3~2"]);
    assert.deepEqual(await open(store, { kinds: [] }), []);
    assert.deepEqual(await open(store, { runId: "run-2" }), ["run-2~1", "run-2~2"]);
    assert.deepEqual(await open(store, { runId: "none" }), []);
    assert.deepEqual(await open(store, { pipelines: ["mail", "other"], kinds: ["approval"] }), [
      "run-1~1",
      "run-3~1",
    ]);
    assert.deepEqual(await open(store, { pipelines: [] }), []);
    assert.deepEqual(await open(store, { pipelines: null, labels: { tenant: "other" } }), [
      "run-3~1",
      "run-3~2",
    ]);
    const acme = { pipelines: ["mail"], labels: { tenant: "acme" }, kinds: ["approval"] } as const;
    assert.deepEqual(await open(store, acme), ["run-1~1"]);
    await store.moveRun("run-1", "f".repeat(32));
    assert.deepEqual(await open(store, acme), [], "nobody answers it here");
  }),

  check("what people have answered is listed, newest first", async ({ store, advance, now }) => {
    await threeRuns(store, () => advance(10));
    const since = now();
    const answered = async (over = {}) =>
      (await store.listAnsweredWaits({ since, limit: 10, ...over })).map(({ waitId }) => waitId);
    assert.deepEqual(await answered(), []);
    await store.approve("run-2~1", { by: "Ann" });
    advance(1);
    await store.deny("run-1~1", "Not this one.", { by: "Bob" });
    await store.sendMessage("run-1", { id: "m-1", event: "news", body: 1, by: { by: "Cy" } });
    assert.deepEqual(await answered(), ["run-1~1", "run-2~1"], "and not what a message has answered");
    assert.deepEqual(await answered({ limit: 1 }), ["run-1~1"]);
    assert.deepEqual(await answered({ since: since + 1 }), ["run-1~1"]);
    assert.deepEqual(await answered({ pipelines: ["report"] }), ["run-2~1"]);
    assert.deepEqual(await answered({ labels: { tenant: "other" } }), []);
    assert.deepEqual(await answered({ kinds: ["question"] }), []);
    assert.deepEqual(await answered({ kinds: ["approval"], runId: "run-2" }), ["run-2~1"]);
    const [first] = await store.listAnsweredWaits({ since, limit: 1 });
    assert.deepEqual([first?.answeredBy, first?.status, first?.answeredAt], ["Bob", "answered", now()]);
  }),

  check(
    "what people have answered is listed in pages, also what they answered at the same time",
    async (world) => {
      const { store, advance, now } = world;
      await threeRuns(store, () => advance(10));
      await store.approve("run-2~1", { by: "Ann" });
      advance(1);
      await store.approve("run-1~1", { by: "Ann" });
      await store.approve("run-3~1", { by: "Ann" });
      for (const limit of [1, 2, 3]) {
        const found: string[] = [];
        for (let range: AnsweredWaitRange = { since: 0, limit }; ; ) {
          const page = await store.listAnsweredWaits(range);
          found.push(...page.map(({ waitId }) => waitId));
          const last = page.at(-1);
          if (last === undefined || page.length < limit) break;
          range = { ...range, after: { answeredAt: last.answeredAt ?? 0, waitId: last.waitId } };
        }
        assert.deepEqual(found, ["run-3~1", "run-1~1", "run-2~1"], `in pages of ${limit}`);
      }
      const nonsense = { answeredAt: now(), waitId: "nonsense" };
      assert.deepEqual(await store.listAnsweredWaits({ since: 0, limit: 1, after: nonsense }), []);
    },
  ),
];
