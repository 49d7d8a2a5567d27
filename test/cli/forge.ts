import { DatabaseSync } from "node:sqlite";

/** Changes the database behind the store's back. */
export function forge(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}
