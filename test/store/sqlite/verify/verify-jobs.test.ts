import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SQLOutputValue } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blobReferenceOf } from "../../../../src/core/blob-reference.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { SampleRun } from "../../../../src/testing/store/sample-run.ts";
import { JOB_RESULT } from "../../../../src/testing/store/store-scenarios.ts";
import { tempFolder } from "../temp-folder.ts";
import { editor, RUNS, TamperedStore, writeRuns } from "./tampered-store.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-verify-jobs-"));
const template = join(folder, "template.db");
beforeAll(() => writeRuns(template));
afterAll(() => rmSync(folder, { recursive: true }));

type Case = readonly [what: string, sql: string, rows: readonly string[]];

const run = (runId: string) => `(SELECT run_key FROM runs WHERE run_id = '${runId}')`;
const step = (runId: string, path: string) =>
  `(SELECT step_no FROM run_steps WHERE run_key = ${run(runId)} AND step_path = '${path}')`;
const call = (runId: string, path: string, place: string) =>
  `run_key = ${run(runId)} AND call_no = (SELECT call_no FROM tool_calls WHERE run_key = ${run(runId)} AND step_no = ${step(runId, path)} AND turn_index || '.' || call_index = '${place}')`;
const turn = (runId: string, index: number) =>
  `run_key = ${run(runId)} AND step_no = ${step(runId, "write")} AND turn_index = ${index}`;
const artifact = (runId: string, name: string) => `run_key = ${run(runId)} AND artifact_name = '${name}'`;
const wait = (index: number) => `run_key = ${run("job")} AND wait_index = ${index}`;

/** The only row of a table, while a store has the file open. */
function rowOf(file: string, table: string): SQLOutputValue[] {
  const database = editor(file);
  const row = database.prepare(`SELECT * FROM ${table}`).get();
  database.close();
  return Object.values(row ?? {});
}

const blobOf = (text: string | Buffer) => `blob ${blobReferenceOf(Buffer.from(text)).blobId}`;

/** Asserts that these rows of the run are named, and none of any other run. */
async function expectNamed(store: TamperedStore, runId: string, rows: readonly string[]): Promise<void> {
  expect((await store.named(runId)).toSorted()).toEqual(rows.toSorted());
  for (const other of RUNS)
    if (other !== runId) expect([other, await store.named(other)]).toEqual([other, []]);
}

describe("a job that was not tampered with", () => {
  it("verifies without problems, and so does its fork", async () => {
    const store = new TamperedStore(template);
    expect(await store.verify("job")).toMatchObject({ events: 42, receipts: 5, blobs: 4, problems: [] });
    expect(await store.verify("job-fork")).toMatchObject({ events: 7, receipts: 4, blobs: 3, problems: [] });
  });
});

describe("a row of a job that was changed is named, and nothing else is", () => {
  const cases: readonly Case[] = [
    [
      "its objective",
      `UPDATE run_inputs SET spec = replace(spec, 'report', 'poem') WHERE run_key = ${run("job")}`,
      ["run input"],
    ],
    [
      "a budget of its contract",
      `UPDATE run_inputs SET spec = json_set(spec, '$.budgets.maxToolCalls', 3) WHERE run_key = ${run("job")}`,
      ["run input"],
    ],
    [
      "the existence of its contract",
      `UPDATE run_inputs SET spec = NULL WHERE run_key = ${run("job")}`,
      ["run input"],
    ],
    [
      "the size of an artifact",
      `UPDATE artifacts SET size = size + 1 WHERE ${artifact("job", "report.txt")}`,
      ["artifact report.txt"],
    ],
    [
      "the step of an artifact",
      `UPDATE artifacts SET step_no = NULL WHERE ${artifact("job", "pages.txt")}`,
      ["artifact pages.txt"],
    ],
    [
      "the time of an artifact",
      `UPDATE artifacts SET created_at = created_at + 1 WHERE ${artifact("job", "pages.txt")}`,
      ["artifact pages.txt"],
    ],
    [
      "an artifact, to its earlier version",
      `UPDATE artifacts SET size = 7, blob_hash = X'${blobReferenceOf(Buffer.from("Größe")).blobId}'
        WHERE ${artifact("job", "report.txt")}`,
      ["artifact report.txt"],
    ],
    [
      "the name of an artifact",
      `UPDATE artifacts SET artifact_name = 'Report.txt' WHERE ${artifact("job", "report.txt")}`,
      ["artifact report.txt", "artifact Report.txt"],
    ],
    [
      "the bytes of an artifact",
      `UPDATE blobs SET bytes = CAST('Größe 8' AS BLOB) WHERE blob_hash = X'${blobReferenceOf(Buffer.from("Größe 7")).blobId}'`,
      [blobOf("Größe 7")],
    ],
    [
      "the new value of a budget",
      `UPDATE waits SET answer = replace(answer, '9', '99') WHERE ${wait(2)}`,
      ["wait job~2"],
    ],
    [
      "the person who raised a budget",
      `UPDATE waits SET answered_by = 'Eve' WHERE ${wait(2)}`,
      ["wait job~2"],
    ],
    [
      "the answer to a question",
      `UPDATE waits SET answer = replace(answer, 'grün', 'grau') WHERE ${wait(3)}`,
      ["wait job~3"],
    ],
    [
      "the result that the call got",
      `UPDATE receipts SET output = replace(output, 'grün', 'grau') WHERE ${call("job", "write", "3.1")}`,
      ["receipt job/write#3.1"],
    ],
    [
      "the answer about a call that no longer exists",
      `UPDATE waits SET answer = '{"approved":false,"why":"No."}' WHERE ${wait(1)}`,
      ["wait job~1"],
    ],
    [
      "an approval of a call that no longer exists, to one of another",
      `UPDATE waits SET call_no = 1 WHERE ${wait(1)}`,
      ["question job~1"],
    ],
    [
      "the response that replaced another",
      `UPDATE turns SET response = replace(response, 'Turn 3.', 'Turn 4.') WHERE ${turn("job", 3)}`,
      ["turn job/write#3"],
    ],
  ];

  it.for(cases)("%s", ([, sql, rows]) => expectNamed(new TamperedStore(template).change(sql), "job", rows));

  it("the blob that an artifact refers to: the artifact, and the missing blob", async () => {
    const change = `UPDATE artifacts SET blob_hash = zeroblob(32) WHERE ${artifact("job", "report.txt")}`;
    const rows = ["artifact report.txt", `blob ${"00".repeat(32)}`];
    await expectNamed(new TamperedStore(template).change(change), "job", rows);
  });
});

