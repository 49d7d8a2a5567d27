import assert from "node:assert/strict";
import {
  AlreadySettledError,
  ConfigurationError,
  NotJsonError,
  ResumeError,
  ToolCallNotFoundError,
} from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import type { Settlement } from "../../../core/wait.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { FAILED, LEASE_MS, newReceipt, SampleRun } from "../sample-run.ts";

const CALL = "run-1/draft#1.1";
const ANN = { by: "Ann 🙂" };
const people = (at: number) => [{ name: ANN.by, at, authenticated: null }];
const WAYS: readonly Settlement[] = [
  { as: "succeeded", result: { id: "m-1" } },
  { as: "failed", why: "The mailbox is empty." },
  { as: "retry" },
  { as: "retry", why: "It never arrived." },
];

/** A run that waits for the settlement of its first call. */
async function inDoubt(store: Store, runId?: string): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId);
  await run.journaled(1, ["running", "running"]);
  await run.receipt(1, 2);
  await run.waiting(run.wait(1, 1));
  return run;
}

export const settlementChecks: readonly Check[] = [
  check(
    "a call settled as succeeded has the result that the person gave",
    async ({ store, now, advance }) => {
      const results: readonly Json[] = [
        { id: "m-1", to: ["ü@example.org", null] },
        "plain 🙂",
        null,
        0,
        [],
        false,
      ];
      for (const [i, result] of results.entries()) {
        const run = await inDoubt(store, `run-${i}`);
        advance(5);
        await store.settle(`run-${i}/draft#1.1`, { as: "succeeded", result }, ANN);
        const { status, receipt } = await run.callAt(1, 1);
        assert.equal(status, "succeeded");
        const { tokens, ...rest } = receipt ?? { tokens: 0 };
        assert.deepEqual(rest, {
          status: "succeeded",
          // As if a tool had returned it.
          output:
            typeof result === "string" ? { type: "text", value: result } : { type: "json", value: result },
          blob: null,
          errorCode: null,
          uncertain: false,
          source: "person",
          correlationId: null,
          duplicateOf: null,
          sessionEvents: [],
          at: now(),
        });
        assert.ok(tokens > 0, "it is counted like any other result");
      }
    },
  ),

  check("a call settled as failed has the reason that the person gave", async ({ store, now }) => {
    const run = await inDoubt(store);
    await store.settle(CALL, { as: "failed", why: "The mailbox is empty." }, ANN);
    const { status, receipt } = await run.callAt(1, 1);
    assert.deepEqual(
      [status, receipt?.status, receipt?.output.type, receipt?.uncertain, receipt?.source, receipt?.at],
      ["failed", "failed", "error-text", false, "person", now()],
    );
    const reason = receipt?.output.value;
    assert.ok(typeof reason === "string" && reason.includes("The mailbox is empty."));
    assert.ok(receipt?.errorCode !== null, "it failed with an error code");
  }),

  check("a call settled as retry stays in doubt until a worker starts it", async ({ store }) => {
    const run = await inDoubt(store);
    const before = await run.callAt(1, 1);
    await store.settle(CALL, { as: "retry", why: "It never arrived." }, ANN);
    assert.deepEqual(await run.callAt(1, 1), before);
    assert.equal(before.status, "in_doubt");
    const later = await run.takenOver();
    await later.start(1, 1);
    await store.commitTurn(later.fence, later.commit(1, { receipts: [newReceipt(1)] }));
    assert.equal((await run.callAt(1, 1)).attempt, 2);
  }),

  check(
    "a settlement answers the open wait, with person, time and reason",
    async ({ store, now, advance }) => {
      for (const [i, settlement] of WAYS.entries()) {
        const run = await inDoubt(store, `run-${i}`);
        const [open] = await run.waits();
        advance(5);
        await store.settle(`run-${i}/draft#1.1`, settlement, ANN);
        assert.deepEqual(await run.waits(), [
          {
            ...open,
            status: "answered",
            answeredAt: now(),
            answeredBy: "Ann 🙂",
            people: people(now()),
            answer: settlement,
          },
        ]);
        assert.equal((await run.record()).status, "queued");
      }
    },
  ),

  check("a settlement answers an escalation too", async ({ store }) => {
    for (const [i, settlement] of WAYS.entries()) {
      const run = await SampleRun.create(store, `run-${i}`);
      await run.journaled(1, ["running"]);
      await run.waiting(run.wait(1, 1, { kind: "escalation" }));
      await store.settle(`run-${i}/draft#1.1`, settlement);
      const waits = await run.waits();
      assert.deepEqual(
        waits.map(({ kind, answer }) => [kind, answer]),
        [["escalation", settlement]],
      );
      assert.equal((await run.record()).status, "queued");
    }
  }),

  check(
    "a call in doubt can be settled without an open wait, and that is recorded",
    async ({ store, now }) => {
      for (const [i, settlement] of WAYS.entries()) {
        const run = await SampleRun.create(store, `run-${i}`);
        await run.journaled(1, ["running"]);
        await store.releaseRun(run.fence, FAILED);
        await store.settle(`run-${i}/draft#1.1`, settlement, ANN);
        const [wait, ...others] = await run.waits();
        assert.deepEqual(others, []);
        assert.deepEqual(
          [wait?.waitId, wait?.kind, wait?.toolCallId, wait?.attempt, wait?.status],
          [`run-${i}~1`, "in_doubt", `run-${i}/draft#1.1`, 1, "answered"],
        );
        assert.deepEqual([wait?.answeredBy, wait?.answeredAt, wait?.answer], ["Ann 🙂", now(), settlement]);
        assert.equal((await run.record()).status, "failed", "a settlement does not resume the run");
      }
    },
  ),

  check(
    "a call in doubt can be settled while a worker holds the run, and the worker sees it",
    async ({ store, advance }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["running", "running"]);
      advance(LEASE_MS);
      const later = await run.takenOver();
      await store.settle(CALL, { as: "succeeded", result: 1 });
      assert.equal((await run.record()).status, "running");
      for (const attempt of [() => later.receipt(1, 1), () => later.start(1, 1)]) {
        const error = await assertRefused(store, run.runId, attempt, ResumeError);
        assert.ok(ResumeError.isInstance(error) && error.recoverable);
      }
      await store.commitTurn(later.fence, later.commit(1, { receipts: [newReceipt(2)] }));
    },
  ),

  check("a call of a code step is settled like one of a turn", async ({ store }) => {
    const run = await SampleRun.create(store);
    const polish = await run.at("loop[2]/polish");
    await store.openToolCall(run.fence, run.codeCall(1));
    await store.openToolCall(polish.fence, polish.codeCall(1));
    await store.openToolCall(polish.fence, polish.codeCall(2));
    await run.waiting(polish.wait(0, 2));
    await store.settle("run-1/loop[2]/polish#0.2", { as: "succeeded", result: "second" });
    assert.deepEqual(
      (await store.listToolCalls(run.runId)).map(({ status, receipt }) => [status, receipt?.output.value]),
      [
        ["in_doubt", undefined],
        ["in_doubt", undefined],
        ["succeeded", "second"],
      ],
    );
  }),

  check("only what is in doubt can be settled", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared", "running", "running", "prepared", "prepared"]);
    const statuses = ["running", "prepared", "succeeded", "failed", "deduplicated", "cancelled"] as const;
    for (const [i, status] of statuses.entries())
      if (status !== "running" && status !== "prepared") await run.receipt(1, i + 1, { status });
    for (const [i, status] of statuses.entries())
      for (const settlement of WAYS) {
        const id = `run-1/draft#1.${i + 1}`;
        const error = await assertRefused(
          store,
          run.runId,
          () => store.settle(id, settlement),
          AlreadySettledError,
        );
        assert.deepEqual(AlreadySettledError.isInstance(error) && error.details, { id, status });
      }
  }),

  check("a call is settled once, and the first settlement stays", async ({ store }) => {
    const run = await inDoubt(store);
    await store.settle(CALL, { as: "succeeded", result: 1 }, ANN);
    for (const settlement of WAYS)
      await assertRefused(store, run.runId, () => store.settle(CALL, settlement), AlreadySettledError);
  }),

  check("a retry is an answer, and no second one is accepted", async ({ store }) => {
    const asked = await inDoubt(store);
    const unasked = await SampleRun.create(store, "run-2");
    await unasked.journaled(1, ["running"]);
    await store.releaseRun(unasked.fence, FAILED);
    for (const run of [asked, unasked]) {
      const id = `${run.runId}/draft#1.1`;
      await store.settle(id, { as: "retry" }, ANN);
      const refused = async () => {
        for (const settlement of WAYS) {
          const attempt = () => store.settle(id, settlement);
          const error = await assertRefused(store, run.runId, attempt, AlreadySettledError);
          assert.deepEqual(AlreadySettledError.isInstance(error) && error.details, {
            id,
            status: "answered",
          });
        }
      };
      await refused();
      const later = await run.takenOver();
      await refused();
      await later.start(1, 1);
    }
  }),

  check("a call that is in doubt again is a new question with its own answer", async ({ store }) => {
    for (const [i, settlement] of WAYS.entries()) {
      const id = `run-${i}/draft#1.1`;
      const run = await inDoubt(store, `run-${i}`);
      await store.settle(id, { as: "retry" });
      const later = await run.takenOver();
      await later.start(1, 1);
      await later.waiting(later.wait(1, 1));
      await store.settle(id, settlement);
      await assertRefused(store, run.runId, () => store.settle(id, { as: "retry" }), AlreadySettledError);
      assert.deepEqual(
        (await run.waits()).map(({ attempt, answer }) => [attempt, answer]),
        [
          [1, { as: "retry" }],
          [2, settlement],
        ],
      );
    }
  }),

  checkSeveral("one of several settlements from several processes at once wins", async (scene) => {
    const people: readonly { readonly store: Store; readonly says: Settlement }[] = [
      { store: scene.store, says: { as: "retry" } },
      { store: await scene.openAnother(), says: { as: "succeeded", result: 1 } },
      { store: await scene.openAnother(), says: { as: "failed", why: "It is gone." } },
    ];
    for (let i = 0; i < 6; i++) {
      const run = await inDoubt(scene.store, `run-${i}`);
      const first = i % people.length;
      const inTurn = [...people.slice(first), ...people.slice(0, first)];
      const outcomes = await Promise.allSettled(
        inTurn.map(({ store, says }) => store.settle(`run-${i}/draft#1.1`, says)),
      );
      const taken = inTurn.filter((_, at) => outcomes[at]?.status === "fulfilled").map(({ says }) => says);
      assert.equal(taken.length, 1);
      assert.deepEqual(
        (await run.waits()).map(({ answer }) => answer),
        taken,
      );
      for (const outcome of outcomes)
        if (outcome.status === "rejected") assert.ok(AlreadySettledError.isInstance(outcome.reason));
    }
  }),

  check("an id of no call settles nothing", async ({ store }) => {
    const run = await inDoubt(store);
    const ids = [
      "",
      "run-1",
      "run-1~1",
      "run-1/draft",
      "run-1/draft#1",
      "run-1/draft#1.0",
      "run-1/draft#1.3",
    ];
    for (const id of [
      ...ids,
      "run-1/draft#2.1",
      "run-1/draft#0.1",
      "run-1/other#1.1",
      "nobody/draft#1.1",
      ` ${CALL}`,
    ]) {
      const attempt = () => store.settle(id, { as: "retry" });
      const error = await assertRefused(store, run.runId, attempt, ToolCallNotFoundError);
      assert.deepEqual(ToolCallNotFoundError.isInstance(error) && error.details, { toolCallId: id });
    }
  }),

  check("an invalid settlement is refused", async ({ store }) => {
    const run = await inDoubt(store);
    for (const why of ["", " \n", undefined])
      await assertRefused(
        store,
        run.runId,
        () => store.settle(CALL, { as: "failed", why } as Settlement),
        ConfigurationError,
      );
    for (const as of ["done", "in_doubt", "cancelled", undefined])
      await assertRefused(store, run.runId, () => store.settle(CALL, { as } as never), ConfigurationError);
    for (const result of [undefined, Number.NaN, 1n, "\ud800"])
      await assertRefused(
        store,
        run.runId,
        () => store.settle(CALL, { as: "succeeded", result } as never),
        NotJsonError,
      );
    await store.settle(CALL, { as: "retry" });
  }),

  check("a settled call leaves no wait about it open", async ({ store }) => {
    for (const [i, settlement] of WAYS.entries()) {
      let run = await SampleRun.create(store, `run-${i}`);
      await run.journaled(1, ["running"]);
      await run.waiting(run.wait(1, 1, { kind: "escalation" }));
      run = await run.takenOver();
      await run.waiting(run.wait(1, 1));
      await store.settle(`run-${i}/draft#1.1`, settlement);
      const open = (await run.waits()).filter(({ status }) => status === "open");
      assert.deepEqual([settlement.as, open], [settlement.as, []]);
      assert.equal((await run.record()).status, "queued", "it has no open waits");
    }
  }),

  check("a settlement without an open wait does not queue a paused run", async ({ store }) => {
    for (const [i, settlement] of WAYS.entries()) {
      const run = await SampleRun.create(store, `run-${i}`);
      await run.journaled(1, ["running"]);
      await run.waiting();
      await store.settle(`run-${i}/draft#1.1`, settlement);
      assert.equal((await run.record()).status, "waiting");
    }
  }),
];
