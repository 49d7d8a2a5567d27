// Before anything acts on a run, its open part is verified.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../../src/store/open-store.ts";
import { Database } from "../../../../src/store/sqlite/database.ts";
import { openProblems } from "../../../../src/store/sqlite/verify/verify-open.ts";
import type { Store } from "../../../../src/store/store.ts";
import { claimOptions, newReceipt, SampleRun } from "../../../../src/testing/store/sample-run.ts";
import { tempFolder } from "../temp-folder.ts";
import { editor, TamperedStore, writeRuns } from "./tampered-store.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-changed-"));
const template = join(folder, "template.db");
beforeAll(() => writeRuns(template));
afterAll(() => rmSync(folder, { recursive: true }));

const OPEN = "run_no = (SELECT run_no FROM runs WHERE run_id = 'open')";
const OPEN_STEP = `step_no = (SELECT step_no FROM run_steps WHERE ${OPEN})`;
const APPROVED = `status = 'answered', answered_at = 1, answered_by = 'Ann', answer = '{"approved":true}'`;

const CHANGES: readonly (readonly [what: string, row: string, ...sql: string[]])[] = [
  ["a forged answer", "open~2", `UPDATE waits SET ${APPROVED} WHERE ${OPEN} AND wait_index = 2`],
  [
    "the question of a wait",
    "question open~2",
    `UPDATE waits SET question = 'Fine?' WHERE ${OPEN} AND wait_index = 2`,
  ],
  [
    "the details shown to a person",
    "question open~2",
    `UPDATE waits SET subject = '{}' WHERE ${OPEN} AND wait_index = 2`,
  ],
  [
    "the subject of an approval",
    "question open~2",
    `UPDATE waits SET arguments_hash = X'01' WHERE ${OPEN} AND wait_index = 2`,
  ],
  ["a removed open question", "question open~1", `DELETE FROM waits WHERE ${OPEN} AND wait_index = 1`],
  [
    "a withdrawn question",
    "question open~1",
    `UPDATE waits SET status = 'withdrawn' WHERE ${OPEN} AND wait_index = 1`,
  ],
  [
    "a forged question",
    "question open~3",
    `INSERT INTO waits SELECT run_no, 3, kind, NULL, 0, question, subject, NULL, status, 1, NULL, NULL, NULL FROM waits WHERE ${OPEN} AND wait_index = 1`,
  ],
  [
    "the tool of a call",
    "call open/draft#1.1",
    `UPDATE tool_calls SET tool_name = 'pay' WHERE ${OPEN_STEP} AND call_index = 1`,
  ],
  [
    "the state of a call",
    "state of call open/draft#1.1",
    `UPDATE tool_calls SET status = 'prepared' WHERE ${OPEN_STEP} AND call_index = 1`,
  ],
  [
    "the attempt number of a call",
    "state of call open/draft#1.1",
    `UPDATE tool_calls SET attempt = 0 WHERE ${OPEN_STEP} AND call_index = 1`,
  ],
  [
    "a forged receipt",
    "receipt open/draft#1.1",
    `INSERT INTO receipts SELECT call_no, 'succeeded', 1, 1, NULL, 0, 'tool', NULL, NULL, NULL, NULL, '{"type":"text","value":"x"}', NULL
       FROM tool_calls WHERE ${OPEN_STEP} AND call_index = 1`,
  ],
  ["a removed attempt", "try 1 of open/draft#1.1", `DELETE FROM tool_call_tries WHERE ${OPEN}`],
  [
    "a response",
    "turn open/draft#1",
    `UPDATE turns SET response = replace(response, 'Turn', 'Tern') WHERE ${OPEN_STEP}`,
  ],
  ["a removed response", "turn open/draft#1", `DELETE FROM turns WHERE ${OPEN_STEP}`],
  [
    "the charge of a turn",
    "charge of turn open/draft#1",
    `UPDATE turns SET charged_tokens = 0 WHERE ${OPEN_STEP}`,
  ],
  [
    "the state of a step",
    "turns of step draft",
    `UPDATE granular_states SET is_complete = 1 WHERE ${OPEN_STEP}`,
  ],
  [
    "the fingerprint of a step",
    "turns of step draft",
    `UPDATE granular_states SET fingerprint = zeroblob(32) WHERE ${OPEN_STEP}`,
  ],
  ["the state of the run", "run", `UPDATE runs SET status = 'queued' WHERE ${OPEN}`],
  ["the limits of the run", "run", `UPDATE runs SET limit_tokens = 1000000 WHERE ${OPEN}`],
  [
    "the usage of the run",
    "charges of the run",
    `UPDATE runs SET charged_tokens = 0, charged_micro_dollars = 1 WHERE ${OPEN}`,
  ],
  [
    "the last event",
    "event ",
    `UPDATE events SET data = '{}' WHERE ${OPEN} AND seq = (SELECT max(seq) FROM events WHERE ${OPEN})`,
  ],
  [
    "a removed last event",
    "event ",
    `DELETE FROM events WHERE ${OPEN} AND seq = (SELECT max(seq) FROM events WHERE ${OPEN})`,
  ],
];

