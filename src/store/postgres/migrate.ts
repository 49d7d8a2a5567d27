import { StoreUnavailableError } from "../../core/errors.ts";
import { type Connection, quoted } from "../postgres-wire/connection.ts";
import { developmentSchema, latestVersion, newerSchema } from "../sql/migration.ts";
import { COMMIT, ROLLBACK } from "../sql/planned/server-session.ts";
import { MIGRATIONS } from "./embedded-migrations.ts";

/** The version of the schema that this program knows. */
export const LATEST_VERSION = latestVersion(MIGRATIONS);

/**
 * Brings the schema to this program's version. The row of a migration is inserted before it is applied, in the same
 * transaction, so that of two migrators one waits for the other and then finds nothing to do.
 */
export async function migrate(connection: Connection, schema: string, name: string): Promise<void> {
  const version = await versionOf(connection);
  if (version === LATEST_VERSION) return;
  assertKnownVersion(name, version);
  // A role that owns the schema need not be allowed to create one.
  const [found] = await connection.rows("SELECT to_regnamespace(?) IS NOT NULL AS found", [quoted(schema)]);
  if (found?.flag("found") !== true)
    await connection.rows(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`).catch(ignoreRace);
  await connection
    .rows(
      "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
    )
    .catch(ignoreRace);
  for (const { number, name: what, sql } of MIGRATIONS)
    if (number > version) await apply(connection, number, what, sql);
  assertKnownVersion(name, await versionOf(connection));
}

function assertKnownVersion(name: string, version: number): void {
  if (version > LATEST_VERSION) throw newerSchema(name, version, LATEST_VERSION);
  if (version !== 0 && version < (MIGRATIONS[0]?.number ?? 0)) throw developmentSchema(name, version);
}

async function apply(connection: Connection, number: number, name: string, sql: string): Promise<void> {
  try {
    // Waits for another migrator of the same version, and inserts nothing if that has committed.
    const inserted = {
      text: `WITH added AS (INSERT INTO migrations VALUES (?, ?, (extract(epoch FROM now()) * 1000)::bigint)
               ON CONFLICT DO NOTHING RETURNING 1) SELECT count(*) AS rows FROM added`,
      values: [number, name],
    };
    const [row] = (await connection.exchange([...connection.begin, inserted])).at(-1) ?? [];
    // It may rewrite a table of any size: only the wait for its locks has a limit.
    const unhurried = { text: "SELECT set_config('statement_timeout', '0', true)", values: [] };
    await connection.exchange([unhurried]);
    if (row?.int("rows") === 1) await connection.script(sql);
    await connection.exchange([COMMIT]);
  } catch (error) {
    if (!connection.isLost) await connection.exchange([ROLLBACK]).catch(() => undefined);
    throw error;
  }
}

/** For a reader, which creates nothing. */
export async function assertMigrated(connection: Connection, schema: string, name: string): Promise<void> {
  const version = await versionOf(connection);
  assertKnownVersion(name, version);
  if (version === LATEST_VERSION) return;
  throw new StoreUnavailableError(
    version === 0
      ? `The database ${name} has no tables of Pawl in the schema ${schema}: run \`pawl migrate\`, or check the address.`
      : `The database ${name} has schema ${version} and this version of Pawl needs ${LATEST_VERSION}: run \`pawl migrate\`.`,
    { reason: "missing" },
  );
}

/** 0 if there are no tables of Pawl in the schema. */
export async function versionOf(connection: Connection): Promise<number> {
  const [table] = await connection.rows("SELECT to_regclass('migrations') IS NOT NULL AS found");
  if (table?.flag("found") !== true) return 0;
  const [last] = await connection.rows("SELECT max(number) AS number FROM migrations");
  return last?.optionalInt("number") ?? 0;
}

/** A row, a table with its type, or a schema of that name exists already. */
const EXISTS: ReadonlySet<unknown> = new Set(["23505", "42710", "42P07", "42P06"]);

/** Two processes that create the same thing at once: the other one has. */
function ignoreRace(error: unknown): void {
  const { code } = error as { code?: unknown };
  if (!EXISTS.has(code)) throw error;
}
