import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canonicalJson } from "../../../../src/core/canonical-json.ts";
import { sha256 } from "../../../../src/testing/store/sample-run.ts";
import { LARGE_SNAPSHOT } from "../../../../src/testing/store/store-scenarios.ts";
import { RUNS, TamperedStore, writeRuns } from "./tampered-store.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-verify-session-"));
const template = join(folder, "template.db");
beforeAll(() => writeRuns(template));
afterAll(() => rmSync(folder, { recursive: true }));

const RUN_KEY = "(SELECT run_key FROM runs WHERE run_id = 'session')";
const OTHERS = RUNS.filter((runId) => runId !== "session");

/** The session's items and checkpoints, for a change or a removal by hand. */
const item = (name: string, index: number) =>
  `slice_items %s WHERE run_key = ${RUN_KEY} AND slice_name = '${name}' AND item_index = ${index}`;
const checkpoint = (number: number) =>
  `checkpoints %s WHERE run_key = ${RUN_KEY} AND checkpoint_index = ${number}`;
const receipt = (call: string) =>
  `receipts %s WHERE run_key = ${RUN_KEY} AND call_no = (SELECT call_no FROM tool_calls JOIN run_steps USING (run_key, step_no)
     WHERE run_key = ${RUN_KEY} AND step_path || '#' || turn_index || '.' || call_index = '${call}')`;

const changed = (rows: string, change: string) => `UPDATE ${rows.replace("%s", `SET ${change}`)}`;
const removed = (rows: string) => `DELETE FROM ${rows.replace("%s", "")}`;

async function expectNamed(store: TamperedStore, ...rows: readonly string[]): Promise<void> {
  expect(await store.named("session")).toEqual(rows);
  for (const runId of OTHERS) expect([runId, await store.named(runId)]).toEqual([runId, []]);
}

/** The contents of the session's slices that have this text in them, for a change or a removal by hand. */
const content = (text: string) => `slice_contents %s WHERE run_key = ${RUN_KEY} AND content LIKE '%${text}%'`;
const contentName = (value: unknown) =>
  `piece of a slice ${sha256(canonicalJson(value)).toString("hex").slice(0, 12)}`;
const { notes } = LARGE_SNAPSHOT.slices;

describe("a session that was not tampered with", () => {
  it("verifies without problems, and has rows of every kind", async () => {
    const store = new TamperedStore(template);
    expect(await store.verify("session")).toMatchObject({ events: 21, receipts: 4, problems: [] });
    const count = (sql: string) => store.withDatabase((database) => database.prepare(sql).get()?.n);
    expect(count(`SELECT count(*) AS n FROM slice_items WHERE run_key = ${RUN_KEY}`)).toBe(5);
    expect(count(`SELECT count(*) AS n FROM checkpoints WHERE run_key = ${RUN_KEY}`)).toBe(4);
    // Two checkpoints have the same plan.
    expect(count(`SELECT count(*) AS n FROM slice_contents WHERE run_key = ${RUN_KEY}`)).toBe(4);
    expect(count("SELECT count(*) AS n FROM receipts WHERE session_events IS NOT NULL")).toBe(4);
  });
});

