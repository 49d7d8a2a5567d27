import { expect, it } from "vitest";
import { listRunSummaries } from "../../../src/store/sql/queries/listed-runs.ts";
import { listEndedRuns } from "../../../src/store/sql/queries/retention-queries.ts";
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
    status: "iif(n % 50 = 0, 'failed', 'succeeded')",
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

it.each<[string, RunFilter]>([
  ["of all runs", {}],
  ["of a status", { status: "failed" }],
  ["of a pipeline", { pipeline: "p3" }],
  ["of a queue", { queue: "q3" }],
  ["by metadata", { metadata: { tenant: "t3" } }],
])("a page %s reads an index in its order, and never all of 100,000 runs", (_, filter) => {
  for (const cursor of [{}, { after }]) {
    const plans = plansOf(listRunSummaries({ ...filter, ...cursor, limit: 50 }));
    expect(plans.length).toBeGreaterThan(0);
    // At the end of the order there may be runs of the same millisecond to sort.
    const whole = plans.filter((plan) => /^SCAN (?!runs USING INDEX)|TEMP B-TREE FOR ORDER BY/.test(plan));
    expect([plans, whole]).toEqual([plans, []]);
  }
});

it("ended runs are listed in the order of their index", () => {
  for (const query of [{}, { status: "failed" as const }, { after: { endedAt: 5, runId: "run-5" } }]) {
    const plans = plansOf(listEndedRuns({ endedBefore: 50_000, limit: 50, ...query }));
    expect(plans.join("\n")).toMatch(/USING INDEX ended_runs/);
    expect(plans.join("\n")).not.toMatch(/TEMP B-TREE/);
  }
});
