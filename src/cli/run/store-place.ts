import { dirname, resolve } from "node:path";
import { agentSteps } from "../../engine/definition/known-tools.ts";
import { folderOf } from "../../engine/run/run-folder.ts";
import { isBelow } from "../../store/guarded-folder.ts";
import type { RunRecord } from "../../store/store.ts";
import { type LoadedConfig, loadConfig, projectFolder } from "../config/config-file.ts";
import { findConfig } from "../config/config-search.ts";
import { realPlace } from "../config/real-place.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { type Health, ok, problem } from "./health-checks.ts";

/** A folder that tools work in, and whose. */
type WorkFolder = { readonly folder: string; readonly whose: string };

/** Whether tools work in the folder that the store is in: what they search, copy or clean up there may be the store. */
export async function placeHealth(
  context: CliContext,
  input: CommandInput,
  file: string,
  runs: readonly RunRecord[],
): Promise<Health> {
  const loaded = await knownConfig(context, input);
  const folders = loaded === null ? [] : [...serverFolders(loaded), ...runFolders(context, loaded, runs)];
  const place = (await realPlace(dirname(file))) ?? dirname(file);
  for (const { folder, whose } of folders) {
    if (!isBelow((await realPlace(folder)) ?? folder, place)) continue;
    const remedy =
      "keep the store in a folder of its own, outside of it: move all files whose names begin with the database's while no process has it open, and name it with --store or `store` in pawl.config.ts";
    return problem("place", "warn", `the store is in ${folder}, which ${whose} works in`, remedy);
  }
  return ok("place", "no tool that is known here works in the folder of the store");
}

/** As much of the configuration as was asked for. What is wrong with it is said by another check. */
async function knownConfig(context: CliContext, input: CommandInput): Promise<LoadedConfig | null> {
  const file = input.text("config") ?? undefined;
  if (input.flag("loadConfig")) return loadConfig(context, file).catch(() => null);
  const found = await findConfig(context, file).catch(() => null);
  return { path: found?.path ?? null, config: {} };
}

/** What the programs of MCP servers were given that may be a folder. */
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
