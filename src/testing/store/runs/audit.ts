import assert from "node:assert/strict";
import { ConfigurationError } from "../../../core/errors.ts";
import type { AuditRange, AuditRecord, Store } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { newAuditEntry } from "../sample-access.ts";

const ANN = newAuditEntry("Ann 🙂");
const BOB = newAuditEntry("Bob", {
  who: { name: "Bob", id: null, role: null },
  act: "runs.show",
  target: null,
  status: 404,
  problem: "run_not_found",
  requestId: null,
});

async function numbers(store: Store, range?: AuditRange): Promise<readonly number[]> {
  return (await store.listAudit(range)).map(({ no }) => no);
}

async function assertHolds(store: Store, entries: number): Promise<void> {
  const { problem, entries: found } = await store.verifyAudit();
  assert.deepEqual({ problem, found }, { problem: null, found: entries });
}

export const auditChecks: readonly Check[] = [
  check("entries are numbered and chained in the order in which they were given", async (scene) => {
    const { store, now, advance } = scene;
    await store.recordAudit([ANN, BOB]);
    const first = now();
    advance(1_000);
    await store.recordAudit([ANN]);
    await store.recordAudit([]);
    const expected: readonly AuditRecord[] = [
      { ...ANN, no: 3, at: now() },
      { ...BOB, no: 2, at: first },
      { ...ANN, no: 1, at: first },
    ];
    assert.deepEqual(await store.listAudit(), expected);
    await assertHolds(store, 3);
    assert.equal((await store.verifyAudit()).last?.no, 3);
  }),

  check("an empty log verifies, and has no last entry", async ({ store }) => {
    assert.deepEqual(await store.verifyAudit(), { entries: 0, last: null, problem: null });
    assert.deepEqual(await store.listAudit(), []);
  }),

  check("a list is read page by page, and by person, act, target and time", async (scene) => {
    const { store, now, advance } = scene;
    for (const entry of [ANN, BOB, ANN, BOB, ANN]) {
      await store.recordAudit([entry]);
      advance(1_000);
    }
    assert.deepEqual(await numbers(store, { limit: 2 }), [5, 4]);
    assert.deepEqual(await numbers(store, { limit: 2, after: 4 }), [3, 2]);
    assert.deepEqual(await numbers(store, { who: "Bob" }), [4, 2]);
    assert.deepEqual(await numbers(store, { act: "runs.cancel", after: 5 }), [3, 1]);
    assert.deepEqual(await numbers(store, { target: "run-1", limit: 1 }), [5]);
    assert.deepEqual(await numbers(store, { since: now() - 2_000 }), [5, 4]);
    assert.deepEqual(await numbers(store, { since: now() - 4_000, until: now() - 3_000 }), [3, 2]);
    assert.deepEqual(await numbers(store, { who: "nobody" }), []);
  }),

  check("long and broken texts are stored so that the log verifies", async ({ store }) => {
    const odd = `${"a".repeat(5_000)}`;
    await store.recordAudit([
      { ...ANN, target: odd, requestId: "\u0000\ud800\u202e" },
      { ...ANN, act: "" },
    ]);
    const [, first] = await store.listAudit();
    assert.equal(first?.target, "a".repeat(300));
    assert.equal(first.requestId, "\u0000\ufffd\u202e");
    await assertHolds(store, 2);
  }),

  checkSeveral("two servers that append at once make one chain", async ({ store, openAnother }) => {
    const another = await openAnother();
    const batches = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? store : another));
    await Promise.all(batches.map((each) => each.recordAudit([ANN, BOB])));
    assert.deepEqual(
      await numbers(store),
      Array.from({ length: 20 }, (_, i) => 20 - i),
    );
    await assertHolds(store, 20);
  }),

  check("old entries are removed, and the rest still verifies", async ({ store, now, advance }) => {
    for (let n = 0; n < 4; n++) {
      await store.recordAudit([ANN]);
      advance(1_000);
    }
    const trimmed = await store.trimAudit({ before: now() - 2_000 }, { by: "Root" });
    assert.deepEqual(trimmed, { deleted: 2, isDone: true });
    const [last] = await store.listAudit();
    assert.deepEqual([last?.act, last?.target, last?.who.name], ["audit.trim", "1-2", "Root"]);
    assert.deepEqual(await numbers(store), [5, 4, 3]);
    await assertHolds(store, 3);
    assert.deepEqual(await store.trimAudit({ before: 0 }), { deleted: 0, isDone: true });
    await store.recordAudit([BOB]);
    assert.deepEqual(await store.trimAudit({ before: now() + 1 }), { deleted: 4, isDone: true });
    assert.deepEqual(await numbers(store), [7]);
    await assertHolds(store, 1);
    await assert.rejects(store.trimAudit({ before: Number.NaN }), ConfigurationError);
  }),
];
