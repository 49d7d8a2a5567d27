import { ConfigurationError } from "../core/errors.ts";
import { SqliteStore, type SqliteStoreOptions } from "./sqlite/sqlite-store.ts";
import type { Store } from "./store.ts";

export const DEFAULT_STORE = "file:./pawl.db";

/**
 * Opens the store at a URL: `file:./pawl.db` (the default; the file is created) or `:memory:` for tests.
 *
 * @example
 * const store = await openStore("file:./pawl.db");
 */
export async function openStore(
  url: string = DEFAULT_STORE,
  options: SqliteStoreOptions = {},
): Promise<Store> {
  return SqliteStore.open(sqliteFile(url), options);
}

function sqliteFile(url: string): string {
  if (url === ":memory:") return url;
  const path = /^file:(.+)$/.exec(url)?.[1];
  if (path !== undefined && !path.includes("?")) return path.startsWith("//") ? new URL(url).pathname : path;
  throw new ConfigurationError(
    `${JSON.stringify(url)} is not an address of a store: use "file:./pawl.db" for a SQLite file or ":memory:" for a test.`,
  );
}
