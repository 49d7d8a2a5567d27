import { StoreUnavailableError, StoreUnusableError } from "../../core/errors.ts";
import { type Connection, quoted } from "./connection.ts";
import { MIGRATIONS } from "./embedded-migrations.ts";

/**
 * Brings the schema to this program's version. The row of a migration is inserted before it is applied, in the same
 * transaction, so that of two migrators one waits for the other and then finds nothing to do.
 */
export async function migrate(connection: Connection, schema: string, name: string): Promise<void> {
  const latest = latestMigration();
  const version = await versionOf(connection);
  if (version === latest) return;
  if (version > latest) throw newerSchema(name, version, latest);
  // A role that owns the schema need not be allowed to create one.
  const [found] = await connection.rows("SELECT to_regnamespace(?) IS NOT NULL AS found", [quoted(schema)]);
  if (found?.flag("found") !== true)
    await connection.send(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`).catch(ignoreRace);
  await connection
    .send(
      "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
    )
    .catch(ignoreRace);
  for (const { number, name: what, sql } of MIGRATIONS)
    if (number > version) await apply(connection, number, what, sql);
  const reached = await versionOf(connection);
  if (reached > latest) throw newerSchema(name, reached, latest);
}

async function apply(connection: Connection, number: number, name: string, sql: string): Promise<void> {
  await connection.begin();
  try {
    // Waits for another migrator of the same version, and inserts nothing if that has committed.
    const { rowCount } = await connection.send(
      "INSERT INTO migrations VALUES ($1, $2, (extract(epoch FROM now()) * 1000)::bigint) ON CONFLICT DO NOTHING",
      [number, name],
    );
    if (rowCount === 1) await connection.send(sql);
    await connection.send("COMMIT");
  } catch (error) {
    await connection.send("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** The schema that this program knows. */
export function latestMigration(): number {
  return MIGRATIONS.at(-1)?.number ?? 0;
}

/** For a reader, which creates nothing. */
export async function assertMigrated(connection: Connection, schema: string, name: string): Promise<void> {
  const latest = latestMigration();
  const version = await versionOf(connection);
  if (version > latest) throw newerSchema(name, version, latest);
  if (version === latest) return;
  throw new StoreUnavailableError(
    version === 0
      ? `The database ${name} has no tables of Pawl in the schema ${schema}: run \`pawl migrate\`, or check the address.`
      : `The database ${name} has schema ${version} and this version of Pawl needs ${latest}: run \`pawl migrate\`.`,
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

export function newerSchema(name: string, version: number, known: number): StoreUnusableError {
  return new StoreUnusableError(
    `The database ${name} has schema ${version} and this version of Pawl knows ${known}: use a newer Pawl; nothing was changed.`,
    { reason: "newer_schema" },
  );
}

/** Two processes that create the same thing at once: the other one has. */
function ignoreRace(error: unknown): void {
  const { code } = error as { code?: unknown };
  if (code !== "23505" && code !== "42P07" && code !== "42P06") throw error;
}
