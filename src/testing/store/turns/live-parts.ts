import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { LivePart } from "../../../core/turn/live-part.ts";
import type { LiveAttempt, LiveParts, LiveRow, Store } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { SampleRun } from "../sample-run.ts";

const ATTEMPT: LiveAttempt = { runId: "run-1", step: "draft", turn: 1, attempt: 1, epoch: 1 };

const text = (delta: string, part = 0): LivePart => ({ part, kind: "text", delta });

/** The live parts of a store that has them; null for one that has not, which passes. */
function liveOf({ live }: Store): LiveParts | null {
  return live ?? null;
}

function begin(live: LiveParts, over: Partial<LiveAttempt> = {}) {
  return live.begin({ ...ATTEMPT, ...over }, () => undefined);
}

/** The rows of a run, once there are as many as expected: they are written a little later. */
async function rowsOf(
  live: LiveParts,
  isThere: (rows: readonly LiveRow[]) => boolean,
  runId = "run-1",
): Promise<readonly LiveRow[]> {
  for (let looks = 0; ; looks++) {
    const rows = await live.read([{ runId, after: 0 }]);
    if (isThere(rows) || looks === 500) return rows;
    await sleep(10);
  }
}

const said = (rows: readonly LiveRow[]) =>
  rows.flatMap(({ parts }) => parts.map(({ delta }) => delta)).join("");

export const livePartChecks: readonly Check[] = [
  check("the pieces of an answer can be read while it is written, in order", async ({ store }) => {
    const live = liveOf(store);
    if (live === null) return;
    const sink = begin(live);
    const odd = "größe 🙂 \u0000 \u0001 end";
    for (const delta of ["Hel", "lo ", odd]) sink.part(text(delta));
    sink.part({ part: 1, kind: "tool_input", tool: "search", toolCallId: "c-1", delta: "{}", end: true });
    const rows = await rowsOf(live, (all) => said(all).endsWith("{}"));
    assert.equal(said(rows), `Hello ${odd}{}`);
    assert.deepEqual(rows.at(-1)?.parts.at(-1), {
      part: 1,
      kind: "tool_input",
      tool: "search",
      toolCallId: "c-1",
      delta: "{}",
      end: true,
    });
    const { no, index, parts, ...attempt } = rows[0] ?? assert.fail("there is a row");
    assert.ok(no > 0 && index === 0 && parts.length > 0);
    assert.deepEqual(attempt, ATTEMPT);
    assert.deepEqual(await live.read([{ runId: "run-1", after: rows.at(-1)?.no ?? 0 }]), []);
    assert.deepEqual(await live.read([{ runId: "run-2", after: 0 }]), []);
  }),

  check("the next attempt of a run takes the place of the last one", async ({ store }) => {
    const live = liveOf(store);
    if (live === null) return;
    begin(live).part(text("half an ans"));
    const first = await rowsOf(live, (rows) => rows.length === 1);
    begin(live, { attempt: 2 }).part(text("a whole one"));
    begin(live, { runId: "run-2" }).part(text("another run"));
    const rows = await rowsOf(live, ([row]) => row?.attempt === 2);
    assert.deepEqual([rows.length, said(rows)], [1, "a whole one"]);
    assert.ok((rows[0]?.no ?? 0) > (first[0]?.no ?? 0), "numbers rise");
    assert.equal(said(await rowsOf(live, (all) => all.length > 0, "run-2")), "another run");
  }),

  checkSeveral("a worker that has lost the run removes nothing of its successor", async (scene) => {
    const [ours, theirs] = [liveOf(scene.store), liveOf(await scene.openAnother())];
    if (ours === null || theirs === null) return;
    begin(theirs, { epoch: 2 }).part(text("the new owner"));
    await rowsOf(ours, (rows) => rows.length === 1);
    begin(ours, { epoch: 1 }).part(text("the old one"));
    const rows = await rowsOf(theirs, (all) => all.length === 2);
    assert.deepEqual(
      rows.map((row) => [row.epoch, said([row])]),
      [
        [2, "the new owner"],
        [1, "the old one"],
      ],
    );
  }),

  check("an answer that is over writes nothing more", async ({ store }) => {
    const live = liveOf(store);
    if (live === null) return;
    const sink = begin(live);
    sink.part(text("one"));
    await rowsOf(live, (rows) => rows.length === 1);
    sink.part(text("two"));
    sink.end();
    sink.part(text("three"));
    begin(live, { runId: "run-2" }).part(text("later"));
    await rowsOf(live, (rows) => rows.length === 1, "run-2");
    assert.equal(said(await live.read([{ runId: "run-1", after: 0 }])), "one");
  }),

  check("live parts are no part of a run: its log and its rows stay as they are", async ({ store }) => {
    const live = liveOf(store);
    const run = await SampleRun.create(store);
    const events = await store.listEvents(run.runId);
    if (live === null) return;
    begin(live).part(text("hearsay"));
    await rowsOf(live, (rows) => rows.length === 1);
    assert.deepEqual(await store.listEvents(run.runId), events);
    assert.deepEqual((await store.verify(run.runId)).problems, []);
  }),

  checkSeveral("the last event of many runs is read at once, also after others wrote", async (scene) => {
    const { store } = scene;
    const run = await SampleRun.create(store);
    await SampleRun.create(store, "run-2");
    const events = (await store.listEvents("run-1")).length;
    assert.deepEqual(await store.readProgress([]), new Map());
    const asked = ["run-1", "nobody", "run-2"];
    const known = await store.readProgress(asked);
    assert.deepEqual([known.get("run-1"), known.has("nobody")], [events, false]);
    const other = await scene.openAnother();
    const seen = other.commitsSeen();
    await store.pinShape(run.fence, { other: true });
    assert.equal((await other.readProgress(asked)).get("run-1"), events + 1);
    assert.ok(seen === null || other.commitsSeen() !== seen, "another store sees that there is a commit");
  }),

  checkSeveral("a run that somebody watches is known in every process", async ({ store, openAnother }) => {
    const other = await openAnother();
    const [live, ofOther] = [liveOf(store), liveOf(other)];
    if (live === null || ofOther === null) return;
    assert.equal(await live.isWatched("run-1"), false);
    ofOther.announce("run-1");
    for (let looks = 0; looks < 500 && !(await live.isWatched("run-1")); looks++) await sleep(10);
    assert.equal(await live.isWatched("run-1"), true);
    assert.equal(await live.isWatched("run-2"), false);
  }),
];
