// The views for auditors say the same on both databases, and what they say is what the store says.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { canonicalJson } from "../../src/core/canonical-json.ts";
import { assertRunSpec } from "../../src/core/job/run-spec.ts";
import { isJsonObject, type Json } from "../../src/core/json.ts";
import { stepId } from "../../src/core/step-path.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { newReceipt, SampleRun, SUCCEEDED } from "../../src/testing/store/sample-run.ts";
import { milestone, sessionCommit } from "../../src/testing/store/sample-session.ts";
import { JOB_RESULT } from "../../src/testing/store/store-scenarios.ts";
import { type PostgresServer, startPostgres } from "./postgres/postgres-server.ts";
import { RUNS, writeRunsTo } from "./sqlite/verify/tampered-store.ts";

const VIEWS = {
  audit_runs: "run_id",
  audit_run_steps: "step_id",
  audit_tool_calls: "tool_call_id",
  audit_large_results: "tool_call_id",
  audit_checkpoints: "checkpoint_id",
} as const;
type ViewName = keyof typeof VIEWS;
const VIEW_NAMES = Object.keys(VIEWS) as ViewName[];

/** Texts that databases, or their JSON functions, treat in ways of their own. */
const HARD = 'naïve 🙂 \u0000 \\ \\u0000 \\\\ / \u{f8f0} \u{f8f0}0 \u2028 \u0001 "quoted" \n';
const HARD_VALUE = { [HARD]: [HARD, 1e21, -0.25, null, true, {}] };

type AuditRow = { readonly [column: string]: unknown };
const byId = (view: ViewName) => `SELECT * FROM ${view} ORDER BY ${VIEWS[view]}`;

let server: PostgresServer;
let schema: string;
const folder = mkdtempSync(join(tmpdir(), "pawl-audit-"));
const file = join(folder, "pawl.db");
const stores: Store[] = [];
/** The rows of each view on SQLite and on PostgreSQL, as the drivers read them. */
const sqlite = new Map<ViewName, readonly AuditRow[]>();
const postgres = new Map<ViewName, readonly AuditRow[]>();

beforeAll(async () => {
  server = await startPostgres();
  schema = server.newSchema();
  for (const open of [
    (now: () => number) => openStore(`file:${file}`, { now }),
    (now: () => number) => openStore(server.url, { schema, now }),
  ]) {
    let time = Date.UTC(2026, 0, 1) + 7;
    const store = await open(() => time);
    stores.push(store);
    await writeRunsTo(store, (ms) => {
      time += ms;
    });
    await writeHardRun(store);
  }
  const database = new DatabaseSync(file, { readOnly: true });
  for (const view of VIEW_NAMES) {
    sqlite.set(
      view,
      database
        .prepare(byId(view))
        .all()
        .map((row) => ({ ...row })),
    );
    postgres.set(
      view,
      (await inSchema(byId(view))).map((row) => ({ ...row })),
    );
  }
  database.close();
}, 120_000);
afterAll(async () => {
  for (const store of stores) await store.close();
  await server.sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await server.stop();
  rmSync(folder, { recursive: true });
}, 60_000);

function inSchema(sql: string) {
  return server.sql(sql.replaceAll(/\baudit_/g, `${schema}.audit_`));
}

/** A run with hard texts in everything that a view shows, and with calls of the provider between its own. */
async function writeHardRun(store: Store): Promise<void> {
  const spec = assertRunSpec({
    objective: 'naïve 🙂 \\ \\u0000 \u{f8f0}0 "quoted"',
    input: HARD_VALUE,
    artifacts: { expectedOutputs: ["größe.pdf"] },
  });
  const run = await SampleRun.create(store, "hard", { spec });
  await run.open(1);
  const part = (toolName: string, input: Json) => ({
    type: "tool-call",
    toolCallId: toolName,
    toolName,
    input,
  });
  const journal = run.journal(1, ["running", "running", "running"]);
  const content = [
    { type: "text", text: HARD },
    { ...part("own", HARD_VALUE), providerExecuted: true },
    part("first", HARD_VALUE),
    { type: "tool-result", toolCallId: "own", toolName: "own", output: { type: "json", value: 1 } },
    { ...part("second", HARD), providerExecuted: false },
  ];
  await store.journalResponse(run.fence, { ...journal, response: { ...journal.response, content } });
  const failed = {
    status: "failed",
    errorCode: "refused",
    output: { type: "error-text", value: HARD },
  } as const;
  const receipts = [
    newReceipt(1, { output: { type: "json", value: HARD_VALUE }, correlationId: "id \\u0000" }),
    newReceipt(2, failed),
    newReceipt(3, { output: { type: "text", value: HARD } }),
  ];
  const long = Array.from({ length: 3_000 }, (_, i) => `${i} 🙂\u{f8f0}`);
  const slices = { plan: { version: 1, values: [HARD_VALUE] }, "a.b-c": [], long };
  const session = sessionCommit({ checkpoint: milestone({ slices, version: 1 }, { note: HARD }) });
  await store.commitTurn(run.fence, run.commit(1, { receipts, session, next: run.opening(2) }));
  await store.commitTurn(run.fence, {
    ...run.commit(2, { journal: { ...run.journal(2), attempt: 1 } }),
    session: sessionCommit({ checkpoint: milestone({ slices: ["no slices"] }) }),
  });
  await store.keepArtifact(run.fence, { stepKey: run.stepKey, name: "größe.pdf", bytes: Buffer.from(HARD) });
  await store.releaseRun(run.fence, { ...SUCCEEDED, finalArtifact: "größe.pdf" });
}

