import { quoted } from "../postgres-wire/connection.ts";
import type { JobsReport } from "../report/database-report.ts";
import { isGraphileInstalled } from "./graphile.ts";
import { type Ask, jobsSchema, lookForJobs } from "./jobs-schema.ts";

const MAY_CREATE = `
  SELECT coalesce(has_schema_privilege(to_regnamespace(?), 'CREATE'),
                  has_database_privilege(current_database(), 'CREATE')) AS may`;

/** Nothing is created or changed, and the package is not loaded. */
export async function reportOnJobs(ask: Ask, storeSchema: string): Promise<JobsReport> {
  const schema = jobsSchema(storeSchema);
  const state = await lookForJobs(ask, schema);
  const [create] = await ask(MAY_CREATE, [quoted(schema)]);
  return {
    schema,
    isInstalled: isGraphileInstalled(),
    state,
    mayCreate: create?.flag("may") === true,
    tables: state === "usable" ? await tablesIn(ask, quoted(schema)) : null,
  };
}

async function tablesIn(ask: Ask, schema: string): Promise<JobsReport["tables"]> {
  // A role that may write jobs need not be allowed to read them.
  const [row] = await ask(
    `SELECT (SELECT max(id) FROM ${schema}.migrations)::bigint AS version, count(*) AS waiting,
            count(*) FILTER (WHERE run_at < now() - interval '1 minute') AS overdue FROM ${schema}._private_jobs`,
    [],
  ).catch(() => []);
  if (row === undefined) return null;
  return { version: row.int("version"), waiting: row.int("waiting"), overdue: row.int("overdue") };
}
