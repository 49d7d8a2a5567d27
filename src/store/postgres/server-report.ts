import { postgresAddress } from "../postgres-address.ts";
import { reportOnJobs } from "../postgres-jobs/jobs-report.ts";
import { Connection, quoted } from "../postgres-wire/connection.ts";
import { realNetwork } from "../postgres-wire/pg-driver.ts";
import { postgresError } from "../postgres-wire/postgres-error.ts";
import type { ServerReport, TableReport } from "../report/database-report.ts";
import type { Row } from "../sql/row.ts";
import { LATEST_VERSION, versionOf } from "./migrate.ts";

const SETTINGS = [
  "autovacuum",
  "data_checksums",
  "fsync",
  "full_page_writes",
  "idle_in_transaction_session_timeout",
  "max_connections",
  "synchronous_commit",
  "synchronous_standby_names",
] as const;

/** Asks the server of a store about itself. */
export async function reportOnServer(address: string): Promise<ServerReport> {
  const { url, schema, name } = postgresAddress(address);
  try {
    const connection = await Connection.open(realNetwork, { url, schema });
    try {
      return await readServer(connection, schema);
    } finally {
      await connection.end();
    }
  } catch (error) {
    throw postgresError(error, name);
  }
}

/** What the server says over a connection of its own, in the schema of the store. */
export async function readServer(connection: Connection, schema: string): Promise<ServerReport> {
  const one = async (text: string, ...values: readonly string[]) => {
    const [row] = await connection.rows(text, values);
    if (row === undefined) throw new Error(`The server gave no answer to ${text}`);
    return row;
  };
  const server = await one(SERVER);
  const sessions = await one(SESSIONS);
  const tables = await connection.rows(TABLES, [schema]);
  const rights = await connection.rows(RIGHTS, [schema]);
  const settings = await connection.rows(
    `SELECT name, reset_val FROM pg_settings WHERE name IN (${SETTINGS.map(() => "?").join()})`,
    SETTINGS,
  );
  const { clockOffMs, roundTripMs } = await clockOf(() => one(CLOCK));
  const mayUse = await one(
    "SELECT coalesce(has_schema_privilege(to_regnamespace(?), 'USAGE'), true) AS may",
    quoted(schema),
  );
  return {
    version: server.text("version"),
    versionNumber: server.int("number"),
    role: server.text("role"),
    schema,
    schemaVersion: await versionIn(connection, mayUse.flag("may")),
    knownVersion: LATEST_VERSION,
    isReplica: server.flag("replica"),
    isPooled: connection.isPooled,
    settings: Object.fromEntries(settings.map((row) => [row.text("name"), row.text("reset_val")])),
    replicas: server.int("replicas"),
    sessions: {
      used: sessions.int("used"),
      most: Number(settings.find((row) => row.text("name") === "max_connections")?.text("reset_val")),
      hidden: sessions.int("hidden"),
    },
    oldestTransactionSeconds: sessions.int("oldest"),
    preparedTransactions: server.int("prepared"),
    unusedSlots: server.int("slots"),
    clockOffMs,
    roundTripMs,
    missingRights: [
      ...(mayUse.flag("may") ? [] : [`USAGE on the schema ${schema}`]),
      ...rights.map((row) => `${row.text("what")} on ${row.text("name")}`),
    ],
    tables: tables.map(tableReport),
    jobs: await reportOnJobs((text, values) => connection.rows(text, values), schema),
  };
}

const SERVER = `
  SELECT current_setting('server_version') AS version, current_setting('server_version_num')::bigint AS number,
         current_user::text AS role, pg_is_in_recovery() AS replica,
         (SELECT count(*) FROM pg_stat_replication) AS replicas,
         (SELECT count(*) FROM pg_prepared_xacts) AS prepared,
         (SELECT count(*) FROM pg_replication_slots WHERE NOT active) AS slots`;

/** A session of another role shows neither its state nor its transaction, unless the role may read all statistics. */
const SESSIONS = `
  SELECT count(*) AS used, count(*) FILTER (WHERE state IS NULL) AS hidden,
         coalesce(max(extract(epoch FROM now() - xact_start)), 0)::bigint AS oldest
    FROM pg_stat_activity WHERE backend_type = 'client backend' OR backend_type IS NULL`;

const TABLES = `
  SELECT relname::text AS name, pg_total_relation_size(relid) AS bytes, n_live_tup AS live, n_dead_tup AS dead,
         n_tup_upd AS updates, n_tup_hot_upd AS hot_updates
    FROM pg_stat_user_tables WHERE schemaname = ? ORDER BY 2 DESC, 1`;

/** By their numbers: names in a schema that the role may not use are not resolved. Only the owner writes `migrations`. */
const RIGHTS = `
  SELECT relname::text AS name, what
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
         CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS what
   WHERE nspname = ? AND relkind IN ('r', 'v')
     AND (what = 'SELECT' OR (relkind = 'r' AND relname <> 'migrations'))
     AND NOT has_table_privilege(pg_class.oid, what)
   ORDER BY what = 'SELECT' DESC, 1, 2`;

const CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";

async function clockOf(ask: () => Promise<Row>): Promise<{ clockOffMs: number; roundTripMs: number }> {
  const [before, since] = [Date.now(), performance.now()];
  const theirs = (await ask()).int("now");
  const roundTripMs = performance.now() - since;
  return {
    clockOffMs: Math.round(theirs - (before + roundTripMs / 2)),
    roundTripMs: Math.round(roundTripMs),
  };
}

async function versionIn(connection: Connection, mayLook: boolean): Promise<number | null> {
  if (!mayLook) return null;
  const [may] = await connection.rows(
    "SELECT coalesce(has_table_privilege(to_regclass('migrations'), 'SELECT'), true) AS may",
  );
  return may?.flag("may") === true ? versionOf(connection) : null;
}

function tableReport(row: Row): TableReport {
  return {
    table: row.text("name"),
    bytes: row.int("bytes"),
    live: row.int("live"),
    dead: row.int("dead"),
    updates: row.int("updates"),
    hotUpdates: row.int("hot_updates"),
  };
}
