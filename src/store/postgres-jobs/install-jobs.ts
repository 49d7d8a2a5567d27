import { quoted } from "../postgres-wire/connection.ts";
import type { PgClient } from "../postgres-wire/pg-driver.ts";
import type { Graphile, GraphileClient, GraphilePool } from "./graphile.ts";

/** How long one worker waits for another that installs. */
const LOCK_TIMEOUT = "10s";

/**
 * Creates or migrates the tables of the jobs. Two workers that start at once wait for each other: graphile-worker's own
 * migrations may fail then (vercel/workflow#1966). The lock is freed when the client disconnects.
 */
export async function installJobs(
  graphile: Graphile,
  client: PgClient,
  schema: string,
  logger: object,
): Promise<void> {
  const ask = async (text: string, value: string) => (await client.query({ text, values: [value] })).rows[0];
  await ask("SELECT set_config('lock_timeout', $1, false)", LOCK_TIMEOUT);
  await ask("SELECT pg_advisory_lock(hashtextextended($1, 0))", `pawl jobs ${schema}`);
  // A role that owns the schema need not be allowed to create one.
  const found = await ask("SELECT to_regnamespace($1) IS NOT NULL AS found", quoted(schema));
  if (found?.found !== true) await client.query({ text: `CREATE SCHEMA ${quoted(schema)}` });
  const { exitCode } = process;
  try {
    await graphile.runMigrations({ schema, logger, pgPool: poolOf(client, schema) });
  } finally {
    // It sets this if the tables are too new for it, which is not the application's failure.
    if (process.exitCode === GRAPHILE_EXIT_CODE) process.exitCode = exitCode;
  }
}

const GRAPHILE_EXIT_CODE = 57;

/** Sent after each migration, to all workers of graphile-worker in the database, whatever their schema: they would stop. */
const MIGRATION_NOTICE = "worker:migrate";

/** One client as a pool, without what would disturb others, and without the right to create schemas. */
function poolOf(client: PgClient, schema: string): GraphilePool {
  const createSchema = `create schema if not exists ${quoted(schema)};`;
  const guarded: GraphileClient = {
    query: (query, values) => {
      if (values?.[0] === MIGRATION_NOTICE) return Promise.resolve({ rows: [] });
      if (typeof query !== "string") return client.query(query);
      const text = query.startsWith(createSchema) ? query.slice(createSchema.length) : query;
      return client.query(values === undefined ? { text } : { text, values });
    },
    release: () => undefined,
  };
  // It warns on the console if nobody listens to errors.
  return { connect: () => Promise.resolve(guarded), listeners: () => [client] };
}
