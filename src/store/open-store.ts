import { fileURLToPath } from "node:url";
import { ConfigurationError } from "../core/errors.ts";
import { SqliteStore, type SqliteStoreOptions } from "./sqlite/sqlite-store.ts";
import type { Store } from "./store.ts";
import { assertNotMoved, DEFAULT_STORE, makeHome } from "./store-home.ts";

export { DEFAULT_STORE } from "./store-home.ts";

/**
 * Opens the store at a URL: `file:./.pawl/pawl.db` (the default; the file and its folder are created), another file
 * (created if missing; its folder must exist), or `:memory:` for tests.
 *
 * @example
 * const store = await openStore("file:./pawl.db");
 */
export async function openStore(
  url: string = DEFAULT_STORE,
  { readOnly = false, ...options }: OpenStoreOptions = {},
): Promise<Store> {
  const file = sqliteFile(url);
  assertNotMoved(file);
  const reader = readOnly && file !== ":memory:" ? await SqliteStore.openReadOnly(file, options) : null;
  if (reader !== null) return reader;
  makeHome(file);
  return SqliteStore.open(file, options);
}

export type OpenStoreOptions = SqliteStoreOptions & {
  /**
   * Changes nothing on the disk and refuses every write. (A file that has to be created or migrated first is opened
   * for writing anyway.)
   */
  readonly readOnly?: boolean;
};

/** Runs `work` with the given store, or with the default one, opened for this and closed afterwards. */
export async function withStore<T>(given: Store | undefined, work: (store: Store) => Promise<T>): Promise<T> {
  if (given !== undefined) return work(given);
  const store = await openStore();
  try {
    return await work(store);
  } finally {
    // The work is done: effects still in progress were given up on, so they are not awaited.
    await store.close({ graceMs: 0 });
  }
}

/** The file of a store address, or ":memory:"; throws if the address is not valid. */
export function sqliteFile(url: string): string {
  if (url === ":memory:") return url;
  const path = url.startsWith("file://") ? pathOfUrl(url) : (/^file:(.+)$/.exec(url)?.[1] ?? null);
  if (path !== null && !/[?\0]|\/$/.test(path)) return path;
  throw new ConfigurationError(
    `${JSON.stringify(url)} is not an address of a store: use "file:./pawl.db" for a SQLite file or ":memory:" for a test.`,
  );
}

/** Null for anything but the URL of a file on this machine. */
function pathOfUrl(url: string): string | null {
  try {
    const { search, hash } = new URL(url);
    return search === "" && hash === "" ? fileURLToPath(url) : null;
  } catch {
    return null;
  }
}
