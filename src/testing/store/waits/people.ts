import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import type { Person, Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { keyedTurn, newFork } from "../sample-fork.ts";
import { FAILED, SampleRun, sha256 } from "../sample-run.ts";

const ARGUMENTS = sha256("arguments").toString("hex");

const ANN = { authenticated: { name: "ann", by: "os", id: "1000" } };
const BOB = { authenticated: { name: "bob", by: "os", id: "1001" } };

/** A run that waits for people to approve its first call. */
async function asked(
  store: Store,
  need: { readonly people?: number; readonly notStarter?: boolean },
  startedBy?: Person,
): Promise<SampleRun> {
  const run = await SampleRun.create(store, "run-1", startedBy === undefined ? {} : { startedBy });
  await run.journaled(1, ["prepared"]);
  const wait = run.approval(1, 1, ARGUMENTS);
  await run.waiting({ ...wait, subject: { ...wait.subject, ...need } });
  return run;
}

async function assertStillOpen(run: SampleRun, ...names: readonly string[]): Promise<void> {
  const [wait] = await run.waits();
  assert.deepEqual([wait?.status, wait?.answer, wait?.answeredBy], ["open", null, null]);
  assert.deepEqual(
    wait?.people.map(({ name }) => name),
    names,
  );
  assert.equal((await run.record()).status, "waiting");
}

async function assertNotApproved(run: SampleRun, person: Person, why: RegExp): Promise<void> {
  const error = await assertRefused(run.store, run.runId, () => run.store.approve("run-1~1", person));
  assert.match(String(error), why);
}

export const peopleChecks: readonly Check[] = [
  check(
    "an answer stores the given name, and separately the authenticated identity",
    async ({ store, now }) => {
      const run = await asked(store, {});
      await store.approve("run-1~1", { ...ANN, by: "the boss" });
      const [wait] = await run.waits();
      assert.equal(wait?.answeredBy, "the boss");
      assert.deepEqual(wait?.people, [
        { name: "the boss", at: now(), authenticated: { name: "ann", by: "os", id: "1000" } },
      ]);
      const answered = (await store.listEvents("run-1")).findLast(({ type }) => type === "wait.answered");
      const { by, authenticated } = { ...(answered?.data as JsonObject) };
      assert.deepEqual([by, authenticated], ["the boss", ANN.authenticated]);
    },
  ),

  check("a name that looks like a list of people is a plain name", async ({ store, now }) => {
    const run = await asked(store, {});
    const by = JSON.stringify([{ name: "ann", at: 1, authenticated: ANN.authenticated }]);
    await store.approve("run-1~1", { by });
    const [wait] = await run.waits();
    assert.deepEqual(wait?.people, [{ name: by, at: now(), authenticated: null }]);
  }),

  check(
    "the person who started a run is stored with it, and the one who forked it with the fork",
    async ({ store, now }) => {
      const run = await SampleRun.create(store, "run-1", { startedBy: ANN });
      await keyedTurn(run, 1);
      await store.releaseRun(run.fence, FAILED);
      await store.forkRun({ ...newFork(run, 1), startedBy: { by: "Bob" } });
      const vouched = { name: "ann", at: now(), authenticated: ANN.authenticated };
      assert.deepEqual((await run.record()).startedBy, vouched);
      assert.deepEqual((await store.getRun("fork"))?.startedBy, {
        name: "Bob",
        at: now(),
        authenticated: null,
      });
    },
  ),

  checkSeveral(
    "if two people are needed, the first leaves the wait open, also for the next process",
    async ({ store, openAnother, advance }) => {
      const run = await asked(store, { people: 2 });
      await store.approve("run-1~1", ANN);
      await assertStillOpen(run, "ann");
      advance(5);
      const other = await openAnother();
      const later = await run.takenOver(other, { from: ["waiting"] });
      await assertRefused(other, run.runId, () => later.startApproved(1, 1, ARGUMENTS));
      const wait = later.approval(1, 1, ARGUMENTS);
      await later.waiting({ ...wait, subject: { ...wait.subject, people: 2 } });
      await assertStillOpen(later, "ann");
      await other.approve("run-1~1", BOB);
      const [answered] = await run.waits();
      assert.deepEqual(
        [answered?.status, answered?.answer, answered?.answeredBy],
        ["answered", { approved: true }, "ann and bob"],
      );
      const last = await run.takenOver(other);
      await last.startApproved(1, 1, ARGUMENTS);
    },
  ),

  check("the same person counts once, whatever they call themselves", async ({ store }) => {
    const run = await asked(store, { people: 2 });
    await store.approve("run-1~1", ANN);
    await assertNotApproved(run, ANN, /ann has approved it already.*ask another one/);
    await assertNotApproved(run, { ...ANN, by: "bob" }, /ann has approved it already/);
    await assertNotApproved(run, { by: " AN\u200bN" }, /ann has approved it already/);
    const { name, by } = ANN.authenticated;
    for (const same of [
      { name, by },
      { ...ANN.authenticated, by: by.toUpperCase() },
    ])
      await assertNotApproved(run, { authenticated: same }, /ann has approved it already/);
    await assertNotApproved(run, {}, /say who approves it/);
    await assertStillOpen(run, "ann");
  }),

  check(
    "an unauthenticated name does not count as another person than an authenticated one",
    async (place) => {
      const { store } = place;
      const run = await asked(store, { people: 2 });
      await store.approve("run-1~1", ANN);
      await assertNotApproved(run, { by: "bob" }, /nothing vouches for bob/);
      await assertNotApproved(run, { by: "Some\u200bbody" }, /say who approves it/);
      await assertStillOpen(run, "ann");
      await store.approve("run-1~1", BOB);
      assert.equal((await run.record()).status, "queued");
    },
  ),

  check("the person who started the run does not count if another one is needed", async ({ store }) => {
    const run = await asked(store, { notStarter: true }, ANN);
    await assertNotApproved(run, ANN, /another person than ann, who started the run/);
    await assertNotApproved(run, { ...ANN, by: "bob" }, /another person than ann/);
    await assertNotApproved(run, { by: "Ann" }, /another person than ann/);
    await assertNotApproved(run, {}, /say who approves it/);
    await store.approve("run-1~1", BOB);
    assert.equal((await run.record()).status, "queued");
  }),

  check("no one counts as another person if the starter is unknown", async ({ store }) => {
    const run = await asked(store, { notStarter: true });
    await assertNotApproved(run, BOB, /it is not recorded who that was/);
    await store.deny("run-1~1", "Nobody knows who asked.", BOB);
  }),

  check("one person is enough to deny, also after another has approved", async ({ store }) => {
    const run = await asked(store, { people: 2 });
    await store.approve("run-1~1", ANN);
    await store.deny("run-1~1", "Not today.", BOB);
    const [wait] = await run.waits();
    assert.deepEqual(
      [wait?.status, wait?.answeredBy, wait?.answer],
      ["answered", "bob", { approved: false, why: "Not today." }],
    );
  }),

  check("an authentication must name the person and its source", async ({ store }) => {
    const run = await asked(store, {});
    for (const authenticated of [{ name: "", by: "os" }, { name: "ann" }, { name: "ann", by: "os", id: 7 }])
      await assertNotApproved(run, { authenticated } as unknown as Person, /give a name/);
  }),
];
