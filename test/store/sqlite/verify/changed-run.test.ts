// Before anything acts on a run, its open part is verified.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { chainHash } from "../../../../src/core/event-chain.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { digestOf } from "../../../../src/store/sql/digest.ts";
import { openProblems } from "../../../../src/store/sql/verify/verify-open.ts";
import type { Store } from "../../../../src/store/store.ts";
import { claimOptions, newReceipt, SampleRun } from "../../../../src/testing/store/sample-run.ts";
import { tempFolder } from "../temp-folder.ts";
import { runScript } from "./run-script.ts";
import { editor, TamperedStore, writeRuns } from "./tampered-store.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-changed-"));
const template = join(folder, "template.db");
beforeAll(() => writeRuns(template));
afterAll(() => rmSync(folder, { recursive: true }));

const OPEN = "run_key = (SELECT run_key FROM runs WHERE run_id = 'open')";
const APPROVED = `status = 'answered', answered_at = 1, answered_by = 'Ann', answer = '{"approved":true}'`;

const CHANGES: readonly (readonly [what: string, row: string, ...sql: string[]])[] = [
  ["a forged answer", "wait open~2", `UPDATE waits SET ${APPROVED} WHERE ${OPEN} AND wait_index = 2`],
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
    "wait open~1",
    `UPDATE waits SET status = 'withdrawn' WHERE ${OPEN} AND wait_index = 1`,
  ],
  [
    "a forged question",
    "question open~3",
    `INSERT INTO waits SELECT run_key, 3, kind, NULL, 0, question, subject, NULL, 1, NULL, NULL, NULL, NULL, NULL,
           NULL, NULL, NULL, status, NULL, NULL, NULL
       FROM waits WHERE ${OPEN} AND wait_index = 1`,
  ],
  [
    "a mark that was removed from an old event",
    "event 1",
    `UPDATE events SET of_run = 0 WHERE ${OPEN} AND seq = 1`,
  ],
  [
    "the tool of a call",
    "call open/draft#1.1",
    `UPDATE tool_calls SET tool_name = 'pay' WHERE ${OPEN} AND call_index = 1`,
  ],
  [
    "the state of a call",
    "state of call open/draft#1.1",
    `UPDATE tool_calls SET status = 'prepared' WHERE ${OPEN} AND call_index = 1`,
  ],
  [
    "the attempt number of a call",
    "state of call open/draft#1.1",
    `UPDATE tool_calls SET attempt = 0 WHERE ${OPEN} AND call_index = 1`,
  ],
  [
    "a forged receipt",
    "receipt open/draft#1.1",
    `INSERT INTO receipts SELECT run_key, call_no, 'succeeded', 1, 1, NULL, 0, 'tool', NULL, NULL, NULL, NULL, '{"type":"text","value":"x"}', NULL
       FROM tool_calls WHERE ${OPEN} AND call_index = 1`,
  ],
  ["a removed attempt", "attempt 1 of open/draft#1.1", `DELETE FROM tool_call_attempts WHERE ${OPEN}`],
  [
    "a response",
    "turn open/draft#1",
    `UPDATE turns SET response = replace(response, 'Turn', 'Tern') WHERE ${OPEN}`,
  ],
  ["a removed response", "turn open/draft#1", `DELETE FROM turns WHERE ${OPEN}`],
  ["the charge of a turn", "turn open/draft#1", `UPDATE turns SET charged_tokens = 0 WHERE ${OPEN}`],
  ["the state of a step", "turns of step draft", `UPDATE granular_states SET is_complete = 1 WHERE ${OPEN}`],
  [
    "the fingerprint of a step",
    "turns of step draft",
    `UPDATE granular_states SET fingerprint = zeroblob(32) WHERE ${OPEN}`,
  ],
  ["the state of the run", "run", `UPDATE runs SET status = 'queued' WHERE ${OPEN}`],
  ["a removed call", "tool_calls 1", `DELETE FROM tool_calls WHERE ${OPEN} AND call_no = 1`],
  ["the counters of the run", "counters of the run", `UPDATE runs SET waits = 9 WHERE ${OPEN}`],
  ["the number of the event that covers the run", "run", `UPDATE runs SET row_seq = 1 WHERE ${OPEN}`],
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
    "the mark of an event",
    "event ",
    `UPDATE events SET of_run = 1 - of_run WHERE ${OPEN} AND seq = (SELECT max(seq) FROM events WHERE ${OPEN})`,
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
        // Before anything else the row of the run itself is compared, as for every intent.
        const message = await claim(store).then(String, String);
        const isNamed = (each: string) => message.includes(each) || /^event |^run$| of the run$/.test(each);
        expect(rows.some(isNamed)).toBe(true);
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
      "mail~1": null,
      "mail~3": null,
      "mail~4": null,
      "open~1": expect.stringContaining("question open~2 is not what was written"),
      "open~2": expect.stringContaining("question open~2 is not what was written"),
      "other~1": null,
    });
    await store.approve("other~1");
    await expect(store.approve("open~2")).rejects.toMatchObject({ details: { reason: "changed_rows" } });
  });

  it("is not forked", async () => {
    const tampered = new TamperedStore(template);
    tampered.change("UPDATE turns SET tokens = tokens + 1 WHERE run_key = 1 AND turn_index = 1");
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
  /** Whether the open part is intact, and the number of events that the check has read. */
  function checked(file: string): { readonly problems: readonly unknown[]; readonly events: number } {
    const database = editor(file);
    onTestFinished(() => database.close());
    let events = 0;
    const count = (text: string, rows: readonly unknown[]) => {
      if (/FROM events/.test(text)) events += rows.length;
    };
    const key = Number(database.prepare("SELECT run_key FROM runs").get()?.run_key);
    return { problems: runScript(database, openProblems({ key, runId: "r" }), count), events };
  }

  it("finds the events of the run as a whole by their index", async () => {
    const tampered = new TamperedStore(template);
    const plans = tampered.withDatabase((database) => {
      const key = Number(database.prepare(`SELECT run_key FROM runs WHERE ${OPEN}`).get()?.run_key);
      const texts = new Set<string>();
      runScript(database, openProblems({ key, runId: "open" }), (text) => texts.add(text));
      return [...texts]
        .filter((text) => text.includes("of_run = 1") && !text.includes("count(*)"))
        .map((text) =>
          database
            .prepare(`EXPLAIN QUERY PLAN ${text}`)
            .all()
            .map(({ detail }) => String(detail)),
        );
    });
    expect(plans).toHaveLength(1);
    expect(plans[0]).toContainEqual(
      expect.stringMatching(/COVERING INDEX events_of_runs \(run_key=\? AND seq<\?\)/),
    );
  });

  it("reads no more of a long run than of a short one", async () => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    const run = await SampleRun.create(store, "r");
    for (let turn = 1; turn <= 100; turn++) await run.committedWithCall(turn);
    await run.journaled(101, ["running"]);
    await run.receipt(101, 1, newReceipt(1));
    expect(await store.listEvents("r")).toSatisfy((events: unknown[]) => events.length > 200);
    await store.close();
    const { problems, events } = checked(file);
    expect(problems).toEqual([]);
    expect(events).toBeGreaterThan(1);
    expect(events).toBeLessThan(50);
  });

  it.for([
    ["removed", "DELETE FROM tool_calls WHERE call_no = 2", "tool_calls 2"],
    ["removed, as the first of its step", "DELETE FROM tool_calls WHERE call_no = 1", "tool_calls 1"],
    ["moved to a turn", "UPDATE tool_calls SET turn_index = 1 WHERE call_no = 2", "call r/code#1.2"],
    ["moved to another step", "UPDATE tool_calls SET step_no = 1 WHERE call_no = 2", "call r/draft#0.2"],
  ] as const)("detects a call of code that was %s", async ([, sql, row]) => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    const run = await SampleRun.create(store, "r");
    const code = await run.at("code", { kind: "run" });
    for (const n of [1, 2, 3]) await store.openToolCall(code.fence, code.codeCall(n));
    await store.close();
    expect(checked(file).problems).toEqual([]);
    const database = editor(file);
    database.exec(sql);
    database.close();
    expect(checked(file).problems).toMatchObject([{ row }]);
  });

  it.for([
    ["without its hash", false],
    ["with its hash", true],
  ] as const)("detects an old event that was made to match a changed row, %s", async ([, isHashed]) => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    const run = await SampleRun.create(store, "r");
    for (let turn = 1; turn <= 30; turn++) await run.committed(turn);
    await store.close();
    const database = editor(file);
    const document = '{"forged":true}';
    database.prepare("UPDATE fingerprints SET document = ?").run(document);
    const event = database.prepare("SELECT * FROM events WHERE type = 'turn.opened' ORDER BY seq").get();
    const before = database.prepare("SELECT hash FROM events WHERE seq = ? - 1").get(Number(event?.seq));
    const facts = JSON.parse(String(event?.data)) as { rows: [string, string][] };
    const name = "fingerprints 1.0:document";
    const rows = facts.rows.map(([row, digest]) => [row, row === name ? digestOf([document]) : digest]);
    expect(rows).not.toEqual(facts.rows);
    const [seq, data] = [Number(event?.seq), JSON.stringify({ ...facts, rows })];
    database.prepare("UPDATE events SET data = ? WHERE seq = ?").run(data, seq);
    const at = Number(event?.created_at);
    const hash = chainHash(before?.hash as Uint8Array, seq, at, "turn.opened", data);
    if (isHashed) database.prepare("UPDATE events SET hash = ? WHERE seq = ?").run(hash, seq);
    database.close();
    expect(checked(file).problems[0]).toMatchObject({ row: `event ${seq}` });
  });

  it("finds the beginning of a step whose turns were committed long ago", async () => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    const run = await SampleRun.create(store, "r");
    for (let turn = 1; turn <= 30; turn++) await run.committed(turn);
    await store.close();
    const change = (sql: string) => {
      const database = editor(file);
      database.exec(sql);
      database.close();
    };
    change("UPDATE granular_states SET fingerprint = zeroblob(32)");
    expect(checked(file).problems).toMatchObject([{ row: "turns of step draft" }]);
    change("DELETE FROM granular_states");
    expect(checked(file).problems).toMatchObject([
      { row: "turns of step draft", what: "is missing, but an event covers it" },
    ]);
  });
});
