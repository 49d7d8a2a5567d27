import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blobReferenceOf } from "../../../../src/core/blob-reference.ts";
import { EVIDENCE, LARGE } from "../../../../src/testing/store/store-scenarios.ts";
import { RUNS, TamperedStore, writeRuns } from "./tampered-store.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-verify-"));
const template = join(folder, "template.db");
beforeAll(() => writeRuns(template));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs are numbered in the order in which they were created, and steps and calls inside their run. */
const LEDGER = "run_key = 1";

function tampered(
  sql: string,
  ...values: Parameters<TamperedStore["change"]> extends [string, ...infer V] ? V : never
) {
  return new TamperedStore(template).change(sql, ...values);
}

const LARGE_BLOB = `blob ${blobReferenceOf(LARGE).blobId}`;
const EVIDENCE_BLOB = `blob ${blobReferenceOf(EVIDENCE).blobId}`;

/** A different first byte, whatever it was. */
function otherBytes(column: string): string {
  return `CAST(iif(substr(${column}, 1, 1) = X'01', X'02', X'01') || substr(${column}, 2) AS BLOB)`;
}

describe("a file that was not tampered with", () => {
  it.for(RUNS)("verifies without problems: %s", async (runId) => {
    const { problems, events } = await new TamperedStore(template).verify(runId);
    expect(problems).toEqual([]);
    expect(events).toBeGreaterThan(runId === "later" ? 0 : 4);
  });

  it("returns the number of verified rows", async () => {
    expect(await new TamperedStore(template).verify()).toMatchObject({
      runId: "ledger",
      events: 33,
      receipts: 7,
      blobs: 2,
    });
  });
});

