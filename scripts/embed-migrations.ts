// Writes the SQL migrations into a module, so that a program which bundles Pawl into one file can open a store. Run it after
// a change of src/store/*/migrations.

import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

/** The databases, each with numbered SQL files of its own. */
export const DATABASES = ["sqlite", "postgres"] as const;
type DatabaseName = (typeof DATABASES)[number];

const targetOf = (database: DatabaseName) => join(root, `src/store/${database}/embedded-migrations.ts`);

/** Numbers below were those of versions before the first release. */
const FIRST_MIGRATION = 200;

/** The module, made from the numbered SQL files, whose texts may be changed. */
export function embeddedMigrations(database: DatabaseName, change = (sql: string) => sql): string {
  const files = globSync(`src/store/${database}/migrations/*.sql`, { cwd: root }).sort();
  if (files.length === 0) throw new Error("There are no migrations: nothing could open a database.");
  const entries = files.map((file, index) => {
    const name = basename(file, ".sql");
    if (Number(name.slice(0, 4)) !== FIRST_MIGRATION + index)
      throw new Error(
        `Migration ${name} should be number ${FIRST_MIGRATION + index}: number them without a gap.`,
      );
    const sql = change(readFileSync(join(root, file), "utf8"));
    return `  { number: ${FIRST_MIGRATION + index}, name: "${name.slice(5)}", sql: ${JSON.stringify(sql)} },`;
  });
  return [
    "// Made from migrations/*.sql by scripts/embed-migrations.ts: change those files, and run it again.",
    "",
    'import type { Migration } from "../sql/migration.ts";',
    "",
    "/** The numbered SQL files, in order. */",
    "export const MIGRATIONS: readonly Migration[] = [",
    ...entries.map((entry) => `  // biome-ignore format: one line a file\n${entry}`),
    "];",
    "",
  ].join("\n");
}

/**
 * SQL without what is there for its readers: lines of comments, blank lines, and indentation. A database that was made with
 * it is the same to a store, which compares schemas without blanks and comments.
 */
export function withoutComments(sql: string): string {
  const lines = sql.split("\n").map((line) => line.trim());
  const code = lines.filter((line) => line !== "" && !line.startsWith("--"));
  const open = code.find((line) => line.split("'").length % 2 === 0);
  if (open !== undefined) throw new Error(`A text in a migration has more than one line, from: ${open}`);
  return code.join("\n");
}

if (import.meta.main) {
  for (const database of DATABASES) {
    writeFileSync(targetOf(database), embeddedMigrations(database));
    console.log(`Wrote ${relative(root, targetOf(database))}.`);
  }
}
