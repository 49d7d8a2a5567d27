import assert from "node:assert/strict";
import { ResumeError, RunNotFoundError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import type { SessionCommit, SliceChange, Store, TurnCommit } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral, rejection } from "../check.ts";
import { assertChained } from "../runs/events.ts";
import { FAILED, LEASE_MS, limited, newReceipt, SampleRun } from "../sample-run.ts";
import {
  appliedIn,
  eventTurn,
  milestone,
  milestoneTurn,
  sessionCommit,
  slicesOf,
  startLineage,
  wholeSlice,
} from "../sample-session.ts";
import { sessionScenario } from "../store-scenarios.ts";

/** A turn without calls that changes the session. */
function sessionTurn(run: SampleRun, turnIndex: number, over: Partial<SessionCommit>): Promise<void> {
  return run.committed(turnIndex, { session: sessionCommit(over) });
}

const READERS: readonly ((store: Store) => Promise<unknown>)[] = [
  (store) => store.readSession("nobody"),
  (store) => store.isApplied("nobody", "nobody/draft#1.1"),
  (store) => store.listCheckpoints("nobody"),
  (store) => store.readCheckpoint("nobody"),
  (store) => store.readCheckpoint("nobody", 1),
  (store) => store.findMilestone("nobody"),
  (store) => store.listLineages("nobody"),
  (store) => store.listAttempts("nobody"),
];

