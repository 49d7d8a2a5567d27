import { dirname, isAbsolute, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigurationError } from "../../core/errors.ts";
import type { PawlConfig } from "../../engine/definition/config.ts";
import { DEFAULT_STORE, plainPath } from "../../store/open-store.ts";
import type { CliEnvironment } from "../context/cli-context.ts";
import { type ConfigProblem, importProblem, importQuietly } from "./config-import.ts";
import { type FoundConfig, findConfig } from "./config-search.ts";

/** The effective configuration; `path` is null if there is no file. */
export type LoadedConfig = { readonly path: string | null; readonly config: PawlConfig };

/**
 * Loads the named file, or the nearest one of this project. Node strips the types, so no build is needed. An error is one sentence
 * that says what is wrong in the file, and where.
 */
export async function loadConfig(cli: CliEnvironment, file?: string): Promise<LoadedConfig> {
  const found = await findConfig(cli, file);
  if (found === null) return { path: null, config: {} };
  assertOwn(found);
  const { path } = found;
  const show = (each: string) => shownPath(cli.cwd, each);
  const shown = show(path);
  const config = defaultExport(await importConfig(path, show), shown);
  const { defineConfig } = await import("../../engine/definition/config.ts");
  try {
    return { path, config: defineConfig(config as PawlConfig) };
  } catch (error) {
    throw ConfigurationError.isInstance(error) ? wrong({ place: shown, what: error.message }, error) : error;
  }
}

/** Refuses a file that another user could have written: it would be executed. */
function assertOwn({ path, refusal }: FoundConfig): void {
  if (refusal === null) return;
  throw new ConfigurationError(`${path} was not run: ${refusal}.`);
}

/** The store URL: from the flag, `PAWL_STORE`, the configuration, or the default. */
export function resolveStore(
  { cwd, env }: CliEnvironment,
  { path, config }: LoadedConfig,
  flag?: string,
): string {
  const here = flag ?? (env.PAWL_STORE === "" ? undefined : env.PAWL_STORE);
  if (here !== undefined) return storeFrom(cwd, here);
  return storeFrom(projectFolder({ cwd }, { path, config }), config.store ?? DEFAULT_STORE);
}

/** The project folder of runs: the folder of the configuration, or the working directory. */
export function projectFolder({ cwd }: Pick<CliEnvironment, "cwd">, { path }: LoadedConfig): string {
  return path === null ? cwd : dirname(path);
}

/** A relative file is resolved against the folder in which it was written. */
function storeFrom(folder: string, url: string): string {
  const file = /^file:(?!\/\/)(.+)$/.exec(url)?.[1] ?? plainPath(url) ?? undefined;
  return file === undefined || isAbsolute(file) ? url : `file:${resolve(folder, file)}`;
}

async function importConfig(
  path: string,
  show: (path: string) => string,
): Promise<{ readonly [name: string]: unknown }> {
  try {
    return await importQuietly(pathToFileURL(path).href);
  } catch (error) {
    throw wrong(await importProblem(error, path, show), error);
  }
}

function defaultExport(module: { readonly [name: string]: unknown }, shown: string): unknown {
  if ("default" in module) return module.default;
  const others = Object.keys(module);
  const what =
    others.length === 0 ? "it exports nothing" : `it exports ${others.join(", ")} and has no default export`;
  throw wrong({ place: shown, what: `${what}: write \`export default defineConfig({ … })\`.` });
}

function wrong({ place, what }: ConfigProblem, cause?: unknown): ConfigurationError {
  return new ConfigurationError(`${place}: ${what}`, {}, cause === undefined ? {} : { cause });
}

/** The path relative to `cwd`, if that is shorter. */
function shownPath(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short.length < path.length ? short : path;
}
