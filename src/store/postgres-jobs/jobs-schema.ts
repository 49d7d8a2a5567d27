import { createHash } from "node:crypto";
import type { JobsState } from "../report/database-report.ts";
import type { Row, SqlValue } from "../sql/row.ts";

/** The names of statements that graphile-worker prepares contain the schema, and have at most 63 characters. */
const MAX_NAME = 40;

/**
 * The schema of the jobs of a store: one of its own, so that an application's own jobs and their version are not touched.
 * Two stores never share one.
 */
export function jobsSchema(schema: string): string {
  const name = `${schema}_jobs`;
  if (name.length <= MAX_NAME) return name;
  const digest = createHash("sha256").update(schema).digest("hex").slice(0, 8);
  return `${schema.slice(0, MAX_NAME - 14)}_${digest}_jobs`;
}

/** Rows of tables with row security and without a policy are seen by their owner only, so grants are not enough. */
const LOOK = `
  SELECT has_schema_privilege(spaces.oid, 'USAGE') AND has_table_privilege(jobs.oid, 'INSERT')
         AND has_table_privilege(jobs.oid, 'UPDATE') AND NOT row_security_active(jobs.oid) AS usable
    FROM pg_class AS jobs JOIN pg_namespace AS spaces ON spaces.oid = jobs.relnamespace
   WHERE spaces.nspname = ? AND jobs.relname = '_private_jobs'
     AND EXISTS (SELECT 1 FROM pg_proc WHERE pronamespace = spaces.oid AND proname = 'add_job')`;

/** A query over the wire: its rows. */
export type Ask = (text: string, values: readonly SqlValue[]) => Promise<readonly Row[]>;

/** Looks whether there are jobs: one query, which changes nothing. */
export async function lookForJobs(ask: Ask, schema: string): Promise<JobsState> {
  const [row] = await ask(LOOK, [schema]);
  if (row === undefined) return "missing";
  return row.flag("usable") ? "usable" : "forbidden";
}