const claim = (store: Store) =>
  store.claimRun("open", claimOptions({ from: ["waiting", "queued", "failed"] }));

describe("a run that was changed by another program", () => {
  it.for(CHANGES)(
    "is not claimed, its waits accept no answer, and it stays as it is: %s",
    async ([, row, ...sql]) => {
      const tampered = new TamperedStore(template);
      for (const each of sql) tampered.change(each);
      const before = tampered.withDatabase((database) =>
        database.prepare(`SELECT * FROM runs WHERE ${OPEN}`).all(),
      );
      const store = await openStore(`file:${tampered.file}`);
      try {
        const acts = [() => claim(store), () => store.settle("open/draft#1.1", { as: "retry" })];
        for (const act of acts)
          await expect(act()).rejects.toMatchObject({
            details: { reason: "changed_rows" },
            message: expect.stringMatching(
              /^Run open is not as it was written: .* Nothing was done; see `pawl verify open`/,
            ),
          });
        const rows = (await store.verify("open")).problems.map((problem) => problem.row);
        expect(rows.some((each) => each.includes(row))).toBe(true);
        const message = await claim(store).then(String, String);
        expect(rows.some((each) => message.includes(each) || each.startsWith("event "))).toBe(true);
      } finally {
        await store.close();
      }
      expect(
        tampered.withDatabase((database) => database.prepare(`SELECT * FROM runs WHERE ${OPEN}`).all()),
      ).toEqual(before);
    },
  );

  it("has its open waits listed as distrusted, and hides no others", async () => {
    const tampered = new TamperedStore(template);
    const other = await openStore(`file:${tampered.file}`);
    const asking = await SampleRun.create(other, "other");
    await asking.journaled(1, ["prepared"]);
    await asking.waiting(asking.approval(1, 1, "ab".repeat(32)));
    await other.close();
    tampered.change(`UPDATE waits SET subject = '{}' WHERE ${OPEN} AND wait_index = 2`);
    const store = await openStore(`file:${tampered.file}`);
    onTestFinished(() => store.close());
    const waits = await store.listOpenWaits();
    expect(Object.fromEntries(waits.map(({ waitId, distrusted }) => [waitId, distrusted ?? null]))).toEqual({
      "open~1": expect.stringContaining("question open~2 is not what was written"),
      "open~2": expect.stringContaining("question open~2 is not what was written"),
      "other~1": null,
    });
    await store.approve("other~1");
    await expect(store.approve("open~2")).rejects.toMatchObject({ details: { reason: "changed_rows" } });
  });

  it("is not forked", async () => {
    const tampered = new TamperedStore(template);
    tampered.change("UPDATE turns SET tokens = tokens + 1 WHERE turn_no = (SELECT min(turn_no) FROM turns)");
    const store = await openStore(`file:${tampered.file}`);
    onTestFinished(() => store.close());
    const fork = {
      runId: "copy",
      parent: "ledger",
      stepPath: "draft",
      turnIndex: 1,
      slices: [],
      checkpoint: null,
    };
    await expect(store.forkRun(fork as never)).rejects.toMatchObject({ details: { reason: "changed_rows" } });
  });

  it.for([
    ["a run whose budget was raised", "UPDATE runs SET limit_tokens = 5"],
    ["a run whose charges were lowered", "UPDATE runs SET charged_tokens = 0, reserved_tokens = 1"],
  ])("is not continued by the worker that holds it: %s", async ([, sql]) => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    onTestFinished(() => store.close());
    const run = await SampleRun.create(store, "r");
    await run.committed(1);
    const database = editor(file);
    database.exec(String(sql));
    database.close();
    await expect(store.pinShape(run.fence, { other: true })).rejects.toMatchObject({
      details: { reason: "changed_rows" },
    });
    expect((await store.verify("r")).problems.length).toBeGreaterThan(0);
  });
});

describe("the check before a run is claimed", () => {
  it("reads no more of a long run than of a short one", async () => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    const run = await SampleRun.create(store, "r");
    for (let turn = 1; turn <= 60; turn++) {
      await run.committed(turn);
      if (turn % 10 === 0) await store.renewLease(run.fence, 1_000);
    }
    await run.journaled(61, ["running"]);
    await run.receipt(61, 1, newReceipt(1));
    await store.close();
    const database = Database.open(file);
    onTestFinished(() => database.close());
    let read = 0;
    const iterate = database.iterate.bind(database);
    database.iterate = function* (text, ...values) {
      for (const row of iterate(text, ...values)) {
        read += 1;
        yield row;
      }
    };
    const runNo = database.get("SELECT run_no FROM runs")?.int("run_no") ?? 0;
    expect(openProblems(database, { runNo, runId: "r" })).toEqual([]);
    expect(read).toBeGreaterThan(1);
    expect(read).toBeLessThan(30);
  });
});