export const sessionChecks: readonly Check[] = [
  check("a value beyond the length of its slice is refused", async ({ store }) => {
    const run = await SampleRun.create(store);
    for (const index of [2, -1, 0.5]) {
      const change = { ...wholeSlice("plan", ["read"]), length: 2, items: [[index, "write"]] as const };
      await run.journaled(1, []).catch(() => undefined);
      await assertRefused(store, run.runId, () =>
        store.commitTurn(run.fence, run.commit(1, { session: sessionCommit({ slices: [change] }) })),
      );
    }
  }),

  check("a run begins with an empty session", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committedWithCall(1);
    assert.deepEqual(await store.readSession(run.runId), []);
    assert.deepEqual(await store.listCheckpoints(run.runId), []);
    assert.equal(await store.readCheckpoint(run.runId), null);
    assert.equal(await store.findMilestone(run.runId), null);
    assert.deepEqual(await store.listLineages(run.runId), []);
    assert.equal(await store.isApplied(run.runId, run.callId(1, 1)), false);
  }),

  check("a run that does not exist has no session, not even an empty one", async ({ store }) => {
    for (const read of READERS) assert.ok(RunNotFoundError.isInstance(await rejection(read(store))));
  }),

  check("the session changes of a commit are stored with its turn", async ({ store }) => {
    const run = await SampleRun.create(store);
    await eventTurn(run, 1, {
      slices: [
        wholeSlice("plan", [{ id: 1, title: "Read" }, { id: 2 }], { version: 3 }),
        wholeSlice("history", ["a", "b", "c"], { kind: "log" }),
      ],
      checkpoint: milestone({ plan: 1 }),
    });
    assert.deepEqual(await store.readSession(run.runId), [
      { name: "history", kind: "log", version: 1, values: ["a", "b", "c"] },
      { name: "plan", kind: "state", version: 3, values: [{ id: 1, title: "Read" }, { id: 2 }] },
    ]);
    assert.equal(await store.isApplied(run.runId, "run-1/draft#1.1"), true);
    assert.deepEqual((await store.readCheckpoint(run.runId))?.snapshot, { plan: 1 });
  }),

  check("a value is read back as given, whatever it is", async ({ store }) => {
    const run = await SampleRun.create(store);
    const values: Json[] = [
      null,
      true,
      0,
      -0.25,
      1e21,
      "",
      'naïve 🙂 \u0000 \u2028 "quoted"',
      [],
      {},
      [[null], [{ ü: { "": [1, "1"] } }]],
      "x".repeat(50_000),
    ];
    await sessionTurn(run, 1, { slices: [wholeSlice("Größe 🙂", values)] });
    assert.deepEqual(await slicesOf(store, run.runId), { "Größe 🙂": values });
  }),

  check("only the given items are changed, and those beyond the length are removed", async ({ store }) => {
    const run = await SampleRun.create(store);
    const slices = () => slicesOf(store, run.runId);
    const change = (length: number, items: SliceChange["items"]) => wholeSlice("a", [], { length, items });
    await sessionTurn(run, 1, { slices: [wholeSlice("a", [1, 2, 3, 4]), wholeSlice("b", ["other"])] });
    await sessionTurn(run, 2, { slices: [change(4, [[1, "two"]])] });
    assert.deepEqual(await slices(), { a: [1, "two", 3, 4], b: ["other"] });
    const appended = [
      [4, 5],
      [5, 6],
    ] as const;
    await sessionTurn(run, 3, { slices: [change(6, appended)] });
    assert.deepEqual(await slices(), { a: [1, "two", 3, 4, 5, 6], b: ["other"] });
    await sessionTurn(run, 4, { slices: [change(2, [])] });
    assert.deepEqual(await slices(), { a: [1, "two"], b: ["other"] });
    await sessionTurn(run, 5, { slices: [change(3, [[2, "again"]])] });
    assert.deepEqual(await slices(), { a: [1, "two", "again"], b: ["other"] });
    await run.committed(6);
    assert.deepEqual(await slices(), { a: [1, "two", "again"], b: ["other"] });
  }),

  check("an empty slice does not exist, until it has a value again", async ({ store }) => {
    const run = await SampleRun.create(store);
    await sessionTurn(run, 1, { slices: [wholeSlice("a", [1, 2], { version: 3 }), wholeSlice("b", [])] });
    assert.deepEqual(await slicesOf(store, run.runId), { a: [1, 2] });
    await sessionTurn(run, 2, { slices: [wholeSlice("a", [])] });
    assert.deepEqual(await store.readSession(run.runId), []);
    await sessionTurn(run, 3, { slices: [wholeSlice("a", ["again"], { kind: "log" })] });
    assert.deepEqual(await store.readSession(run.runId), [
      { name: "a", kind: "log", version: 1, values: ["again"] },
    ]);
  }),

  check("a slice that grows and shrinks always matches its changes", async ({ store }) => {
    const run = await SampleRun.create(store);
    let values: Json[] = [];
    for (let turn = 1; turn <= 30; turn++) {
      const before = values;
      values = before.slice(0, (turn * 7) % 11).map((value, i) => ((turn + i) % 3 === 0 ? turn : value));
      while (values.length < (turn * 5) % 9) values.push(`${turn}.${values.length}`);
      const items = values.map((value, i) => [i, value] as const).filter(([i, value]) => value !== before[i]);
      const change = wholeSlice("a", [], { length: values.length, items });
      await sessionTurn(run, turn, { slices: [change] });
      assert.deepEqual((await slicesOf(store, run.runId)).a ?? [], values);
    }
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  check("a slice keeps its new version or kind", async ({ store }) => {
    const run = await SampleRun.create(store);
    const slice = async () => (await store.readSession(run.runId))[0];
    await sessionTurn(run, 1, { slices: [wholeSlice("a", [1, 2])] });
    const items = [[0, "one"]] as const;
    await sessionTurn(run, 2, { slices: [wholeSlice("a", [], { version: 4, length: 2, items })] });
    assert.deepEqual(await slice(), { name: "a", kind: "state", version: 4, values: ["one", 2] });
    await sessionTurn(run, 3, { slices: [wholeSlice("a", [], { version: 4, length: 2, kind: "log" })] });
    assert.deepEqual(await slice(), { name: "a", kind: "log", version: 4, values: ["one", 2] });
    await sessionTurn(run, 4, { slices: [wholeSlice("a", [3], { version: 2 })] });
    assert.deepEqual(await slice(), { name: "a", kind: "state", version: 2, values: [3] });
  }),

  check("each run has a session of its own", async ({ store }) => {
    const [a, b] = [await SampleRun.create(store, "a"), await SampleRun.create(store, "b")];
    await eventTurn(a, 1, { slices: [wholeSlice("plan", [1, 2])], checkpoint: milestone({ of: "a" }) });
    await eventTurn(b, 1, { slices: [wholeSlice("plan", ["b"])], applied: [] });
    await startLineage(b);
    assert.deepEqual(await slicesOf(store, "a"), { plan: [1, 2] });
    assert.deepEqual(await slicesOf(store, "b"), { plan: ["b"] });
    assert.deepEqual([await appliedIn(store, "a"), await appliedIn(store, "b")], [["a/draft#1.1"], []]);
    assert.equal(await store.readCheckpoint("b"), null);
    assert.equal((await store.listCheckpoints("a"))[0]?.isSuperseded, false);
  }),

  check("a refused commit leaves the session, its calls and its checkpoints unchanged", async ({ store }) => {
    const run = await SampleRun.create(store);
    const other = await SampleRun.create(store, "run-2");
    await other.committedWithCall(1);
    await eventTurn(run, 1, { slices: [wholeSlice("a", [1, 2, 3])], checkpoint: milestone({ n: 1 }) });
    await run.journaled(2, ["running", "running"]);
    const session = sessionCommit({
      slices: [wholeSlice("a", ["changed"]), wholeSlice("b", ["new"], { kind: "log" })],
      applied: [run.callId(2, 1), run.callId(2, 2)],
      checkpoint: milestone({ n: 2 }),
    });
    const receipts = [newReceipt(1), newReceipt(2)];
    const refused = (over: Partial<TurnCommit>, turnIndex = 2) => {
      const commit = run.commit(turnIndex, { receipts, session, ...over });
      return assertRefused(store, run.runId, () => store.commitTurn(run.fence, commit));
    };
    await refused({ receipts: receipts.slice(1) });
    for (const turnIndex of [1, 3]) {
      const error = await refused({ receipts: [], journal: run.journal(turnIndex) }, turnIndex);
      assert.ok(ResumeError.isInstance(error));
    }
    // The last write of the commit is refused: everything else was written before.
    await refused({ next: run.opening(3, { reserve: { tokens: 1, microDollars: 0.5 } }) });
    for (const id of ["run-1/draft#2.3", "run-1/draft#3.1", "run-1/none#1.1", "run-2/draft#1.1", "?"])
      await refused({ session: { ...session, applied: [run.callId(2, 1), id] } });
    await store.commitTurn(run.fence, run.commit(2, { receipts, session }));
    assert.deepEqual(await slicesOf(store, run.runId), { a: ["changed"], b: ["new"] });
    assert.equal((await store.readCheckpoint(run.runId))?.checkpoint, 2, "no number was lost");
    assert.deepEqual(await appliedIn(store, "run-2"), []);
  }),

  check("a commit whose next turn is denied still changes the session", async ({ store }) => {
    const run = await SampleRun.create(store, "run-1", limited(130));
    await run.open(1);
    const session = sessionCommit({ slices: [wholeSlice("a", [1])], checkpoint: milestone({}) });
    const next = run.opening(2, { reserve: { tokens: 101, microDollars: 0 } });
    const outcome = await store.commitTurn(
      run.fence,
      run.commit(1, { journal: run.journal(1), session, next }),
    );
    assert.deepEqual([outcome.next?.kind, outcome.checkpoint], ["denied", 1]);
    assert.deepEqual(await slicesOf(store, run.runId), { a: [1] });
  }),

  check("a finished step applies its changes, once", async ({ store }) => {
    const run = await SampleRun.create(store);
    const code = await run.at("code", { kind: "run" });
    await store.openToolCall(code.fence, code.codeCall(1));
    await code.receipt(0, 1);
    const session = sessionCommit({ slices: [wholeSlice("a", [1])], applied: [code.callId(0, 1)] });
    const finish = { stepKey: code.stepKey, output: 1, context: null, session };
    const wrong = { ...session, applied: ["run-1/code#0.2"] };
    await assertRefused(store, run.runId, () => store.finishStep(code.fence, { ...finish, session: wrong }));
    await store.finishStep(code.fence, finish);
    assert.deepEqual(await slicesOf(store, run.runId), { a: [1] });
    assert.deepEqual(await appliedIn(store, run.runId), ["run-1/code#0.1"]);
    const again = { ...finish, session: sessionCommit({ slices: [wholeSlice("a", [2])] }) };
    await assertRefused(store, run.runId, () => store.finishStep(code.fence, again));
  }),

  check("applying a call twice counts once, as of the first time", async ({ store }) => {
    const run = await SampleRun.create(store);
    await eventTurn(run, 1, { applied: [run.callId(1, 1), run.callId(1, 1)] });
    await sessionTurn(run, 2, { checkpoint: milestone({}) });
    await sessionTurn(run, 3, { applied: [run.callId(1, 1)] });
    assert.deepEqual(await appliedIn(store, run.runId), [run.callId(1, 1)]);
    await startLineage(run, 1);
    assert.deepEqual(await appliedIn(store, run.runId), [run.callId(1, 1)], "it was there before");
  }),

  check(
    "a rolled back session loses the changes after the checkpoint, and nothing else",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await eventTurn(run, 1, { slices: [wholeSlice("a", [1]), wholeSlice("b", ["kept"])] });
      await milestoneTurn(run, 2);
      await eventTurn(run, 3, { slices: [wholeSlice("a", [1, 2, 3])] });
      await milestoneTurn(run, 4);
      await startLineage(run, 1, { slices: [wholeSlice("a", ["as it was"], { version: 2 })] });
      assert.deepEqual(await store.readSession(run.runId), [
        { name: "a", kind: "state", version: 2, values: ["as it was"] },
        { name: "b", kind: "state", version: 1, values: ["kept"] },
      ]);
      assert.deepEqual(await appliedIn(store, run.runId), [run.callId(1, 1), run.callId(2, 1)]);
      await eventTurn(run, 5, { applied: [run.callId(5, 1), run.callId(3, 1)] });
      assert.deepEqual(
        await appliedIn(store, run.runId),
        [1, 2, 3, 5].map((turn) => run.callId(turn, 1)),
        "it can be applied again",
      );
      await startLineage(run, null, { slices: [wholeSlice("a", []), wholeSlice("b", [])] });
      assert.deepEqual(await slicesOf(store, run.runId), {});
      assert.deepEqual(await appliedIn(store, run.runId), []);
    },
  ),

  check("any commit of the run may apply a call of any of its steps", async ({ store }) => {
    const run = await SampleRun.create(store);
    const code = await run.at("code", { kind: "run" });
    for (const n of [1, 2]) {
      await store.openToolCall(code.fence, code.codeCall(n));
      await code.receipt(0, n);
    }
    await run.committedWithCall(1);
    const polish = await run.at("polish");
    await sessionTurn(polish, 1, { applied: [code.callId(0, 2), run.callId(1, 1)] });
    assert.deepEqual(await appliedIn(store, run.runId), ["run-1/draft#1.1", "run-1/code#0.2"]);
  }),

  check("a call that does not exist is not applied", async ({ store }) => {
    const run = await SampleRun.create(store);
    const other = await SampleRun.create(store, "run-2");
    await eventTurn(run, 1);
    await eventTurn(other, 1);
    const ids = ["run-1/draft#1.2", "run-1/draft#2.1", "run-1/none#1.1", "run-2/draft#1.1", "", "draft"];
    for (const id of ids) assert.equal(await store.isApplied(run.runId, id), false, `not ${id}`);
    assert.equal(await store.isApplied(run.runId, run.callId(1, 1)), true);
  }),

  check("the next worker finds the session unchanged", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await eventTurn(run, 1, { slices: [wholeSlice("a", [1, 2])] });
    await run.journaled(2, ["running"]);
    const session = await store.readSession(run.runId);
    advance(LEASE_MS);
    const later = await run.takenOver();
    assert.deepEqual(await store.readSession(run.runId), session);
    await store.releaseRun(later.fence, FAILED);
    assert.deepEqual(await store.readSession(run.runId), session);
    assert.deepEqual(await appliedIn(store, run.runId), [run.callId(1, 1)]);
  }),

  checkSeveral("processes that take over a run from each other share its session", async (scene) => {
    let run = await SampleRun.create(scene.store);
    const stores = [await scene.openAnother(), scene.store];
    for (let turn = 1; turn <= 6; turn++) {
      const items = [[turn - 1, turn]] as const;
      const slices = [wholeSlice("a", [], { length: turn, items })];
      const checkpoint = await eventTurn(run, turn, { slices, checkpoint: milestone({ turn }) });
      assert.equal(checkpoint, turn);
      await scene.fallSilent(LEASE_MS);
      run = await run.takenOver(stores[turn % 2]);
      assert.equal((await slicesOf(run.store, run.runId)).a?.length, turn);
      assert.equal((await appliedIn(run.store, run.runId)).length, turn);
    }
  }),

  check(
    "each intent of a session appends one event, and everything in it is what was written",
    async ({ store, advance }) => {
      const expected = await sessionScenario(store, advance);
      const events = await store.listEvents("session");
      assert.deepEqual(
        events.map(({ type }) => type),
        expected,
      );
      assertChained(events);
      assert.deepEqual((await store.verify("session")).problems, []);
    },
  ),
];