describe("a changed row is named, and nothing else is", () => {
  const receipt = (call: number, change: string) =>
    `UPDATE receipts SET ${change} WHERE ${LEDGER} AND call_no = ${call}`;
  const call = (no: number, change: string) =>
    `UPDATE tool_calls SET ${change} WHERE ${LEDGER} AND call_no = ${no}`;
  const bump = (column: string) => `${column} = ${otherBytes(column)}`;
  const cases: readonly (readonly [what: string, sql: string, row: string])[] = [
    ["a receipt's output", receipt(1, "output = replace(output, '1', '2')"), "receipt ledger/draft#1.1"],
    ["a receipt's status", receipt(1, "status = 'failed'"), "receipt ledger/draft#1.1"],
    ["a receipt's time", receipt(2, "created_at = created_at + 1"), "receipt ledger/draft#1.2"],
    ["a receipt's tokens", receipt(2, "tokens = tokens + 1"), "receipt ledger/draft#1.2"],
    ["a receipt's error code", receipt(3, "error_code = 'resets'"), "receipt ledger/draft#1.3"],
    ["an error code where there was none", receipt(1, "error_code = ''"), "receipt ledger/draft#1.1"],
    ["a removed error code", receipt(3, "error_code = NULL"), "receipt ledger/draft#1.3"],
    ["whether a receipt is uncertain", receipt(3, "uncertain = 0"), "receipt ledger/draft#1.3"],
    ["the source of a receipt", receipt(1, "source = 'tool'"), "receipt ledger/draft#1.1"],
    ["a receipt's correlation", receipt(1, "external_correlation_id = 'm-2'"), "receipt ledger/draft#1.1"],
    [
      "the original of a duplicate",
      receipt(4, "duplicate_of = 'ledger/draft#1.3'"),
      "receipt ledger/draft#1.4",
    ],
    ["the size of a receipt's blob", receipt(2, "blob_size = blob_size + 1"), "receipt ledger/draft#1.2"],
    ["the existence of a receipt's blob", receipt(2, "blob_hash = NULL"), "receipt ledger/draft#1.2"],
    ["the receipt of a denied call", receipt(5, "error_code = 'deniez'"), "receipt ledger/draft#1.5"],
    ["the receipt of a code step's call", receipt(6, "tokens = 8"), "receipt ledger/code#0.1"],
    ["the receipt of a person's answer", receipt(7, "source = 'tool'"), "receipt ledger/code#0.2"],

    ["an event's type", "UPDATE events SET type = 'call.Receipt' WHERE run_key = 1 AND seq = 5", "event 5"],
    ["an event's time", "UPDATE events SET created_at = 1 WHERE run_key = 1 AND seq = 8", "event 8"],
    [
      "an event's data",
      "UPDATE events SET data = replace(data, 'tool', 'toll') WHERE run_key = 1 AND seq = 5",
      "event 5",
    ],
    [
      "an event's data, to invalid JSON",
      "UPDATE events SET data = data || '}' WHERE run_key = 1 AND seq = 8",
      "event 8",
    ],
    ["the first event", "UPDATE events SET created_at = 1 WHERE run_key = 1 AND seq = 1", "event 1"],
    ["the last event", "UPDATE events SET created_at = 1 WHERE run_key = 1 AND seq = 33", "event 33"],
    ["the head of the log", `UPDATE runs SET ${bump("event_hash")} WHERE run_key = 1`, "event 33"],

    [
      "a response",
      "UPDATE turns SET response = replace(response, 'Turn 1.', 'Turn 7.') WHERE run_key = 1 AND step_no = 1 AND turn_index = 1",
      "turn ledger/draft#1",
    ],
    [
      "the follow-up of a response",
      "UPDATE turns SET follow_up = 'Go off.' WHERE follow_up = 'Go on.'",
      "follow-up ledger/draft#1",
    ],
    ["a call's tool", call(1, "tool_name = 'Search'"), "call ledger/draft#1.1"],
    [
      "a letter that moved from a call's namespace to its tool",
      call(1, "tool_namespace = 'loca', tool_name = 'lsearch'"),
      "call ledger/draft#1.1",
    ],
    ["a call's namespace", call(2, "tool_namespace = 'locale'"), "call ledger/draft#1.2"],
    ["the side effect class of a call", call(3, "side_effect_class = 'read_only'"), "call ledger/draft#1.3"],
    ["the recovery class of a call", call(4, "recovery = 'repeat'"), "call ledger/draft#1.4"],
    ["a call's identity", call(5, bump("identity_hash")), "call ledger/draft#1.5"],
    ["a call's occurrence", call(5, "occurrence = 2"), "call ledger/draft#1.5"],
    ["a call's key", call(6, bump("idempotency_key")), "call ledger/code#0.1"],
    [
      "the arguments of a code step's call",
      call(7, "request = replace(request, '2', '3')"),
      "call ledger/code#0.2",
    ],
    ["the existence of a code step's arguments", call(7, "request = NULL"), "call ledger/code#0.2"],
    [
      "the outcome of an attempt",
      "UPDATE tool_call_attempts SET outcome = 'not_applied' WHERE run_key = 1 AND call_no = 7",
      "attempt 1 of ledger/code#0.2",
    ],

    [
      "a step's output",
      "UPDATE run_steps SET output = replace(output, 'naïve', 'naive') WHERE run_key = 1 AND step_no = 1",
      "step draft",
    ],
    [
      "a step's context",
      "UPDATE run_steps SET context = '{\"a\":2}' WHERE run_key = 1 AND step_no = 1",
      "step draft",
    ],
    [
      "a context that a step left unchanged",
      "UPDATE run_steps SET context = '{}' WHERE run_key = 1 AND step_no = 2",
      "step code",
    ],
    [
      "the run's input",
      "UPDATE run_inputs SET input = replace(input, 'rat', 'cat') WHERE run_key = 1",
      "run input",
    ],
    ["the run's output", "UPDATE runs SET output = '\"Done\"' WHERE run_key = 1", "run"],
    ["the run's context", "UPDATE runs SET context = '{\"draft\":false}' WHERE run_key = 1", "run"],
    [
      "an approval",
      `UPDATE waits SET answer = '{"approved":false,"why":"No."}' WHERE run_key = 1 AND wait_index = 1`,
      "wait ledger~1",
    ],
    [
      "a denial",
      `UPDATE waits SET answer = '{"approved":true}' WHERE run_key = 1 AND wait_index = 3`,
      "wait ledger~3",
    ],
    [
      "an answer",
      "UPDATE waits SET answer = replace(answer, 'grün', 'grau') WHERE run_key = 1 AND wait_index = 4",
      "wait ledger~4",
    ],
    [
      "a settlement",
      `UPDATE waits SET answer = '{"as":"retry","why":"x"}' WHERE run_key = 1 AND wait_index = 2`,
      "wait ledger~2",
    ],
    [
      "the charge of a turn",
      "UPDATE turns SET charged_tokens = 0 WHERE run_key = 1 AND turn_index = 1",
      "turn ledger/draft#1",
    ],
    [
      "the success of a step",
      "UPDATE run_steps SET status = 'failed' WHERE run_key = 1 AND step_no = 2",
      "state of step code",
    ],
    ["the state of a call", call(2, "status = 'prepared'"), "state of call ledger/draft#1.2"],
    [
      "a late outcome",
      "UPDATE tool_call_attempts SET late_status = 'failed' WHERE run_key = 1 AND call_no = 3 AND attempt = 2",
      "late outcome of attempt 2 of ledger/draft#1.3",
    ],
    ["the run's charges", "UPDATE runs SET charged_tokens = 0 WHERE run_key = 1", "charges of the run"],
    [
      "the numbers of its calls",
      "UPDATE runs SET calls = calls - 1 WHERE run_key = 1",
      "counters of the run",
    ],
    ["the event that covers the run", "UPDATE runs SET row_seq = row_seq - 1 WHERE run_key = 1", "run"],
    [
      "the mark of an event",
      "UPDATE events SET of_run = 1 - of_run WHERE run_key = 1 AND seq = 5",
      "event 5",
    ],
    [
      "a blob",
      "UPDATE blobs SET bytes = CAST(X'4D' || substr(bytes, 2) AS BLOB) WHERE size = 30000",
      LARGE_BLOB,
    ],
    ["a blob's end", "UPDATE blobs SET bytes = substr(bytes, 2) WHERE size = 30000", LARGE_BLOB],
    [
      "the blob of a late receipt",
      "UPDATE blobs SET bytes = CAST(X'4D' || substr(bytes, 2) AS BLOB) WHERE size = 20000",
      EVIDENCE_BLOB,
    ],
  ];

  it.for(cases)("%s", async ([, sql, row]) => {
    const store = tampered(sql);
    expect(await store.named()).toEqual([row]);
    for (const runId of RUNS.slice(1)) expect(await store.named(runId)).toEqual([]);
  });

  it("a digest in an event: the event, and the row that it is the digest of", async () => {
    const change = `UPDATE events SET data = json_set(data, '$.rows[0][1]', 'other') WHERE run_key = 1 AND seq = 5`;
    expect(await tampered(change).named()).toEqual(["event 5", "receipt ledger/draft#1.2"]);
  });

  it("the blob that a receipt refers to: the receipt, and the missing blob", async () => {
    const change = `UPDATE receipts SET blob_hash = ${otherBytes("blob_hash")} WHERE ${LEDGER} AND call_no = 2`;
    const [first, second, ...more] = await tampered(change).named();
    expect([first, more]).toEqual(["receipt ledger/draft#1.2", []]);
    expect(second).toMatch(/^blob 01/);
  });

  it("the position of a call", async () => {
    const moved = tampered(`UPDATE tool_calls SET call_index = 9 WHERE ${LEDGER} AND call_no = 7`);
    expect(await moved.named()).toEqual(["call ledger/code#0.9"]);
  });

  it("the number of a call: it is missing there, and was not written here", async () => {
    const moved = tampered(`UPDATE tool_calls SET call_no = 9 WHERE ${LEDGER} AND call_no = 7`);
    expect((await moved.verify()).problems).toEqual([
      { row: "tool_calls 7", what: "is missing, but an event covers it" },
      { row: "call ledger/code#0.2", what: "was not written by Pawl: no event covers it" },
      { row: "state of call ledger/code#0.2", what: "was not written by Pawl: no event covers it" },
    ]);
  });

  it("the problem text", async () => {
    const { problems } = await tampered(
      "UPDATE receipts SET status = 'failed' WHERE run_key = 1 AND call_no = 1",
    ).verify();
    expect(problems).toEqual([
      {
        row: "receipt ledger/draft#1.1",
        what: "is not what was written: its digest differs from the one in its event",
      },
    ]);
  });
});

