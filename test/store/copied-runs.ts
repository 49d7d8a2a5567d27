// Many runs at once, by SQL: for tests and benchmarks of large stores. Nothing checks them, so none of them can be resumed.

import { DatabaseSync } from "node:sqlite";
import { serverAt } from "./postgres/postgres-server.ts";

/** What a list of runs and sums of money read. */
const TABLES = ["runs", "run_inputs", "run_steps", "attempts", "turns"] as const;
type Table = (typeof TABLES)[number];

export type CopiedRuns = {
  /** The run to copy, and how the ids of its copies begin: `prefix-1`, `prefix-2`. */
  readonly pattern: string;
  readonly prefix: string;
  readonly count: number;
  /** SQL for a column where it is not that of the pattern; `n` is the number of the copy. */
  readonly value?: (column: string, table: Table) => string | undefined;
};

/** A database that is written without a store. */
type Direct = {
  columnsOf(table: Table): Promise<readonly string[]>;
  /** The key of copy `n`, in SQL. */
  readonly key: (prefix: string) => string;
  /** Runs all of it in one transaction. */
  write(statements: readonly string[]): Promise<void>;
};

/** Copies a run in the store at this address. */
export async function copyRuns(address: string, runs: CopiedRuns): Promise<void> {
  const direct = address.startsWith("file:") ? inFile(address.slice("file:".length)) : inServer(address);
  const { pattern, prefix, count, value = () => undefined } = runs;
  const numbers = `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${count})`;
  const insertInto = async (table: Table) => {
    const columns = await direct.columnsOf(table);
    const own: { readonly [column: string]: string } = {
      run_key: direct.key(prefix),
      run_id: `'${prefix}-' || n`,
    };
    const values = columns.map((column) => own[column] ?? value(column, table) ?? `${table}.${column}`);
    return `INSERT INTO ${table} (${columns.join(", ")}) ${numbers}
      SELECT ${values.join(", ")} FROM ${table}, counted
      WHERE ${table}.run_key = (SELECT run_key FROM runs WHERE run_id = '${pattern}')`;
  };
  await direct.write(await Promise.all(TABLES.map(insertInto)));
}

function inFile(file: string): Direct {
  const database = new DatabaseSync(file);
  const first = Number(database.prepare("SELECT max(run_key) AS n FROM runs").get()?.n ?? 0);
  return {
    columnsOf: (table) => {
      const columns = database.prepare(`PRAGMA table_info(${table})`).all();
      return Promise.resolve(columns.map(({ name }) => String(name)));
    },
    key: () => `${first} + n`,
    write: (statements) => {
      database.exec(`BEGIN; ${statements.join("; ")}; COMMIT`);
      database.close();
      return Promise.resolve();
    },
  };
}

function inServer(address: string): Direct {
  const url = new URL(address);
  const schema = url.searchParams.get("schema") ?? "public";
  url.search = "";
  const { sql } = serverAt(url.href, null);
  return {
    columnsOf: async (table) => {
      const columns = await sql(
        `SELECT column_name::text AS name FROM information_schema.columns
         WHERE table_schema = $1 AND table_name = $2 AND is_generated = 'NEVER'`,
        [schema, table],
      );
      return columns.map(({ name }) => String(name));
    },
    key: (prefix) => `md5('${prefix}-' || n)::uuid`,
    write: async (statements) => {
      await sql(`SET LOCAL search_path TO ${schema}; ${statements.join("; ")}; ANALYZE ${TABLES.join(", ")}`);
    },
  };
}
