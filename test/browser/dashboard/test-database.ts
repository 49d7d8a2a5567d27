import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, type Store } from "../../../src/index.ts";
import type { PostgresServer } from "../../store/postgres/postgres-server.ts";

/** A database of a test: its address, and a way to change it that the store does not see. */
export type TestDatabase = {
  readonly address: string;
  readonly sql: (text: string) => Promise<void>;
};

/** On PostgreSQL all processes need the same key for the digests of secrets; SQLite keeps its own. */
const REDACTION_KEY = "5e".repeat(32);

/** The store of a test, as each of its processes opens it. */
export function openTestStore(address: string): Promise<Store> {
  return openStore(address, address.startsWith("postgres:") ? { redactionKey: REDACTION_KEY } : {});
}

export function sqliteIn(folder: string): TestDatabase {
  const file = join(folder, "pawl.db");
  const sql = async (text: string) => {
    const database = new DatabaseSync(file);
    database.exec(text);
    database.close();
  };
  return { address: `file:${file}`, sql };
}

export function schemaOf(server: PostgresServer): TestDatabase {
  const schema = server.newSchema();
  const sql = async (text: string) => void (await server.sql(`SET search_path TO ${schema}; ${text}`));
  return { address: `${server.url}?schema=${schema}`, sql };
}
