import { expect, it } from "vitest";
import { listRunSummaries, readRunHead } from "../../../src/store/sql/queries/listed-runs.ts";
import { listEndedRuns } from "../../../src/store/sql/queries/retention-queries.ts";
import { countRuns } from "../../../src/store/sql/queries/run-counts.ts";
import type { SqlCondition } from "../../../src/store/sql/queries/sql-condition.ts";
import type { SqlScript } from "../../../src/store/sql/script.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { migrate } from "../../../src/store/sqlite/migrate.ts";
import type { RunFilter } from "../../../src/store/store.ts";

const database = Database.open(":memory:");
migrate(database, 0);
database.exec("PRAGMA foreign_keys = OFF");

/** A row for each number up to 100,000. What is not given is empty. */
function insert(table: string, given: { readonly [column: string]: string }, which = "1 = 1"): void {
  const columns = database.all(`PRAGMA table_info(${table})`).map((row) => {
    const [name, type] = [row.text("name"), row.text("type")];
    const empty = row.int("notnull") === 0 ? "NULL" : type === "TEXT" ? "''" : type === "BLOB" ? "X''" : "0";
    return given[name] ?? empty;
  });
  database.exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
    INSERT INTO ${table} SELECT ${columns.join()} FROM numbers WHERE ${which}`);
}

/** A call of the tool that failed, in some of the runs. */
function insertFailedCalls(tool: string, callNo: number, which: string): void {
  const call = { run_key: "n", call_no: `${callNo}`, idempotency_key: `CAST(${callNo} AS BLOB)` };
  const words = { side_effect_class: "'external'", recovery: "'opaque'", status: "'running'" };
  insert("tool_calls", { ...call, ...words, turn_index: "1", tool_name: `'${tool}'` }, which);
  insert("receipts", { ...call, status: "'failed'", source: "'tool'" }, which);
}

insert("runs", {
  run_key: "n",
  run_id: "'run-' || n",
  created_at: "n / 2",
  updated_at: "n",
  status: "iif(n % 50 = 0, 'failed', iif(n % 997 = 0, 'running', 'succeeded'))",
  pipeline: "'p' || (n % 7)",
  queue: "'q' || (n % 5)",
});
insert("run_labels", { run_key: "n", name: "'tenant'", value: "'t' || (n % 11)", created_at: "n / 2" });
insertFailedCalls("send", 1, "n % 2500 = 0");

/** What the script returns. `onQuery` sees each of its queries. */
function resultOf<T>(script: SqlScript<T>, onQuery: (query: SqlCondition) => void = () => {}): T {
  let step = script.next();
  while (step.done !== true) {
    onQuery(step.value);
    step = script.next(database.all(step.value.text, ...step.value.values));
  }
  return step.value;
}

/** The plan of each query of the script. */
function plansOf(script: SqlScript<unknown>): string[] {
  const plans: string[] = [];
  resultOf(script, ({ text, values }) => {
    plans.push(...database.all(`EXPLAIN QUERY PLAN ${text}`, ...values).map((row) => row.text("detail")));
  });
  return plans;
}

function idsOf(script: SqlScript<readonly { readonly runId: string }[]>): string[] {
  return resultOf(script).map(({ runId }) => runId);
}

const after = { createdAt: 40_000, runId: "run-80000" };

/** The steps of plans that read a table, or an index, without looking for anything in it; or that sort what they read. */
const WHOLE = /^SCAN (?!runs USING (?:COVERING )?INDEX)|TEMP B-TREE FOR ORDER BY/;

it.each<[string, RunFilter]>([
  ["of all runs", {}],
  ["of a status", { status: "failed" }],
  ["of interrupted runs", { status: "interrupted" }],
  ["of a pipeline", { pipeline: "p3" }],
  ["of a pipeline and a status", { pipelines: ["p3"], status: "running" }],
  ["of a queue", { queue: "q3" }],
  ["of a time", { createdSince: 20_000, createdBefore: 30_000 }],
  ["by metadata", { metadata: { tenant: "t3" } }],
])("a page %s reads an index in its order, and never all of 100,000 runs", (_, filter) => {
  for (const cursor of [{}, { after }]) {
    const plans = plansOf(listRunSummaries(30_000, { ...filter, ...cursor, limit: 50 }));
    expect(plans.length).toBeGreaterThan(0);
    // At the end of the order there may be runs of the same millisecond to sort.
    expect([plans, plans.filter((plan) => WHOLE.test(plan))]).toEqual([plans, []]);
  }
});

it.each<[string, RunFilter]>([
  ["of several statuses", { status: ["failed", "interrupted", "waiting"] }],
  ["of several pipelines", { pipelines: ["p3", "p4", "p5"] }],
  ["of several of both", { pipelines: ["p3", "p4"], status: ["failed", "cancelled"] }],
  ["of several statuses by metadata", { metadata: { tenant: "t3" }, status: ["running", "failed"] }],
  ["of runs that need people", { needsPerson: true, pipelines: ["p3"] }],
  ["of ids that begin with a text", { idPrefix: "run-777", status: ["failed"] }],
  ["of failed calls", { toolError: "*", pipelines: ["p3", "p4"] }],
  ["of failed calls of a tool", { toolError: "send", metadata: { tenant: "t3" } }],
])("a page %s looks for each in an index, and sorts what it has found", (_, filter) => {
  // What was found, and the indexes that have nothing but what is wanted.
  const isSmall =
    /^SCAN (?:walk|keys|needed|asking|named|\()|^SCAN (?:tool_calls|waits|receipts) USING (?:COVERING )?INDEX (?:calls_in_doubt|waits_for_people|failed_receipts)/;
  for (const cursor of [{}, { after }]) {
    const plans = plansOf(listRunSummaries(30_000, { ...filter, ...cursor, limit: 50 }));
    expect(plans.some((plan) => plan.startsWith("SEARCH"))).toBe(true);
    const whole = plans.filter((plan) => plan.startsWith("SCAN") && !isSmall.test(plan));
    expect([plans, whole]).toEqual([plans, []]);
  }
});

it("a page of failed calls is the same where they are many: then it walks in the order of the runs", () => {
  const filters: readonly RunFilter[] = [
    { toolError: "send" },
    { toolError: "send", after },
    { toolError: "send", status: ["failed"], pipelines: ["p2", "p3"], createdSince: 10_000 },
    { toolError: "send", metadata: { tenant: "t3" } },
  ];
  const pages = () => filters.map((filter) => idsOf(listRunSummaries(30_000, { ...filter, limit: 50 })));
  const counts = () => filters.map((filter) => resultOf(countRuns(30_000, filter)).total);
  const few = { pages: pages(), counts: counts() };
  expect(few.pages.map(({ length }) => length)).toEqual([40, 31, 10, 4]);
  insertFailedCalls("crawl", 2, "n % 5 = 0");
  expect({ pages: pages(), counts: counts() }).toEqual(few);
  for (const filter of [...filters, { toolError: "*" }]) {
    const plans = plansOf(listRunSummaries(30_000, { ...filter, limit: 50 }));
    expect(plans.some((plan) => /^SEARCH receipts .*INDEX failed_receipts \(run_key=\?/.test(plan))).toBe(
      true,
    );
    const whole = plans.filter((plan) => /^SCAN (?:receipts|tool_calls|keys)/.test(plan));
    // Whether they are many is counted up to 10,000.
    expect([plans, whole]).toEqual([plans, ["SCAN receipts USING COVERING INDEX failed_receipts"]]);
  }
  expect(idsOf(listRunSummaries(30_000, { toolError: "*", limit: 3 }))).toEqual([
    "run-100000",
    "run-99995",
    "run-99990",
  ]);
});

it("a count by status reads indexes, and no row but those of running runs", () => {
  for (const filter of [{}, { pipelines: ["p3", "p4"] }, { createdSince: 20_000 }]) {
    const plans = plansOf(countRuns(30_000, filter));
    const reads = plans.filter((plan) => /^(?:SCAN|SEARCH) runs/.test(plan));
    expect(reads.length).toBeGreaterThan(0);
    const others = reads.filter(
      (plan) => !/COVERING INDEX|INDEX runs_(?:by|of_pipeline_by)_status|rowid=/.test(plan),
    );
    expect([plans, others]).toEqual([plans, []]);
  }
});

it("the head of a run looks at its calls in doubt, and at no other call", () => {
  const plans = plansOf(readRunHead("run-7")).filter((plan) => /tool_calls|doubted/.test(plan));
  expect(plans.toSorted()).toEqual([
    "SEARCH doubted USING COVERING INDEX calls_in_doubt (run_key=?)",
    "SEARCH tool_calls USING PRIMARY KEY (run_key=? AND call_no=?)",
  ]);
});

it("ended runs are listed in the order of their index", () => {
  for (const query of [{}, { status: "failed" as const }, { after: { endedAt: 5, runId: "run-5" } }]) {
    const plans = plansOf(listEndedRuns({ endedBefore: 50_000, limit: 50, ...query }));
    expect(plans.join("\n")).toMatch(/USING INDEX ended_runs/);
    expect(plans.join("\n")).not.toMatch(/TEMP B-TREE/);
  }
});
