import assert from "node:assert/strict";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { EventRecord, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check } from "../check.ts";
import { assertChained } from "../runs/events.ts";
import { LEASE_MS, newReceipt, SampleRun, sha256 } from "../sample-run.ts";
import { ledgerScenario } from "../store-scenarios.ts";

const ARGUMENTS = sha256("arguments").toString("hex");

/** Asserts that the intent appends one event of this type, with at least these facts. */
async function assertRecords(
  store: Store,
  runId: string,
  intent: () => Promise<unknown>,
  type: string,
  facts: JsonObject,
): Promise<EventRecord> {
  const before = (await store.listEvents(runId)).length;
  await intent();
  const [event, ...more] = await store.listEvents(runId, { after: before });
  assert.ok(event !== undefined && more.length === 0, `${type} is one event`);
  assert.equal(event.type, type);
  assert.ok(isJsonObject(event.data));
  const { data } = event;
  const recorded = Object.fromEntries(Object.keys(facts).map((key) => [key, data[key] ?? null]));
  assert.deepEqual(recorded, facts);
  return event;
}

/** How many rows of a table the event covers, each by its digest. */
function covered(data: Json, table: string): number {
  return JSON.stringify(data).match(new RegExp(`\\["${table} \\d+","[\\w-]{43}"\\]`, "g"))?.length ?? 0;
}

export const ledgerEventChecks: readonly Check[] = [
  check(
    "each intent of the ledger appends one event, without a gap, chained to the one before it",
    async ({ store, advance }) => {
      const expected = await ledgerScenario(store, advance);
      const events = await store.listEvents("ledger");
      assert.deepEqual(
        events.map(({ type }) => type),
        expected,
      );
      assertChained(events);
    },
  ),

  check("the log records which calls were started, and how attempts ended", async ({ store }) => {
    const run = await SampleRun.create(store);
    const { runId } = run;
    await run.journaled(1, ["prepared", "prepared", "running"]);
    const place = { step: "draft", turn: 1 };
    await assertRecords(store, runId, () => run.start(1, 1, 2), "calls.started", { ...place, calls: [1, 2] });
    const failed = { outcome: "failed", errorCode: "busy", inDoubt: false } as const;
    await assertRecords(store, runId, () => run.endAttempt(1, 2, failed), "call.tried", {
      ...place,
      call: 2,
      attempt: 1,
      outcome: "failed",
      code: "busy",
    });
    await assertRecords(store, runId, () => run.endAttempt(1, 3, { errorCode: null }), "call.in_doubt", {
      ...place,
      call: 3,
      attempt: 1,
      outcome: "timed_out",
      code: null,
    });
    const code = await run.at("code", { kind: "run" });
    const open = (n: number, status: "prepared" | "running") => () =>
      store.openToolCall(code.fence, code.codeCall(n, { status }));
    const first = { step: "code", turn: 0, calls: [1] };
    const prepared = await assertRecords(store, runId, open(1, "prepared"), "calls.prepared", first);
    assert.equal(covered(prepared.data, "tool_calls"), 1);
    const second = { step: "code", turn: 0, calls: [2] };
    const started = await assertRecords(store, runId, open(2, "running"), "calls.started", second);
    assert.equal(covered(started.data, "tool_calls"), 1);
  }),

  check("the log records the source of every receipt", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared", "running", "running"]);
    const place = { step: "draft", turn: 1 };
    const assertReceipt = async (intent: () => Promise<unknown>, type: string, facts: JsonObject) => {
      const event = await assertRecords(store, run.runId, intent, type, { ...place, ...facts });
      assert.equal(covered(event.data, "receipts"), 1, "and carries its digest");
    };
    await assertReceipt(() => run.receipt(1, 1), "call.receipt", {
      call: 1,
      status: "succeeded",
      source: "tool",
    });
    await assertReceipt(() => run.receipt(1, 2, { status: "cancelled", source: "pawl" }), "call.receipt", {
      call: 2,
      status: "cancelled",
      source: "pawl",
    });
    advance(LEASE_MS);
    await run.takenOver();
    await assertReceipt(() => store.offerLateReceipt(run.late(1, 1, newReceipt(3))), "call.receipt", {
      call: 3,
      status: "succeeded",
      source: "late",
    });
    await assertReceipt(
      () => store.settle("run-1/draft#1.4", { as: "failed", why: "No." }, { by: "Ann" }),
      "wait.answered",
      { wait: 1, by: "Ann", call: 4, status: "failed", source: "person" },
    );
    const evidence = () => store.offerLateReceipt(run.late(1, 1, newReceipt(4)));
    await assertRecords(store, run.runId, evidence, "call.late", {
      ...place,
      call: 4,
      attempt: 1,
      status: "succeeded",
    });
  }),

  check("the log records questions, and who answered them", async ({ store }) => {
    const run = await SampleRun.create(store);
    const { runId } = run;
    await run.journaled(1, ["prepared", "prepared", "running"]);
    const questions = [
      run.approval(1, 1, ARGUMENTS),
      run.approval(1, 2, ARGUMENTS),
      run.wait(1, 3, { kind: "escalation" }),
    ];
    await run.endAttempt(1, 3, { outcome: "needs_human" });
    await assertRecords(store, runId, () => run.waiting(...questions), "run.waiting", { waits: [1, 2, 3] });
    const place = { step: "draft", turn: 1, by: "Ann" };
    const ann = { by: "Ann" };
    const answers = [
      await assertRecords(store, runId, () => store.approve("run-1~1", ann), "wait.answered", {
        ...place,
        wait: 1,
        call: 1,
      }),
      await assertRecords(store, runId, () => store.deny("run-1~2", "A secret.", ann), "wait.answered", {
        ...place,
        wait: 2,
        call: 2,
      }),
      await assertRecords(store, runId, () => store.answer("run-1~3", "A secret.", ann), "wait.answered", {
        ...place,
        wait: 3,
        call: 3,
        source: "person",
      }),
    ];
    for (const { data } of answers)
      assert.doesNotMatch(
        JSON.stringify(data),
        /secret/,
        "the answer is in its wait, and its digest is here",
      );
  }),

  check("a refused answer or late receipt leaves no event", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.waiting(run.wait(1, 1));
    await assertRefused(store, run.runId, () => store.approve("run-1~1"));
    await assertRefused(store, run.runId, () => store.settle("run-1/draft#1.1", { as: "failed", why: "" }));
    await assertRefused(store, run.runId, () => store.offerLateReceipt(run.late(1, 2, newReceipt(1))));
    assertChained(await store.listEvents(run.runId));
  }),
];