describe("a changed row of a session is named, and nothing else is", () => {
  const cases: readonly (readonly [what: string, sql: string, row: string])[] = [
    ["whether a checkpoint is superseded", changed(checkpoint(2), "superseded = 0"), "checkpoint session~2"],
    [
      "the version of a slice",
      `UPDATE slices SET version = version + 1 WHERE run_key = ${RUN_KEY} AND slice_name = 'plan'`,
      "slice plan",
    ],
    ["a value", changed(item("plan", 0), `value = '"Read"'`), "slice plan[0]"],
    ["a value that was rolled back to", changed(item("plan", 1), `value = '"written"'`), "slice plan[1]"],
    ["a value that was changed twice", changed(item("plan", 2), `value = '"send"'`), "slice plan[2]"],
    ["a value, to invalid JSON", changed(item("plan", 2), `value = '"sent'`), "slice plan[2]"],
    ["a value of a log", changed(item("log", 0), "value = replace(value, 'ï', 'i')"), "slice log[0]"],
    ["a value that the end of a step added", changed(item("log", 1), "value = '{}'"), "slice log[1]"],
    [
      "a snapshot",
      changed(checkpoint(1), "snapshot = replace(snapshot, 'plan', 'Plan')"),
      "checkpoint session~1",
    ],
    ["a snapshot's end", changed(checkpoint(1), "snapshot = substr(snapshot, 2)"), "checkpoint session~1"],
    ["a cursor", changed(checkpoint(1), "cursor = replace(cursor, '#1.2', '#1.1')"), "checkpoint session~1"],
    ["the cursor of a large checkpoint", changed(checkpoint(2), "cursor = '{}'"), "checkpoint session~2"],
    ["the turn of a checkpoint", changed(checkpoint(3), "turn_index = 3"), "checkpoint session~3"],
    ["the step of a checkpoint", changed(checkpoint(3), "step_no = step_no + 1"), "checkpoint session~3"],
    [
      "the purpose of a checkpoint",
      changed(checkpoint(4), "checkpoint_type = 'milestone'"),
      "checkpoint session~4",
    ],
    [
      "the session events of a call",
      changed(receipt("draft#1.1"), "session_events = replace(session_events, 'ï', 'i')"),
      "receipt session/draft#1.1",
    ],
    [
      "the session events of a call that was written with a commit",
      changed(receipt("draft#1.2"), "session_events = replace(session_events, 'last', 'lost')"),
      "receipt session/draft#1.2",
    ],
    [
      "the session events of a call of an abandoned turn",
      changed(receipt("draft#3.1"), "session_events = '[]'"),
      "receipt session/draft#3.1",
    ],
    [
      "the session events of a call of code",
      changed(receipt("render#0.1"), "session_events = NULL"),
      "receipt session/render#0.1",
    ],
  ];

  it.for(cases)("%s", async ([, sql, row]) => {
    await expectNamed(new TamperedStore(template).change(sql), row);
  });

  it("the base of a lineage", async () => {
    const store = new TamperedStore(template).change(
      `UPDATE lineages SET base_turn = base_turn + 1 WHERE run_key = ${RUN_KEY}`,
    );
    await expectNamed(store, "lineage session/draft~1");
  });

  it("the content of a slice, and its hash", async () => {
    for (const change of ["content = replace(content, 'Größe 7', 'Größe 8')", "content = substr(content, 2)"])
      await expectNamed(
        new TamperedStore(template).change(changed(content("Größe 7"), change)),
        contentName(notes),
      );
    const swapped = changed(content("Größe 7"), "content_hash = 'other'");
    await expectNamed(
      new TamperedStore(template).change(swapped),
      contentName(notes),
      "piece of a slice other",
    );
  });

  it("a digest in an event: the event, and the item that it is the digest of", async () => {
    const store = new TamperedStore(template);
    store.withDatabase((database) => {
      const where = `WHERE run_key = ${RUN_KEY} AND type = 'lineage.begun'`;
      const { data } = database.prepare(`SELECT data FROM events ${where}`).get() ?? {};
      const facts = JSON.parse(String(data)) as { rows: [string, string | null][] };
      const rows = facts.rows.map(([row, digest]) => [
        row,
        row === 'slice_items "plan".0' ? "other" : digest,
      ]);
      expect(rows).not.toEqual(facts.rows);
      database.prepare(`UPDATE events SET data = ? ${where}`).run(JSON.stringify({ ...facts, rows }));
    });
    await expectNamed(store, "event 13", "slice plan[0]");
  });

  it("the base of a lineage in its event", async () => {
    const change = `UPDATE events SET data = json_set(data, '$.from', 2)
                     WHERE run_key = ${RUN_KEY} AND type = 'lineage.begun'`;
    await expectNamed(new TamperedStore(template).change(change), "event 13");
  });
});

describe("a missing row of a session is named", () => {
  it.for([
    ["the first value of a slice", removed(item("plan", 0)), "slice plan[0]"],
    ["the last value of a slice", removed(item("plan", 2)), "slice plan[2]"],
    ["a checkpoint", removed(checkpoint(1)), "checkpoint session~1"],
    ["a superseded checkpoint", removed(checkpoint(2)), "checkpoint session~2"],
    ["the last checkpoint", removed(checkpoint(4)), "checkpoint session~4"],
    ["the content of a slice", removed(content("Größe 7")), contentName(notes)],
  ] as const)("%s", async ([, sql, row]) => {
    const store = new TamperedStore(template).change(sql);
    await expectNamed(store, row);
    expect((await store.verify("session")).problems[0]?.what).toBe("is missing, but an event covers it");
  });
});

describe("an added row of a session is named", () => {
  const value = (name: string, index: number) =>
    `INSERT INTO slice_items SELECT ${RUN_KEY}, '${name}', ${index}, '1'`;

  it.for([
    ["an additional value", value("plan", 3), "slice plan[3]"],
    ["a value far beyond the end", value("plan", 30), "slice plan[30]"],
    ["a value that was rolled back", value("gone", 0), "slice gone[0]"],
    ["a value of a slice that was never written", value("other", 0), "slice other[0]"],
    [
      "a checkpoint",
      `INSERT INTO checkpoints SELECT run_key, 5, step_no, turn_index, created_at, checkpoint_type, event_seq, cursor,
              size, 0, snapshot FROM checkpoints WHERE run_key = ${RUN_KEY} AND checkpoint_index = 1`,
      "checkpoint session~5",
    ],
  ] as const)("%s", async ([, sql, row]) => {
    const store = new TamperedStore(template).change(sql);
    await expectNamed(store, row);
    expect((await store.verify("session")).problems[0]?.what).toBe(
      "was not written by Pawl: no event covers it",
    );
  });

  it("session events of a receipt of another run", async () => {
    const store = new TamperedStore(template).change(
      'UPDATE receipts SET session_events = \'[{"type":"Noted"}]\' WHERE run_key = 1 AND call_no = 1',
    );
    expect(await store.named("ledger")).toEqual(["receipt ledger/draft#1.1"]);
    expect(await store.named("session")).toEqual([]);
  });
});

it("swapped values are both named", async () => {
  const store = new TamperedStore(template);
  store.withDatabase((database) => {
    const move = `UPDATE slice_items SET item_index = ? WHERE run_key = ${RUN_KEY} AND slice_name = 'plan' AND item_index = ?`;
    for (const [to, from] of [
      [9, 0],
      [0, 1],
      [1, 9],
    ] as const)
      database.prepare(move).run(to, from);
  });
  await expectNamed(store, "slice plan[0]", "slice plan[1]");
});
