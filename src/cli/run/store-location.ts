import { dirname, resolve } from "node:path";
import { agentSteps } from "../../engine/definition/known-tools.ts";
import { folderOf } from "../../engine/run/run-folder.ts";
import { isBelow } from "../../store/guarded-folder.ts";
import type { RunRecord } from "../../store/store.ts";
import { type LoadedConfig, loadConfig, projectFolder } from "../config/config-file.ts";
import { findConfig } from "../config/config-search.ts";
import { realPath } from "../config/real-path.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { type Health, ok, problem } from "./health-checks.ts";

/** A folder that tools work in, and the owner of those tools. */
type WorkFolder = { readonly folder: string; readonly whose: string };

/** Checks that no tool works in the store's folder: what tools search, copy or clean up there could be the store. */
export async function locationHealth(
  context: CliContext,
  input: CommandInput,
  file: string,
  runs: readonly RunRecord[],
): Promise<Health> {
  const loaded = await knownConfig(context, input);
  const folders = loaded === null ? [] : [...serverFolders(loaded), ...runFolders(context, loaded, runs)];
  const storeFolder = (await realPath(dirname(file))) ?? dirname(file);
  for (const { folder, whose } of folders) {
    if (!isBelow((await realPath(folder)) ?? folder, storeFolder)) continue;
    const remedy =
      "keep the store in a separate folder: while no process has it open, move all files whose names start with the database's, and name the new location with --store or `store` in pawl.config.ts";
    return problem("place", "warn", `the store is in ${folder}, where ${whose} works`, remedy);
  }
  return ok("place", "no known tool works in the folder of the store");
}

/** The configuration, executed only with --load-config. Its errors are reported by another check. */
async function knownConfig(context: CliContext, input: CommandInput): Promise<LoadedConfig | null> {
  const file = input.text("config") ?? undefined;
  if (input.flag("loadConfig")) return loadConfig(context, file).catch(() => null);
  const found = await findConfig(context, file).catch(() => null);
  return { path: found?.path ?? null, config: {} };
}

/** Arguments of MCP server programs that may be folders. */
function serverFolders({ config }: LoadedConfig): readonly WorkFolder[] {
  return Object.values(config.pipelines ?? {})
    .flatMap((target) => agentSteps(target))
    .flatMap(({ agent }) => Object.entries(agent.sources))
    .flatMap(([name, { places = [] }]) =>
      places.map((folder) => ({ folder: resolve(folder), whose: `the MCP server ${name}` })),
    );
}

function runFolders(
  context: CliContext,
  loaded: LoadedConfig,
  runs: readonly RunRecord[],
): readonly WorkFolder[] {
  const root = resolve(projectFolder(context, loaded), loaded.config.workspaceRoot ?? ".");
  return runs.map(({ runId, spec, forkedFrom }) => ({
    folder: folderOf(runId, spec, root, forkedFrom).path,
    whose: `run ${runId}`,
  }));
}