describe("a missing row is named", () => {
  it.for([
    ["a receipt", "DELETE FROM receipts WHERE run_key = 1 AND call_no = 3", ["receipt ledger/draft#1.3"]],
    [
      "the receipt of code",
      "DELETE FROM receipts WHERE run_key = 1 AND call_no = 6",
      ["receipt ledger/code#0.1"],
    ],
    // Without its row, its step and position are not known any more.
    ["a call of code", "DELETE FROM tool_calls WHERE run_key = 1 AND call_no = 7", ["tool_calls 7"]],
    [
      "an attempt",
      "DELETE FROM tool_call_attempts WHERE run_key = 1 AND call_no = 7",
      ["attempt 1 of ledger/code#0.2"],
    ],
    ["a call of a turn", "DELETE FROM tool_calls WHERE run_key = 1 AND call_no = 4", ["tool_calls 4"]],
    [
      "a turn",
      "DELETE FROM turns WHERE run_key = 1 AND step_no = 1 AND turn_index = 2",
      ["turn ledger/draft#2"],
    ],
    ["a step", "DELETE FROM run_steps WHERE run_key = 1 AND step_no = 2", ["run_steps 2"]],
    [
      "the follow-up of a turn",
      "UPDATE turns SET follow_up = NULL WHERE follow_up = 'Go on.'",
      ["follow-up ledger/draft#1"],
    ],
    [
      "an answered wait",
      "DELETE FROM waits WHERE run_key = 1 AND wait_index = 3",
      ["question ledger~3", "wait ledger~3"],
    ],
    ["the input", "DELETE FROM run_inputs WHERE run_key = 1", ["run input", "run shape"]],
    ["the output", "UPDATE runs SET output = NULL WHERE run_key = 1", ["run"]],
    ["a blob", "DELETE FROM blobs WHERE size = 30000", [LARGE_BLOB]],
  ] as const)("%s", async ([, sql, rows]) => {
    const store = tampered(sql);
    expect(await store.named()).toEqual(rows);
    for (const runId of RUNS.slice(1)) expect(await store.named(runId)).toEqual([]);
  });
});