describe("a missing row of a job is named", () => {
  it.for([
    ["an artifact", `DELETE FROM artifacts WHERE ${artifact("job", "pages.txt")}`, ["artifact pages.txt"]],
    ["an answer about a budget", `DELETE FROM waits WHERE ${wait(2)}`, ["question job~2", "wait job~2"]],
    [
      "an answer about a call that no longer exists",
      `DELETE FROM waits WHERE ${wait(1)}`,
      ["question job~1", "wait job~1"],
    ],
  ] satisfies Case[])("%s", ([, sql, rows]) =>
    expectNamed(new TamperedStore(template).change(sql), "job", rows),
  );

  it("the bytes of an artifact: in every run that has it", async () => {
    const store = new TamperedStore(template).change("DELETE FROM blobs WHERE size = 6");
    expect(await store.named("job")).toEqual([blobOf("Seiten")]);
    expect(await store.named("job-fork")).toEqual([blobOf("Seiten")]);
  });

  it("the event of a dropped response", async () => {
    const change = `DELETE FROM events WHERE run_key = ${run("job")} AND type = 'turn.dropped'`;
    const named = await new TamperedStore(template).change(change).named("job");
    expect([...new Set(named)]).toEqual([
      "event 25",
      "event 26",
      "tool_calls 5",
      "tool_calls 6",
      "question job~1",
      "model call job/write#3@1",
    ]);
  });
});

describe("an added row of a job is named", () => {
  it.for([
    [
      "an artifact",
      `INSERT INTO artifacts SELECT run_key, 'other.txt', step_no, 1, size, blob_hash FROM artifacts
        WHERE ${artifact("job", "pages.txt")}`,
      ["artifact other.txt"],
    ],
    [
      "an answer about a budget",
      `INSERT INTO waits SELECT run_key, 4, kind, budget, 0, question, subject, NULL, 1, NULL, NULL, NULL, NULL, NULL,
              NULL, NULL, NULL, 'answered', 1, 'Eve', answer
         FROM waits WHERE ${wait(2)}`,
      ["wait job~4", "question job~4"],
    ],
  ] satisfies Case[])("%s", ([, sql, rows]) =>
    expectNamed(new TamperedStore(template).change(sql), "job", rows),
  );

  it("a contract of a run that had none", async () => {
    const change = `UPDATE run_inputs SET spec = '{"objective":"Obey."}' WHERE run_key = ${run("run-1")}`;
    await expectNamed(new TamperedStore(template).change(change), "run-1", ["run input"]);
  });

  it("a response that was dropped, with its call", async () => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    const dropping = await SampleRun.create(store, "dropping");
    await dropping.journaled(1, ["prepared"]);
    const rows = ["tool_calls", "turns"].map((table) => [table, rowOf(file, table)] as const);
    await store.dropTurn(dropping.fence, { stepKey: dropping.stepKey, turnIndex: 1 });
    await store.close();
    const after = new TamperedStore(file);
    expect(await after.named("dropping")).toEqual([]);
    for (const [table, values] of rows)
      after.change(`INSERT INTO ${table} VALUES (${values.map(() => "?").join()})`, ...values);
    expect(await after.named("dropping")).toEqual([
      "turn dropping/draft#1",
      "call dropping/draft#1.1",
      "state of call dropping/draft#1.1",
    ]);
  });
});

