import path from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigurationError } from "../core/errors.ts";
import { assertOptions, kindOf, type OptionNames } from "../core/naming/option-names.ts";
import { LOADED_CODE } from "./loaded-code.ts";
import type { PostgresStoreOptions } from "./postgres/postgres-store.ts";
import { isPostgres } from "./postgres-address.ts";
import type { SqliteStoreOptions } from "./sqlite/sqlite-store.ts";
import type { Store } from "./store.ts";
import { assertNotMoved, assertThere, DEFAULT_STORE, makeFolders } from "./store-home.ts";

export { DEFAULT_STORE } from "./store-home.ts";

/**
 * Opens the store at a URL: `file:./.pawl/pawl.db` (the default), another file, `postgres://user@host/database`, or
 * `:memory:` for tests. A missing file is created, and so are its folders, for their owner only (0700). A plain path,
 * `./pawl.db`, is such a file. On PostgreSQL the tables are created in a schema of their own: `pawl`, or the one that the
 * address names, `postgres://user@host/database?schema=agents`.
 *
 * @example
 * const store = await openStore("file:./pawl.db");
 */
export async function openStore(url: string = DEFAULT_STORE, given: OpenStoreOptions = {}): Promise<Store> {
  assertOptions("The second argument of openStore", given, STORE_NAMES, { readonly: "readOnly" });
  const { readOnly = false, schema, acceptLostCommits, dispatch, redactionKey, ...options } = given;
  if (isPostgres(url)) {
    const { PostgresStore } = await LOADED_CODE.postgres();
    return PostgresStore.open(url, given);
  }
  for (const [name, value] of Object.entries({ schema, acceptLostCommits, dispatch, redactionKey }))
    if (value !== undefined)
      throw new ConfigurationError(
        `The option ${name} of openStore is for PostgreSQL: leave it out for ${url}.`,
      );
  const file = sqliteFile(url);
  assertNotMoved(file);
  if (readOnly) assertThere(file);
  // Loaded when it is needed: a program that only defines agents does not wait for it.
  const { SqliteStore } = await LOADED_CODE.sqlite();
  const reader = readOnly && file !== ":memory:" ? await SqliteStore.openReadOnly(file, options) : null;
  if (reader !== null) return reader;
  makeFolders(file);
  return SqliteStore.open(file, options);
}

/** Options of `openStore`. */
export type OpenStoreOptions = SqliteStoreOptions &
  PostgresStoreOptions & {
    /**
     * Creates nothing, changes nothing on the disk and refuses every write; a missing file is an error. (A file that has
     * to be migrated first is opened for writing anyway.)
     */
    readonly readOnly?: boolean;
  };

const STORE_NAMES = {
  readOnly: true,
  now: true,
  monotonic: true,
  after: true,
  liveTimers: true,
  onCommit: true,
  doorbell: true,
  schema: true,
  acceptLostCommits: true,
  readySignals: true,
  dispatch: true,
  redactionKey: true,
} satisfies OptionNames<OpenStoreOptions>;

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
  const given: unknown = url;
  if (typeof given !== "string")
    throw new ConfigurationError(
      `openStore needs the address of a store, and got ${kindOf(given)}: use "file:./pawl.db".`,
    );
  if (url === ":memory:") return url;
  const file = url.startsWith("file://") ? pathOfUrl(url) : (/^file:(.+)$/.exec(url)?.[1] ?? plainPath(url));
  if (file !== null && !/[?\0]|\/$/.test(file)) return file;
  throw new ConfigurationError(
    `${JSON.stringify(url)} is not an address of a store: use "file:./pawl.db" for a SQLite file, "postgres://user@host/database" for PostgreSQL, or ":memory:" for a test.`,
  );
}

/**
 * A path without `file:`, if it can be nothing else: it begins with `./`, `../` or a root, or has the name of a database and
 * no scheme. Null for everything else, such as a Windows path on another system.
 */
export function plainPath(url: string, paths: typeof path = path): string | null {
  const isPath = paths.isAbsolute(url) || /^\.{1,2}[\\/]/.test(url) || /^[^:]+\.(?:db|sqlite3?)$/i.test(url);
  return isPath && (paths.sep === "\\" || !url.includes("\\")) ? url : null;
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
