import { existsSync } from "node:fs";
import { StoreUnavailableError } from "../../core/errors.ts";
import { type OpenStoreOptions, openStore, sqliteFile } from "../../store/open-store.ts";
import { isPostgres, postgresAddress } from "../../store/postgres-address.ts";
import type { Store } from "../../store/store.ts";
import { assertNotMoved } from "../../store/store-home.ts";
import { type LoadedConfig, resolveStore } from "../config/config-file.ts";
import { findConfig } from "../config/config-search.ts";
import { writtenStore } from "../config/config-store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { cleanLine } from "../context/terminal-text.ts";

const SILENCE_MS = 1_500;

/**
 * Calls `work` with the store of the command line, and closes it. A missing store is not created: a misspelt address
 * would leave an empty database behind, and the answer would be "no runs". Read-only commands change no file.
 */
export async function withExistingStore<T>(
  context: CliContext,
  input: CommandInput,
  work: (store: Store) => Promise<T>,
  { readOnly = false, loaded = null }: StoreUse = {},
): Promise<T> {
  const flag = input.text("store") ?? undefined;
  const url = loaded === null ? await storeAddress(context, input) : resolveStore(context, loaded, flag);
  assertExists(url);
  return usingStore(await openPatiently(context, url, { readOnly }), work);
}

/** The same for a command that comes before the first run. If there is no store it is created, and stderr says where. */
export async function withCreatedStore<T>(
  context: CliContext,
  input: CommandInput,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const url = await storeAddress(context, input);
  const file = fileOfStore(url);
  if (file !== null && !existsSync(file)) {
    assertNotMoved(file);
    context.stderr.write(`${cleanLine(`There was no database at ${file}: it is created.`)}\n`);
  }
  return usingStore(await openPatiently(context, url, {}), work);
}

async function usingStore<T>(store: Store, work: (store: Store) => Promise<T>): Promise<T> {
  try {
    return await work(store);
  } finally {
    // Work that is still in progress at this point was abandoned.
    await store.close({ graceMs: 0 });
  }
}

/** The id of the store that the user names by its id or by its address. A store that does not exist is not created. */
export async function namedStoreId(context: CliContext, named: string): Promise<string> {
  if (isStoreId(named)) return named;
  const url = resolveStore(context, NO_CONFIG, named);
  assertExists(url);
  const store = await openPatiently(context, url, {});
  try {
    return await store.storeId();
  } finally {
    await store.close();
  }
}

/** True for the id of a store, which no address looks like. */
export function isStoreId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

export type StoreUse = {
  readonly readOnly?: boolean;
  /** The configuration, if the command has executed it. Without it the store's address is read from the file's text. */
  readonly loaded?: LoadedConfig | null;
};

/** The store's address from the flag, the environment, the text of the configuration, or the default. No code is executed. */
export async function storeAddress(context: CliContext, input: CommandInput): Promise<string> {
  const flag = input.text("store") ?? undefined;
  const isNamed = flag !== undefined || (context.env.PAWL_STORE ?? "") !== "";
  const found = isNamed ? null : await findConfig(context, input.text("config") ?? undefined);
  if (found === null) return resolveStore(context, NO_CONFIG, flag);
  if (found.refusal !== null) {
    // It is skipped: otherwise another user's file would keep this user from reading their runs.
    context.stderr.write(`${cleanLine(`${found.path} is not used: ${found.refusal}.`)}\n`);
    return resolveStore(context, NO_CONFIG);
  }
  const store = await writtenStore(found.path, context.env);
  return resolveStore(context, { path: found.path, config: store === null ? {} : { store } });
}

const NO_CONFIG: LoadedConfig = { path: null, config: {} };

/** The file of a store; null if its address names none. */
export function fileOfStore(url: string): string | null {
  if (isPostgres(url)) return null;
  const file = sqliteFile(url);
  return file === ":memory:" ? null : file;
}

function assertExists(url: string): void {
  const file = fileOfStore(url);
  if (file === null || existsSync(file)) return;
  assertNotMoved(file);
  throw new StoreUnavailableError(
    `There is no database at ${file} yet: start a run first (\`pawl run\`), or name another one with --store.`,
    { reason: "missing" },
  );
}

/** The address of a store without its user and password. */
export function shownAddress(url: string): string {
  return isPostgres(url) ? postgresAddress(url).name : url;
}

/** On PostgreSQL the key for digests of secrets is in no file: the environment has it. */
export function redactionKeyIn({ env }: CliContext, url: string): Pick<OpenStoreOptions, "redactionKey"> {
  const redactionKey = env.PAWL_REDACTION_KEY ?? "";
  return isPostgres(url) && redactionKey !== "" ? { redactionKey } : {};
}

/** Opens the store; if another process has it locked for more than a moment, says so on stderr. */
async function openPatiently(context: CliContext, url: string, options: OpenStoreOptions): Promise<Store> {
  const name = cleanLine(shownAddress(url));
  const cancel = context.clock.after(SILENCE_MS, () =>
    context.stderr.write(`Waiting for ${name}, which another process has locked.\n`),
  );
  try {
    return await openStore(url, { ...options, ...redactionKeyIn(context, url) });
  } finally {
    cancel();
  }
}