describe("a changed row that a fork began with is named, and nothing in the parent", () => {
  const cases: readonly Case[] = [
    [
      "its input",
      `UPDATE run_inputs SET input = replace(input, 'rat', 'cat') WHERE run_key = ${run("job-fork")}`,
      ["run input"],
    ],
    [
      "its contract",
      `UPDATE run_inputs SET spec = replace(spec, 'report', 'poem') WHERE run_key = ${run("job-fork")}`,
      ["run input"],
    ],
    [
      "the output of an earlier step",
      `UPDATE run_steps SET output = '"Fetched"' WHERE run_key = ${run("job-fork")} AND step_no = ${step("job-fork", "fetch")}`,
      ["step fetch"],
    ],
    [
      "a response",
      `UPDATE turns SET response = replace(response, 'Turn 2.', 'Turn 7.') WHERE ${turn("job-fork", 2)}`,
      ["turn job-fork/write#2"],
    ],
    [
      "the follow-up of a response",
      `UPDATE turns SET follow_up = 'Halt.' WHERE ${turn("job-fork", 2)}`,
      ["follow-up job-fork/write#2"],
    ],
    [
      "the key of a call",
      `UPDATE tool_calls SET idempotency_key = zeroblob(32) WHERE ${call("job-fork", "write", "2.1")}`,
      ["call job-fork/write#2.1"],
    ],
    [
      "a receipt",
      `UPDATE receipts SET tokens = tokens + 1 WHERE ${call("job-fork", "write", "1.1")}`,
      ["receipt job-fork/write#1.1"],
    ],
    [
      "the original of a duplicate, to a call of the first run",
      `UPDATE receipts SET duplicate_of = 'job/write#1.1' WHERE ${call("job-fork", "write", "2.2")}`,
      ["receipt job-fork/write#2.2"],
    ],
    [
      "an attempt",
      `UPDATE tool_call_attempts SET error_code = 'other' WHERE run_key = ${run("job-fork")}`,
      ["attempt 1 of job-fork/fetch#0.1"],
    ],
    [
      "an artifact",
      `UPDATE artifacts SET size = 7 WHERE ${artifact("job-fork", "pages.txt")}`,
      ["artifact pages.txt"],
    ],
    [
      "the beginning of its lineage",
      `UPDATE lineages SET first_turn = 1 WHERE run_key = ${run("job-fork")} AND step_no = ${step("job-fork", "write")}`,
      ["lineage job-fork/write~1"],
    ],
    [
      "a value of its session",
      `UPDATE slice_items SET value = '"Read"' WHERE run_key = ${run("job-fork")}`,
      ["slice plan[0]"],
    ],
    [
      "the calls that its session has applied",
      `UPDATE applied_calls SET forgotten = 1 WHERE run_key = ${run("job-fork")}`,
      ["events of job-fork/write#2.1 in the session"],
    ],
    [
      "its first checkpoint",
      `UPDATE checkpoints SET turn_index = 1 WHERE run_key = ${run("job-fork")}`,
      ["checkpoint job-fork~1"],
    ],
  ];

  it.for(cases)("%s", ([, sql, rows]) =>
    expectNamed(new TamperedStore(template).change(sql), "job-fork", rows),
  );

  it("if it is missing", async () => {
    const receipt = `DELETE FROM receipts WHERE ${call("job-fork", "fetch", "0.1")}`;
    await expectNamed(new TamperedStore(template).change(receipt), "job-fork", [
      "receipt job-fork/fetch#0.1",
    ]);
    const blob = `DELETE FROM blobs WHERE run_key = ${run("job-fork")} AND size = ${JOB_RESULT.byteLength}`;
    await expectNamed(new TamperedStore(template).change(blob), "job-fork", [blobOf(JOB_RESULT)]);
  });

  it("if it was added later", async () => {
    const change = `INSERT INTO turns SELECT run_key, step_no, 4, 1, 1, 1, 0, 0, 'none', 0, 0, 0, 0, 0, 0, 0, 0, 0,
                           '{"content":[]}', NULL FROM turns WHERE ${turn("job-fork", 3)}`;
    await expectNamed(new TamperedStore(template).change(change), "job-fork", ["turn job-fork/write#4"]);
  });

  it("with the event that covers it, if that was changed", async () => {
    const change = `UPDATE events SET data = json_set(data, '$.rows[0][1]', 'other')
                     WHERE run_key = ${run("job-fork")} AND seq = 1`;
    await expectNamed(new TamperedStore(template).change(change), "job-fork", ["event 1", "run input"]);
  });

  it("and only the parent's, if that was changed", async () => {
    const change = `UPDATE receipts SET tokens = tokens + 1 WHERE ${call("job", "write", "1.1")}`;
    await expectNamed(new TamperedStore(template).change(change), "job", ["receipt job/write#1.1"]);
  });
});
