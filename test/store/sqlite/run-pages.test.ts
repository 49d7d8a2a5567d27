import { expect, it } from "vitest";
import { listRunSummaries, readRunHead } from "../../../src/store/sql/queries/listed-runs.ts";
import { listEndedRuns } from "../../../src/store/sql/queries/retention-queries.ts";
import { countRuns } from "../../../src/store/sql/queries/run-counts.ts";
import type { SqlScript } from "../../../src/store/sql/script.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { migrate } from "../../../src/store/sqlite/migrate.ts";
import type { RunFilter } from "../../../src/store/store.ts";

const database = Database.open(":memory:");
migrate(database, 0);
const columns = database.all("PRAGMA table_info(runs)").map((row) => {
  const [name, type] = [row.text("name"), row.text("type")];
  const given: { readonly [column: string]: string } = {
    run_key: "n",
    run_id: "'run-' || n",
    created_at: "n / 2",
    updated_at: "n",
    status: "iif(n % 50 = 0, 'failed', iif(n % 997 = 0, 'running', 'succeeded'))",
    pipeline: "'p' || (n % 7)",
    queue: "'q' || (n % 5)",
  };
  const empty = row.int("notnull") === 0 ? "NULL" : type === "TEXT" ? "''" : type === "BLOB" ? "X''" : "0";
  return given[name] ?? empty;
});
const numbers =
  "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)";
database.exec(`${numbers} INSERT INTO runs SELECT ${columns.join()} FROM numbers;
  ${numbers} INSERT INTO run_labels (run_key, name, value, created_at)
    SELECT n, 'tenant', 't' || (n % 11), n / 2 FROM numbers;`);

/** The plan of each query of the script. */
function plansOf(script: SqlScript<unknown>): string[] {
  const plans: string[] = [];
  for (let step = script.next(); step.done !== true; ) {
    const { text, values } = step.value;
    plans.push(...database.all(`EXPLAIN QUERY PLAN ${text}`, ...values).map((row) => row.text("detail")));
    step = script.next(database.all(text, ...values));
  }
  return plans;
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
])("a page %s looks for each in an index, and sorts what it has found", (_, filter) => {
  // What was found, and the indexes that have nothing but what is wanted.
  const isSmall =
    /^SCAN (?:walk|keys|needed|asking|named|\()|^SCAN (?:tool_calls|waits) USING (?:COVERING )?INDEX (?:calls_in_doubt|waits_for_people)/;
  for (const cursor of [{}, { after }]) {
    const plans = plansOf(listRunSummaries(30_000, { ...filter, ...cursor, limit: 50 }));
    expect(plans.some((plan) => plan.startsWith("SEARCH"))).toBe(true);
    const whole = plans.filter((plan) => plan.startsWith("SCAN") && !isSmall.test(plan));
    expect([plans, whole]).toEqual([plans, []]);
  }
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