describe("an added row is named", () => {
  const receipt = `INSERT INTO receipts SELECT %, 'succeeded', 1, 1, NULL, 0, 'tool', NULL, NULL, NULL, NULL,
                   '{"type":"json","value":1}', NULL`;

  it("a receipt of a call in doubt", async () => {
    const call = "(SELECT run_key FROM runs WHERE run_id = 'open'), 1";
    const store = tampered(receipt.replace("%", call));
    expect(await store.named("open")).toEqual(["receipt open/draft#1.1"]);
    expect(await store.named()).toEqual([]);
    expect((await store.verify("open")).problems[0]?.what).toBe(
      "was not written by Pawl: no event covers it",
    );
  });

  it("a forged approval", async () => {
    const store = tampered(
      `UPDATE waits SET status = 'answered', answered_by = 'Ann', answered_at = 1, answer = '{"approved":true}'
        WHERE kind = 'approval' AND status = 'open'`,
    );
    expect(await store.named("open")).toEqual(["wait open~2"]);
  });

  it("a call of code", async () => {
    const store = tampered(
      `INSERT INTO tool_calls SELECT run_key, 8, step_no, 0, 3, 1, 'local', 'send', 'external', 'opaque', X'00', 1, X'00',
              '1', 'prepared', 0, NULL, NULL, 0 FROM run_steps WHERE ${LEDGER} AND step_path = 'code'`,
    );
    expect(await store.named()).toEqual(["call ledger/code#0.3", "state of call ledger/code#0.3"]);
  });

  it("a turn", async () => {
    const store = tampered(
      `INSERT INTO turns SELECT run_key, step_no, turn_index + 1, 1, 1, 1, 0, 0, 'none', 0, 0, 0, 0, 0, 0, 0, 0, 0,
              '{"content":[]}', NULL FROM turns WHERE ${LEDGER} AND step_no = 1 AND turn_index = 2`,
    );
    expect(await store.named()).toEqual(["turn ledger/draft#3"]);
  });

  it("an output of a run that has none", async () => {
    expect(await tampered("UPDATE runs SET output = '1' WHERE run_id = 'open'").named("open")).toEqual([
      "run",
    ]);
  });
});
