import { existsSync } from "node:fs";
import { StoreUnavailableError } from "../core/errors.ts";
import { openStore, sqliteFile } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { assertNotMoved } from "../store/store-home.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommandInput } from "./command.ts";
import { loadConfig, resolveStore } from "./config-file.ts";
import { cleanLine } from "./terminal-text.ts";

const SILENCE_MS = 1_500;

/**
 * With the store that the command line means, closed after it. One that is not there is not made: a misspelt address
 * would leave an empty database behind, and the answer would be "no runs". Those who only read change no file.
 */
export async function withExistingStore<T>(
  context: CliContext,
  input: CommandInput,
  work: (store: Store) => Promise<T>,
  { readOnly = false }: { readonly readOnly?: boolean } = {},
): Promise<T> {
  const url = await storeAddress(context, input);
  assertThere(url);
  const store = await openPatiently(context, url, readOnly);
  try {
    return await work(store);
  } finally {
    // What is still under way when the work is done was given up on.
    await store.close({ graceMs: 0 });
  }
}

/** The address from the flag, the environment or the configuration, which is loaded only where it is asked. */
export async function storeAddress(context: CliContext, input: CommandInput): Promise<string> {
  const flag = input.text("store") ?? undefined;
  const isNamed = flag !== undefined || (context.env.PAWL_STORE ?? "") !== "";
  const loaded = isNamed
    ? { path: null, config: {} }
    : await loadConfig(context, input.text("config") ?? undefined);
  return resolveStore(context, loaded, flag);
}

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
