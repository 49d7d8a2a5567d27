import { existsSync } from "node:fs";
import { StoreUnavailableError } from "../../core/errors.ts";
import { openStore, sqliteFile } from "../../store/open-store.ts";
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
 * With the store that the command line means, closed after it. One that is not there is not made: a misspelt address
 * would leave an empty database behind, and the answer would be "no runs". Those who only read change no file.
 */
export async function withExistingStore<T>(
  context: CliContext,
  input: CommandInput,
  work: (store: Store) => Promise<T>,
  { readOnly = false, loaded = null }: StoreUse = {},
): Promise<T> {
  const flag = input.text("store") ?? undefined;
  const url = loaded === null ? await storeAddress(context, input) : resolveStore(context, loaded, flag);
  assertThere(url);
  const store = await openPatiently(context, url, readOnly);
  try {
    return await work(store);
  } finally {
    // What is still under way when the work is done was given up on.
    await store.close({ graceMs: 0 });
  }
}

export type StoreUse = {
  readonly readOnly?: boolean;
  /** The configuration, where the command has run it. Without it the store is found, and nothing is run. */
  readonly loaded?: LoadedConfig | null;
};

/** The address from the flag, the environment, the text of the configuration, or else the default one. No code is run for it. */
export async function storeAddress(context: CliContext, input: CommandInput): Promise<string> {
  const flag = input.text("store") ?? undefined;
  const isNamed = flag !== undefined || (context.env.PAWL_STORE ?? "") !== "";
  const found = isNamed ? null : await findConfig(context, input.text("config") ?? undefined);
  if (found === null) return resolveStore(context, NO_CONFIG, flag);
  if (found.refusal !== null) {
    // It is passed over, for whoever put it there would keep everybody from reading their runs.
    context.stderr.write(`${cleanLine(`${found.path} is not used: ${found.refusal}.`)}\n`);
    return resolveStore(context, NO_CONFIG);
  }
  const store = await writtenStore(found.path, context.env);
  return resolveStore(context, { path: found.path, config: store === null ? {} : { store } });
}

const NO_CONFIG: LoadedConfig = { path: null, config: {} };

/** The file of a store; null where its address names none. */
export function fileOfStore(url: string): string | null {
  const file = sqliteFile(url);
  return file === ":memory:" ? null : file;
}

function assertThere(url: string): void {
  const file = fileOfStore(url);
  if (file === null || existsSync(file)) return;
  assertNotMoved(file);
  throw new StoreUnavailableError(
    `There is no database at ${file} yet: start a run first (\`pawl run\`), or name another one with --store.`,
    { reason: "missing" },
  );
}

/** Another process may have it locked for a moment; whoever waits longer than that is told what for. */
async function openPatiently(context: CliContext, url: string, readOnly: boolean): Promise<Store> {
  const cancel = context.clock.after(SILENCE_MS, () =>
    context.stderr.write(`Waiting for ${cleanLine(url)}, which another process has locked.\n`),
  );
  try {
    return await openStore(url, { readOnly });
  } finally {
    cancel();
  }
}