/** The rows of a view, with their numbers as numbers: PostgreSQL's driver has them as texts. */
function rowsOf(rows: ReadonlyMap<ViewName, readonly AuditRow[]>, view: ViewName): readonly AuditRow[] {
  const isNumber = (column: string) => ["step_index", "attempt", "size"].includes(column);
  return (rows.get(view) ?? []).map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([column, value]) => [column, isNumber(column) ? Number(value) : value]),
    ),
  );
}

describe("the views for auditors", () => {
  it.each(VIEW_NAMES)("say the same on both databases: %s", (view) => {
    const rows = rowsOf(sqlite, view);
    expect(rows.length).toBeGreaterThan(0);
    expect(rowsOf(postgres, view)).toEqual(rows);
  });

  it("have the columns of the requirements, in their order", () => {
    const columns = (view: ViewName) => Object.keys(sqlite.get(view)?.[0] ?? {}).join(" ");
    expect(columns("audit_runs")).toBe(
      "run_id created_at updated_at status entrypoint run_spec_json current_step_id last_checkpoint_id final_artifact_ref",
    );
    expect(columns("audit_run_steps")).toBe(
      "step_id run_id step_index created_at updated_at status phase error_code error_detail",
    );
    expect(columns("audit_tool_calls")).toBe(
      "tool_call_id run_id step_id created_at updated_at tool_name tool_namespace side_effect_class normalized_args_hash idempotency_key status attempt request_ref response_ref external_correlation_id error_code error_detail",
    );
    expect(columns("audit_checkpoints")).toBe(
      "checkpoint_id run_id step_id created_at checkpoint_type state_snapshot_json cursor_json",
    );
  });
});

const ALL_RUNS = [...RUNS, "hard"];
const iso = (time: number) => new Date(time).toISOString();
const jsonOf = (value: unknown): unknown => (typeof value === "string" ? JSON.parse(value) : value);

/** The rows of a view that are about a run, in the order of their ids. */
function rowsAbout(view: ViewName, runId: string): readonly AuditRow[] {
  return rowsOf(sqlite, view).filter((row) => row.run_id === runId);
}

