import { resolve } from "node:path";
import type { WorkFolder } from "../../account/health/file-health.ts";
import { workFolders } from "../../engine/run/run-folder.ts";
import type { RunRecord } from "../../store/store.ts";
import { type LoadedConfig, loadConfig, projectFolder } from "../config/config-file.ts";
import { findConfig } from "../config/config-search.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";

/** Where tools work, as far as the configuration says: of the pipelines that it has, and of runs. */
export type KnownFolders = (runs: readonly RunRecord[]) => readonly WorkFolder[];

export async function knownFolders(context: CliContext, input: CommandInput): Promise<KnownFolders> {
  const loaded = await knownConfig(context, input);
  if (loaded === null) return () => [];
  const { pipelines = {}, workspaceRoot = "." } = loaded.config;
  const root = resolve(projectFolder(context, loaded), workspaceRoot);
  return (runs) => workFolders(Object.values(pipelines), root, runs);
}

/** The configuration, executed only with --load-config. Its errors are reported by another check. */
async function knownConfig(context: CliContext, input: CommandInput): Promise<LoadedConfig | null> {
  const file = input.text("config") ?? undefined;
  if (input.flag("loadConfig")) return loadConfig(context, file).catch(() => null);
  const found = await findConfig(context, file).catch(() => null);
  return { path: found?.path ?? null, config: {} };
}
