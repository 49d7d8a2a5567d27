import { latestVersion, newerSchema } from "../sql/migration.ts";
import type { Database } from "./database.ts";
import { MIGRATIONS } from "./embedded-migrations.ts";
import { schemaVersion } from "./migrate.ts";
import { assertNothingRuns, assertOwnSchema } from "./schema.ts";

/** Checks that the schema of an open database is still the one that was verified: another process may change it. */
export class SchemaGuard {
  readonly #database: Database;
  readonly #known: number;
  /** SQLite counts the changes of a schema. */
  #changes: number | null = null;
  /** SQLite counts what other connections commit. */
  #commits: number | null = null;

  constructor(database: Database) {
    this.#database = database;
    this.#known = latestVersion(MIGRATIONS);
  }

  /** Called inside a write transaction: rows written by this program would not be what a newer one expects. */
  assertWritable(): void {
    const commits = this.#database.get("PRAGMA data_version")?.int("data_version") ?? 0;
    // Nobody else has committed anything since the last check, so the schema is the same.
    if (commits === this.#commits) return;
    const version = schemaVersion(this.#database);
    if (version !== this.#known) throw newerSchema(this.#database.file, version, this.#known);
    this.assertReadable();
    this.#commits = commits;
  }

  /** Called inside a snapshot. */
  assertReadable(): void {
    const changes = this.#database.get("PRAGMA schema_version")?.int("schema_version") ?? 0;
    if (changes === this.#changes) return;
    if (schemaVersion(this.#database) > this.#known) assertNothingRuns(this.#database);
    else assertOwnSchema(this.#database, MIGRATIONS);
    this.#changes = changes;
  }
}