describe.each(ALL_RUNS)("of run %s, the views say what the store says", (runId) => {
  const store = () => {
    const [first] = stores;
    if (first === undefined) throw new Error("There is no store.");
    return first;
  };

  it("of the run itself", async () => {
    const run = await store().getRun(runId);
    if (run === null) throw new Error("There is no such run.");
    const last = (await store().listCheckpoints(runId)).filter(({ isSuperseded }) => !isSuperseded).at(-1);
    const [row] = rowsAbout("audit_runs", runId);
    expect({
      ...row,
      run_spec_json: jsonOf(row?.run_spec_json),
      final_artifact_ref: jsonOf(row?.final_artifact_ref),
    }).toEqual({
      run_id: runId,
      created_at: iso(run.createdAt),
      updated_at: iso(run.updatedAt),
      status: run.status,
      entrypoint: run.entrypoint,
      run_spec_json: run.spec,
      current_step_id: run.currentStep === null ? null : stepId(runId, run.currentStep),
      last_checkpoint_id: last === undefined ? null : `${runId}~${last.checkpoint}`,
      final_artifact_ref: run.finalArtifact,
    });
    expect(row?.final_artifact_ref === null).toBe(runId !== "hard");
  });

  it("of its calls: status, arguments and result", async () => {
    const calls = await store().listToolCalls(runId);
    const rows = new Map(rowsAbout("audit_tool_calls", runId).map((row) => [row.tool_call_id, row]));
    expect(rows.size).toBe(calls.length);
    for (const call of calls) {
      const row = rows.get(call.toolCallId);
      const { receipt } = call;
      expect([row?.status, row?.attempt, row?.idempotency_key]).toEqual([
        call.status,
        call.attempt,
        call.idempotencyKey,
      ]);
      expect(row?.created_at).toBe(iso(call.createdAt));
      expect(jsonOf(row?.request_ref)).toEqual(call.request);
      const response = row?.response_ref;
      if (receipt?.blob === null) expect(jsonOf(response)).toEqual(receipt.output.value);
      else if (receipt !== null)
        expect(response).toMatch(new RegExp(`^<<FL_BLOB_REF:${receipt.blob.blobId}:size=`));
      else expect(response).toBeNull();
      expect([row?.error_code ?? null, row?.error_detail ?? null]).toEqual(
        receipt?.status === "failed" ? [receipt.errorCode, response] : [receipt?.errorCode ?? null, null],
      );
    }
  });

  it("of its steps", async () => {
    const steps = await store().listSteps(runId);
    const rows = rowsAbout("audit_run_steps", runId).toSorted(
      (a, b) => Number(a.step_index) - Number(b.step_index),
    );
    expect(rows).toEqual(
      steps.map((step) => ({
        step_id: stepId(runId, step.path),
        run_id: runId,
        step_index: step.stepIndex,
        created_at: iso(step.createdAt),
        updated_at: iso(step.updatedAt),
        status: step.status,
        phase: step.phase,
        error_code: step.errorCode,
        error_detail: step.errorDetail,
      })),
    );
  });

  it("of its checkpoints: the contract, the slices and the cursor", async () => {
    const checkpoints = await store().listCheckpoints(runId);
    const rows = new Map(rowsAbout("audit_checkpoints", runId).map((row) => [row.checkpoint_id, row]));
    expect(rows.size).toBe(checkpoints.length);
    for (const { checkpoint, cursor, contract, type } of checkpoints) {
      const row = rows.get(`${runId}~${checkpoint}`);
      const slices = (await store().readCheckpoint(runId, checkpoint))?.snapshot.slices;
      expect(jsonOf(row?.state_snapshot_json)).toEqual({
        contract,
        slices: isJsonObject(slices) ? slices : {},
      });
      expect([row?.checkpoint_type, row?.cursor_json]).toEqual([type, canonicalJson(cursor)]);
    }
  });
});

it("a result that is too large to be shown with its call is in a view of its own", () => {
  const results = rowsOf(sqlite, "audit_large_results").map(({ response_json }) => response_json);
  expect(results).toContain(JOB_RESULT.toString());
  expect(results.length).toBeGreaterThan(1);
});

/** The version of a program; null if it is not installed. */
function versionOf(program: string): string | null {
  const { status, stdout } = spawnSync(program, ["--version"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
}

function output(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", maxBuffer: 50_000_000 });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout;
}

function needs(program: string, context: Pick<TestContext, "skip">): void {
  if (versionOf(program) === null) context.skip(`${program} is not installed`);
}

describe("the programs that an auditor has read the views", () => {
  it.for(VIEW_NAMES)("sqlite3: %s", (view, context) => {
    needs("sqlite3", context);
    const read = JSON.parse(output("sqlite3", "-readonly", "-json", file, byId(view))) as AuditRow[];
    expect(read).toEqual(rowsOf(sqlite, view));
  });

  it.for(VIEW_NAMES)("psql: %s", (view, context) => {
    needs("psql", context);
    const sql = `SELECT json_agg(v ORDER BY ${VIEWS[view]}) FROM ${schema}.${view} AS v`;
    const read = JSON.parse(output("psql", server.url, "-At", "-c", sql)) as AuditRow[];
    expect(read).toEqual(rowsOf(postgres, view));
  });

  it("psql, as a role that may read nothing but the views", async (context) => {
    needs("psql", context);
    const role = `${schema}_auditor`;
    await server.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'auditor'`);
    try {
      const views = VIEW_NAMES.map((view) => `${schema}.${view}`).join(", ");
      await server.sql(`GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT ON ${views} TO ${role}`);
      const url = new URL(server.url);
      [url.username, url.password] = [role, "auditor"];
      const psql = (sql: string) => spawnSync("psql", [url.href, "-At", "-c", sql], { encoding: "utf8" });
      for (const view of VIEW_NAMES) {
        const { stdout } = psql(`SELECT count(*), max(length(v::text)) FROM ${schema}.${view} AS v`);
        expect(stdout).toMatch(new RegExp(`^${rowsOf(postgres, view).length}\\|`));
      }
      for (const table of ["runs", "receipts", "blobs", "slice_contents"])
        expect(psql(`SELECT * FROM ${schema}.${table}`).stderr).toContain("permission denied");
      expect(psql(`DELETE FROM ${schema}.audit_run_steps`).stderr).toMatch(/permission denied|cannot delete/);
    } finally {
      await server.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });
});
